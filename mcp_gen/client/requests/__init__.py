"""Requests of a client session: sending, caching, pagination.

Imported by: every room of client.
"""
