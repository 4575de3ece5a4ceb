"""Tests of the benchmarks: whether a measurement measures."""
