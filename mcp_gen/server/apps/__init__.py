"""MCP Apps: tools linked to UI resources.

Imported by: serving, server.py.
"""
