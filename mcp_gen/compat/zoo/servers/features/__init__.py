"""Servers that break the rules of what they offer, and their twins."""
