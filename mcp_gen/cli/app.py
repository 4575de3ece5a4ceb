"""Typer app of `mcp-gen`: its commands are the functions of `cli.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcp_gen.cli.command_group import CommandGroup

__all__ = ["app"]

app = typer.Typer(
    name="mcp-gen",
    cls=CommandGroup,
    help="MCP for Python, generated from the specification.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        # Imported here: it takes longer than the rest of this module.
        from importlib.metadata import version

        print(version("mcp-gen"))
        raise typer.Exit


@app.callback()
def common(
    show: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """MCP for Python, generated from the specification."""
