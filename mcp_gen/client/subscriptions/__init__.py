"""Watching changes.

Imported by: client/session, connecting (relay).
"""
