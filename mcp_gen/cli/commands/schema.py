"""`mcp-gen schema`: print the JSON Schema of the types of a revision."""

from __future__ import annotations

from typing import Annotated

import typer

import mcp_wire
from mcp_gen.cli.console.output import fail, print_json

__all__ = ["schema"]


def schema(
    revision: Annotated[
        str, typer.Option(help="The revision whose types are wanted.", show_default="the newest")
    ] = mcp_wire.LATEST,
    type_: Annotated[
        str | None, typer.Option("--type", help="A type, with what it refers to.", metavar="NAME")
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Allow unknown keys, as whoever receives a value must.")
    ] = False,
) -> None:
    """Print the JSON Schema (2020-12) of the types, for other languages and for validators.

    It says what may be sent at the revision. It differs from the published schema where that is
    wrong or says less: the reasons stand in schema/overlay.toml. Unknown keys are refused, except
    in maps that the protocol leaves open; with --open they are allowed everywhere.

    **Examples**

    * `mcp-gen schema > mcp.json` writes the types of the newest revision
    * `mcp-gen schema --revision 2025-11-25 --type Tool` prints one type, with what it refers to
    * `mcp-gen schema --type CallToolResult --open` prints what a client should accept
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_wire.json_schemas import json_schema

    try:
        print_json(json_schema(revision, type_, closed=not open_))
    except LookupError as error:
        fail("schema", error)
