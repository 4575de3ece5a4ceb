"""Checks of clients, by area of the requirements."""
