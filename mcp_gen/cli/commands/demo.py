"""`mcp-gen demo`: run one server at every revision, and check every frame."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

import mcp_wire
from mcp_gen.cli.console.output import fail, print_json
from mcp_gen.core.errors import McpGenError

if TYPE_CHECKING:
    from mcp_gen.compat.demo import Row

__all__ = ["OPTIONS", "demo"]

_EPILOG = f"""
**Examples**

* `mcp-gen demo` talks to the quickstart server at every revision
* `mcp-gen demo my_server.py` talks to yours; it needs a tool `add(a, b)`
* `mcp-gen demo "node server.js"` talks to one that a command starts
* `mcp-gen demo --revision {mcp_wire.REVISIONS[0]} --json` prints one revision for a script
"""
OPTIONS = {"epilog": _EPILOG}
"""Options of the command: its examples name the oldest revision."""


def demo(
    server: Annotated[
        str | None,
        typer.Argument(
            help="`file.py`, `file.py:name`, `module:name` or a command line in quotes; the "
            "quickstart without one."
        ),
    ] = None,
    revision: Annotated[
        list[str] | None, typer.Option(help="Only this revision; can be given more than once.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Connect to a server once per revision, and check every frame in both directions.

    Exit code 1 if anything is wrong at any revision.
    """
    try:
        rows = asyncio.run(_demo(server, revision, quiet=as_json))
    except McpGenError as error:
        fail("demo", error)
    if as_json:
        print_json([_plain(row) for row in rows])
    else:
        _print_rows(rows)
    raise typer.Exit(0 if all(row.good for row in rows) else 1)


async def _demo(server: str | None, revisions: list[str] | None, *, quiet: bool) -> list[Row]:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.demo import quickstart, run_demo
    from mcp_gen.core.revisions import select

    wanted = select(revisions or mcp_wire.REVISIONS)
    target = server or str(quickstart())
    console = Console(stderr=True, quiet=quiet)
    rows: list[Row] = []
    with console.status("connecting") as status:
        async for row in run_demo(target, wanted):
            rows.append(row)
            status.update(f"{row.revision} done")
    return rows


def _print_rows(rows: list[Row]) -> None:
    table = Table(title="one server, every revision")
    for column in ("revision", "lifecycle", "frames", "tool result", "hook events", "verdict"):
        table.add_column(column, justify="right" if column == "frames" else "left")
    for row in rows:
        verdict = "[green]good[/green]" if row.good else "[red]bad[/red]"
        table.add_row(
            row.revision,
            row.lifecycle,
            str(row.frames),
            row.result or "-",
            ", ".join(row.hooks) or "-",
            verdict,
        )
    console = Console()
    console.print(table)
    for row in rows:
        for problem in row.problems:
            console.print(f"{row.revision}: {problem}", markup=False, highlight=False)


def _plain(row: Row) -> dict[str, Any]:
    return {**msgspec.to_builtins(row), "good": row.good}
