"""`mcp-gen diff`: list changes between two revisions, and whom they break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_gen.cli.console.output import console, fail, plain_table, plain_text, print_json

if TYPE_CHECKING:
    from mcp_wire.changes import Change

__all__ = ["diff"]

_STYLES = ("bold red", "red", "yellow", "green", "dim")


def diff(
    before: Annotated[str, typer.Argument(help="The revision that is known.", metavar="A")],
    after: Annotated[str, typer.Argument(help="The revision it is compared with.", metavar="B")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown for a page or a pull request.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="List what changes in the schema's text alone, too.")
    ] = False,
) -> None:
    """List the changes from revision A to B, grouped by whom they break.

    A may be the later one: the list then shows what a program loses at the earlier revision. A
    change *breaks clients* if a client written for A sends something that is invalid at B, or
    cannot read something that may arrive at B; and likewise for servers. Much of a schema changes
    nothing on the wire (new names of types, fields that JSON-RPC demanded before): that is counted,
    and listed with --all and in JSON.

    **Examples**

    * `mcp-gen diff 2025-06-18 2025-11-25` shows what a program gains and loses by the upgrade
    * `mcp-gen diff 2026-07-28 2024-11-05` shows what an old peer cannot be sent
    * `mcp-gen diff 2025-11-25 2026-07-28 --markdown > changes.md` writes a page
    * `mcp-gen diff 2025-06-18 2025-11-25 --json` has a row for each, with `breaks` and `on_wire`
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_wire.changelog import markdown
    from mcp_wire.changes import RULES, changes

    if as_json and as_markdown:
        fail("diff", "--json and --markdown are two ways to print; give one of them")
    try:
        found = changes(before, after)
    except LookupError as error:
        fail("diff", error)
    if as_json:
        print_json([_plain(change) for change in found])
        return
    if as_markdown:
        print("\n".join(markdown(found, before, after, rules=RULES, every=every)))
    else:
        _print(found, before, after, every)


def _print(found: tuple[Change, ...], before: str, after: str, every: bool) -> None:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_wire.changelog import GROUPS, brief, grouped, summary

    out = console()
    styles = dict(zip(GROUPS, _STYLES, strict=True))
    out.print(f"{before} to {after}: {summary(found)}", highlight=False)
    for title, changes in grouped(found).items():
        if title == GROUPS[-1] and not every:
            out.print(f"\n{title}: {len(changes)} (--all lists them)", style="dim", highlight=False)
            continue
        table = plain_table("change", "where", "before", "after")
        for change in changes:
            table.add_row(
                change.kind, plain_text(change.path, "bold"), *map(plain_text, brief(change))
            )
        out.print(f"\n{title}: {len(changes)}", style=styles[title], highlight=False)
        out.print(table)


def _plain(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "path": change.path,
        "from": change.before,
        "to": change.after,
        "detail": change.detail,
        "effect": change.effect,
        "breaks": list(change.breaks),
        "on_wire": change.effect != "none",
    }
