"""Mistakes of users, one module per area: each has a list `MISTAKES`."""
