"""Checks of what users write, and messages with the next step.

Imported by: session, server, client, mcp_gen/__init__.py.
"""
