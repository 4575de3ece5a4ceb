"""Faces of a server: decorators and methods that register features.

Imported by: server.py.
"""
