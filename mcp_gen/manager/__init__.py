"""Many servers.

Imported by: cli, mcp_gen/__init__.py.
"""
