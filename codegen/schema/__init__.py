"""Imports published schemas, and loads the stored ones with their facts.

Imported by: model, extensions, emit, draft, __main__.
"""
