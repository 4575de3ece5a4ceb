"""One object that answers every method.

Imported by: mounting, serving, server.py.
"""
