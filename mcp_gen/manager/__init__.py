"""Clients of many servers: configuration, reconnecting, and calls by qualified name.

Imported by: cli, mcp_gen/__init__.py.
"""
