"""Clients that break the rules of tasks, and their twins."""
