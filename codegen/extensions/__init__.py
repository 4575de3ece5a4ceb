"""Reads and checks extensions: their schemas and facts.

Imported by: emit, draft, __main__.
"""
