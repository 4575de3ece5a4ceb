"""MCP Apps.

Imported by: serving, server.py.
"""
