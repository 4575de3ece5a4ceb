"""Reads the published schemas.

Imported by: model, extensions, emit, __main__.
"""
