"""Extension registry, MCP Apps metadata.

Imported by: session, server, client.
"""
