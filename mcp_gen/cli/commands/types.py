"""`mcp-gen types`: show a type or field at each revision, side by side."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_gen.cli.console.output import console, fail, plain_table, plain_text, print_json

if TYPE_CHECKING:
    from mcp_wire.changes import Shape

__all__ = ["types"]

_ABSENT = "-"


def types(
    name: Annotated[
        str, typer.Argument(help="A type, a field by its key on the wire, or a method.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Show a type, a field or a method at each revision, side by side.

    Revisions between which nothing changes share a column. `?` marks what is optional, `-` what is
    absent, and a shape that stays the same is dim.

    **Examples**

    * `mcp-gen types Tool` shows the fields of a type
    * `mcp-gen types Tool.icons` shows one field, by its key on the wire
    * `mcp-gen types ContentBlock --json` prints the members of a union for a script
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_wire.changes import shapes

    try:
        found = shapes(name)
    except LookupError as error:
        fail("types", error)
    if as_json:
        print_json({date: _plain(shape) for date, shape in found.items()})
    else:
        _print(name, {date: _rows(shape) for date, shape in found.items()})


def _print(name: str, found: dict[str, dict[str, str]]) -> None:
    runs = [list(dates) for _, dates in groupby(found, key=lambda date: found[date])]
    table = plain_table("", *("\nto ".join(dict.fromkeys((run[0], run[-1]))) for run in runs))
    columns = [found[run[0]] for run in runs]
    for row in dict.fromkeys(row for column in columns for row in column):
        cells = [column.get(row, _ABSENT) for column in columns]
        styles = ["dim" if old == cell else "" for old, cell in pairwise(["", *cells])]
        table.add_row(plain_text(row, "bold"), *map(plain_text, cells, styles))
    out = console()
    out.print(plain_text(name, "bold"))
    out.print(table)


def _rows(shape: Shape) -> dict[str, str]:
    """Return the parts of a shape by name: fields, members of a union, columns of a method."""
    if isinstance(shape, dict):
        return shape
    if not isinstance(shape, str):
        return {
            "kind": shape.kind,
            "direction": shape.direction,
            "params": shape.params,
            "results": " | ".join(shape.results) or _ABSENT,
            "capability": shape.capability or _ABSENT,
        }
    arms = shape.split(" | ")
    return {"": shape} if "[" in shape or len(arms) == 1 else dict.fromkeys(arms, "yes")


def _plain(shape: Shape) -> object:
    return shape if isinstance(shape, str | dict) else shape._asdict()
