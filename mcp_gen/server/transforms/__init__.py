"""Tools offered in another shape.

Imported by: api.
"""
