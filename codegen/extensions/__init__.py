"""Reads extension schemas.

Imported by: emit, draft, __main__.
"""
