"""Handlers of every method, declared capabilities, extensions and middleware.

Imported by: mounting, serving, server.py.
"""
