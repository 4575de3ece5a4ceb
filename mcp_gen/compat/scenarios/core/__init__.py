"""Scenarios of the core protocol, by area of the requirements."""
