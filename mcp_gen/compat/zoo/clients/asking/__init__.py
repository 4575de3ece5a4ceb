"""Clients that break the rules of questions, rounds and what is kept, and their twins."""
