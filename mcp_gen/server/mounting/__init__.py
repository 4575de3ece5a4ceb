"""Servers mounted in servers: local ones, and remote ones behind a client session.

Imported by: serving, server.py.
"""
