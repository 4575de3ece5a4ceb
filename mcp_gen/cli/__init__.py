"""Command line `mcp-gen`. What a command needs is imported only when it runs."""

from __future__ import annotations

from mcp_gen.cli.app import app

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name."""
    app()
