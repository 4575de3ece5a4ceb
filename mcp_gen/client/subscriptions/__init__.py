"""Subscriptions: watching for changes of lists and resources.

Imported by: client/session, connecting (relay).
"""
