"""Clients: programs that use MCP servers."""
