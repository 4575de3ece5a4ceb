"""Renders the generated package.

Imported by: draft, __main__.
"""
