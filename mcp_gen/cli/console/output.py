"""What the commands print with: tables for people, JSON for scripts, one line for what is wrong."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["console", "fail", "plain_table", "print_json", "shown"]

_WIDTH_WITHOUT_TERMINAL = 160


def console() -> Console:
    """Where tables go. Without a terminal there is no width to keep to, but a readable one."""
    made = Console()
    return made if made.is_terminal else Console(width=_WIDTH_WITHOUT_TERMINAL)


def plain_table(*columns: str, title: str = "") -> Table:
    """A table without lines, in which long text is folded and nothing is cut off."""
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def shown(text: str, style: str = "") -> Text:
    """Text as it is: what stands in brackets in a type is no markup."""
    return Text(text, style=style)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def fail(command: str, error: Exception | str, code: int = 2) -> NoReturn:
    """Say in one line what is wrong, and end with this exit code."""
    said = " ".join(str(error).split())
    print(f"mcp-gen {command}: {said}", file=sys.stderr)
    raise typer.Exit(code) from None
