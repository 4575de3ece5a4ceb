"""The choice of tests for a fault."""
