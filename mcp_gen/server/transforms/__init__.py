"""Transformed tools: other names, descriptions, arguments and results.

Imported by: api.
"""
