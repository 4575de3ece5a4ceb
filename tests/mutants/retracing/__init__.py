"""The choice of test files that are traced again."""
