"""Test suites for implementations of contracts of this package. Needs pytest to be run."""
