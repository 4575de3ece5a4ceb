"""Ending well: signals, grace, and what a peer that dies leaves behind."""
