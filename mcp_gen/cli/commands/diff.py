"""`mcp-gen diff`: list changes between two revisions, and whom they break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_gen.cli.console.output import console, fail, plain_table, plain_text, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_wire.changes import Change, Effect

__all__ = ["diff"]

_STYLES: dict[Effect, str] = {
    "breaks both": "bold red",
    "breaks senders": "red",
    "breaks receivers": "yellow",
    "additive": "green",
}


def diff(
    before: Annotated[str, typer.Argument(help="The revision that is known.", metavar="A")],
    after: Annotated[str, typer.Argument(help="The revision it is compared with.", metavar="B")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown for a page or a pull request.")
    ] = False,
) -> None:
    """List the changes from revision A to B, grouped by whom they break.

    A may be the later one: the list then shows what a program loses at the earlier revision. A
    change *breaks senders* if what they send for A is invalid at B, and *breaks receivers* if what
    arrives at B is invalid by what they know of A.

    **Examples**

    * `mcp-gen diff 2025-06-18 2025-11-25` shows what a program gains and loses by the upgrade
    * `mcp-gen diff 2026-07-28 2024-11-05` shows what an old peer cannot be sent
    * `mcp-gen diff 2025-11-25 2026-07-28 --markdown > changes.md` writes a page
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_wire.changes import changes

    if as_json and as_markdown:
        fail("diff", "--json and --markdown are two ways to print; give one of them")
    try:
        found = changes(before, after)
    except LookupError as error:
        fail("diff", error)
    if as_json:
        print_json([_plain(change) for change in found])
    elif as_markdown:
        print("\n".join(_markdown(found, before, after)))
    else:
        _print(found, before, after)


def _by_effect(found: tuple[Change, ...]) -> Iterator[tuple[Effect, list[Change]]]:
    for effect in _STYLES:
        changes = [change for change in found if change.effect == effect]
        if changes:
            yield effect, changes


def _print(found: tuple[Change, ...], before: str, after: str) -> None:
    out = console()
    out.print(f"{before} to {after}: {_count(len(found))}", highlight=False)
    for effect, changes in _by_effect(found):
        table = plain_table("change", "where", "before", "after")
        for change in changes:
            # Two long unions are hard to compare: show only the added and removed members.
            brief = len(change.before) + len(change.after) > 60 and change.detail[:2] in (
                "+ ",
                "- ",
            )
            texts = ("", change.detail) if brief else (change.before, change.after)
            table.add_row(change.kind, plain_text(change.path, "bold"), *map(plain_text, texts))
        out.print(f"\n{effect}: {len(changes)}", style=_STYLES[effect], highlight=False)
        out.print(table)


def _markdown(found: tuple[Change, ...], before: str, after: str) -> Iterator[str]:
    yield f"# {before} to {after}: {_count(len(found))}"
    for effect, changes in _by_effect(found):
        yield f"\n## {effect.capitalize()}: {len(changes)}\n"
        yield "| change | where | before | after |"
        yield "|---|---|---|---|"
        for change in changes:
            cells = (_code(change.path), _code(change.before), _code(change.after))
            yield f"| {change.kind} | {' | '.join(cells)} |"


def _code(text: str) -> str:
    # A bar ends a table cell even inside backticks.
    return "`{}`".format(text.replace("|", "\\|")) if text else ""


def _count(number: int) -> str:
    return {0: "no changes", 1: "1 change"}.get(number, f"{number} changes")


def _plain(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "path": change.path,
        "from": change.before,
        "to": change.after,
        "detail": change.detail,
        "effect": change.effect,
    }
