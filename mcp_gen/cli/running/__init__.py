"""Options of `mcp-gen run`, and the worker processes of `--workers`.

Imported by: cli/commands.
"""
