"""From a target to a session.

Imported by: client.py.
"""
