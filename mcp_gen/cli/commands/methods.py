"""`mcp-gen methods`: list the methods with sender, params and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import mcp_wire
from mcp_gen.cli.console.output import console, fail, plain_table, plain_text, print_json

if TYPE_CHECKING:
    from mcp_wire.changes import MethodShape

__all__ = ["methods"]

_SENT_BY = {
    "client_to_server": "client",
    "server_to_client": "server",
    "both": "both",
    "embedded": "server, in a result",
}


class _MethodRow(NamedTuple):
    name: str
    shape: MethodShape
    dates: list[str]


def methods(
    revision: Annotated[
        str | None, typer.Option(help="As it is at this date; without one, at the newest.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """List the methods: sender, params, results, required capability and revisions.

    Without a revision every method of any revision is listed, as it is at the newest one that has
    it.

    **Examples**

    * `mcp-gen methods` lists every method
    * `mcp-gen methods --revision 2024-11-05` lists those of one revision, as they are there
    * `mcp-gen methods --json` prints them for a script
    """
    try:
        rows = _rows(revision)
    except LookupError as error:
        fail("methods", error)
    if as_json:
        print_json([_plain(row) for row in rows])
    else:
        _print(rows)


def _rows(revision: str | None) -> list[_MethodRow]:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_wire.changes import METHODS, shapes

    wanted = mcp_wire.profile(revision).revision if revision else None
    rows: list[_MethodRow] = []
    for name in METHODS:
        found: dict[str, Any] = shapes(name)
        shape = found.get(wanted or list(found)[-1])
        if shape:
            rows.append(_MethodRow(name, shape, list(found)))
    return rows


def _print(rows: list[_MethodRow]) -> None:
    out = console()
    for kind in ("request", "notification"):
        table = plain_table("method", "sent by", "params", "results", "capability", "dates")
        for name, shape, dates in rows:
            if shape.kind == kind:
                table.add_row(
                    plain_text(name, "bold"),
                    _SENT_BY[shape.direction],
                    shape.params,
                    "\n".join(shape.results) or "-",
                    shape.capability or "-",
                    _span(dates),
                )
        out.print(f"{kind}s: {table.row_count}", style="bold", highlight=False)
        out.print(table)


def _span(dates: list[str]) -> str:
    first, last = dates[0], dates[-1]
    if last == mcp_wire.LATEST:
        return f"since {first}"
    return first if first == last else f"{first} to {last}"


def _plain(row: _MethodRow) -> dict[str, Any]:
    return {"name": row.name, **row.shape._asdict(), "revisions": row.dates}
