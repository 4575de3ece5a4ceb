"""Renders the package `mcp_wire`, extension packages and the reference pages.

Imported by: draft, __main__.
"""
