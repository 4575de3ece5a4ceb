"""The MCP Inspector as a client of our servers."""
