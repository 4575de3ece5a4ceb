"""Tests of what the templates write."""
