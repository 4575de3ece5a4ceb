"""Typed results.

Imported by: client/tasks, client/session.
"""
