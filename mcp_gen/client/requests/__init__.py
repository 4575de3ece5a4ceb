"""Sending, caching, paging.

Imported by: every room of client.
"""
