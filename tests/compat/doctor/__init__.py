"""Tests of the examination of a peer."""
