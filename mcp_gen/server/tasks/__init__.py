"""Tools that run as tasks: calls whose results are fetched later.

Imported by: dispatch, mounting, serving, server.py.
"""
