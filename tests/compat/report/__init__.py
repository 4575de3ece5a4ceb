"""Tests of the report on a peer, in all its forms."""
