"""Clients that each break one rule, by area, and their twins."""
