"""Clients that get themselves a token where one is wanted; some of them wrongly."""
