"""Scenarios of questions to clients, of rounds, and of what clients keep."""
