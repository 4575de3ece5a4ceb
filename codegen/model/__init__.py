"""Intermediate model of one revision, built from schema, facts, overlay and documentation.

Imported by: decisions, extensions, emit, draft, __main__.
"""
