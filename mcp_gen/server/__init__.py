"""Servers: what a program offers to MCP clients."""
