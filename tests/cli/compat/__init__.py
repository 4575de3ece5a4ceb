"""Tests of the commands that judge, compare, record and restate."""
