"""Servers that break the base protocol, and their twins."""
