"""Everyday use: the same wherever it can stand."""
