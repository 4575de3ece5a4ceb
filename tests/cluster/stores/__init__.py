"""Tests of the stores that a cluster shares."""
