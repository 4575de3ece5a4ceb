"""Checks of clients that have tasks: those of a server, and their own."""
