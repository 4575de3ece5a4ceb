"""MCP clients: programs that connect to MCP servers."""
