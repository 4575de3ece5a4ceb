"""Checks of clients that are asked: questions, rounds, what is kept."""
