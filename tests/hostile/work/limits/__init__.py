"""The limits, one module per area: each has a list `LIMITS`."""
