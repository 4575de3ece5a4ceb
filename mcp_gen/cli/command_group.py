"""Commands that are imported when they are named: a command pays for no other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from mcp_gen.cli.console.advice import AdvisingCommand

__all__ = ["COMMANDS", "CommandGroup"]

COMMANDS = (
    "demo",
    "doctor",
    "matrix",
    "record",
    "replay",
    "stubs",
    "lock",
    "bridge",
    "diff",
    "types",
    "methods",
    "schema",
    "init",
    "run",
    "worker",
    "inspect",
    "tools",
    "call",
    "read",
    "prompt",
    "login",
    "whoami",
    "logout",
)
"""Modules of `cli.commands`, in the order of the help. Each has a function of its name."""


class CommandGroup(TyperGroup):
    """Group of all commands of `mcp-gen`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = LazyCommands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return [*COMMANDS]


class LazyCommands(Mapping[str, Any]):
    """Commands by name; each is imported and built when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _command(name: str) -> Any:
    module = import_module(f"mcp_gen.cli.commands.{name}")
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown"
    )
    options: dict[str, Any] = getattr(module, "OPTIONS", {})
    alone.command(name, cls=AdvisingCommand, **options)(getattr(module, name))
    return typer.main.get_command(alone)
