"""Budgets of a call and of an import, in counts that are the same on every machine.

Times are in `bench/`; frames and rooms of a call are in `tests/test_walk.py`.
"""
