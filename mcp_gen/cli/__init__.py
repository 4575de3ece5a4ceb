"""The command line: `mcp-gen`. Imports what a command needs only when it runs."""

from __future__ import annotations

from mcp_gen.cli.app import app

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name."""
    app()
