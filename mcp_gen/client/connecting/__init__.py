"""Connecting: from a target (URL, command, server, transport) to an open session.

Imported by: client.py.
"""
