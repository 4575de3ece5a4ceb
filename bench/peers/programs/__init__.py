"""Servers and clients of each SDK with the same contents; they import their SDK alone."""
