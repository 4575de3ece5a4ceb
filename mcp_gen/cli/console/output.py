"""Output of the commands: tables for people, JSON for scripts, errors in one line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

__all__ = ["console", "fail", "plain_table", "plain_text", "print_json"]

_WIDTH_WITHOUT_TERMINAL = 160


def console() -> Console:
    """Return the console for tables; without a terminal it is 160 characters wide."""
    # Imported here: a command that runs a server prints no tables.
    from rich.console import Console

    made = Console()
    return made if made.is_terminal else Console(width=_WIDTH_WITHOUT_TERMINAL)


def plain_table(*columns: str, title: str = "") -> Table:
    """Return a table without lines, which folds long text instead of cutting it off."""
    # Imported here: see `console`.
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def plain_text(text: str, style: str = "") -> Text:
    """Return text without markup: brackets in type names are printed as they are."""
    # Imported here: see `console`.
    from rich.text import Text

    return Text(text, style=style)


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(json.dumps(value, indent=2))


def fail(command: str, error: Exception | str, code: int = 2) -> NoReturn:
    """Print an error in one line on stderr, and exit with `code`."""
    said = " ".join(str(error).split())
    print(f"mcp-gen {command}: {said}", file=sys.stderr)
    raise typer.Exit(code) from None
