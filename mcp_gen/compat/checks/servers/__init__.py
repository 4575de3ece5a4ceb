"""Checks of servers, by area of the requirements."""
