"""Marks for requirements: `@requirement("tools:declared")`, an id of a row."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import pytest

import mcp_wire
from mcp_gen.compat.requirements.manifest import Requirement, requirements
from tests.support.peers.connect import Connect
from tests.support.peers.reach import Reach

__all__ = [
    "Named",
    "cells",
    "covering",
    "named_in",
    "not_over",
    "reaches",
    "requirement",
    "revisions_of",
]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", Connect, Reach)

TRANSPORTS = ("memory", "stdio", "http")


class Named(NamedTuple):
    """Requirement named in a test file; its id is None unless it is a string literal."""

    path: Path
    line: int
    id: str | None


def requirement(*ids: str) -> Callable[[F], F]:
    """Mark a test as one of these requirements.

    A test with a `connect` parameter runs over every transport and at every revision that all of
    them apply to; one with `revision` instead, at every revision that one of them applies to. So
    does one with `reach`, and over every transport that one of them applies to.

    Raises:
        LookupError: there is no such requirement, or none that a test could show.
    """
    for id in ids:
        row = requirements().get(id)
        if row is None:
            raise LookupError(
                f"requirement {id!r}: no row of mcp_gen/compat/requirements has this id"
            )
        if not row.for_tests:
            raise LookupError(
                f"requirement {id!r} binds no server and no client, or its row says it has no test"
            )
    mark: Callable[[F], F] = pytest.mark.requirement(*ids)
    return mark


def not_over(*cells: str, why: str) -> Callable[[F], F]:
    """Mark a test whose requirements do not apply to some cells, with the reason.

    A cell is a transport, `http`, or one at a revision, as `http-` and its date.
    """
    mark: Callable[[F], F] = pytest.mark.not_over(*cells, why=why)
    return mark


def cells(ids: tuple[str, ...], without: tuple[str, ...] = ()) -> list[Connect]:
    """Return the cells of a test of these requirements: its transports and revisions.

    Raises:
        LookupError: an excluded cell is none of the test's.
    """
    rows = [requirements()[id] for id in ids]
    revisions = [one for one in mcp_wire.REVISIONS if all(one in row.revisions for row in rows)]
    found = [Connect(over, one) for over in _transports(rows) for one in revisions]
    return _left(found, without)


def reaches(ids: tuple[str, ...], without: tuple[str, ...] = ()) -> list[Reach]:
    """Return the cells of a test of these client requirements; all cells if there are none.

    Raises:
        LookupError: an excluded cell is none of the test's.
    """
    rows = [requirements()[id] for id in ids]
    any_way = not rows or any(row.transport == "any" for row in rows)
    revisions = revisions_of(ids) if ids else mcp_wire.REVISIONS
    ways = TRANSPORTS if any_way else _transports(rows)
    found = [Reach(over, one) for over in ways for one in revisions]
    return _left(found, without)


def covering(found: list[C], test: str) -> list[C]:
    """Return the cells that together meet every line that a test can meet, each once.

    Every revision is among them; memory with every lifecycle, HTTP with every lifecycle and HTTP
    transport, and stdio. Which cells these are changes from test to test, so that over many tests
    all pairs of transport and revision are met.

    Args:
        found: All cells of the test.
        test: Name of the test.
    """
    start = crc32(test.encode()) % max(len(found), 1)
    turned = found[start:] + found[:start]
    open_needs = set[Hashable]().union(*map(_needs, found))
    chosen = set[C]()
    while open_needs:
        best = max(turned, key=lambda one: len(_needs(one) & open_needs))
        open_needs -= _needs(best)
        chosen.add(best)
    return [one for one in found if one in chosen]


def _needs(cell: Connect | Reach) -> set[Hashable]:
    profile = cell.profile
    kind = {"memory": profile.lifecycle, "http": (profile.lifecycle, profile.http_transport)}
    return {cell.revision, (cell.over, kind.get(cell.over))}


def revisions_of(ids: tuple[str, ...]) -> list[str]:
    """Return every revision of these requirements."""
    rows = [requirements()[id] for id in ids]
    return [one for one in mcp_wire.REVISIONS if any(one in row.revisions for row in rows)]


def _left(found: list[C], without: tuple[str, ...]) -> list[C]:
    for cell in without:
        if not any(str(one).startswith(cell) for one in found):
            raise LookupError(f"not over {cell!r}: expected one of {', '.join(map(str, found))}")
    return [one for one in found if not str(one).startswith(without)]


def _transports(rows: list[Requirement]) -> tuple[str, ...]:
    only = {row.transport for row in rows} - {"any"}
    return tuple(only) or TRANSPORTS


def named_in(folder: Path) -> Iterator[Named]:
    """Return every id named in the tests of a folder, read from the text without an import."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "@requirement(" in text else ():
            for call in getattr(node, "decorator_list", ()):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "requirement":
                    for word in call.args:
                        value = getattr(word, "value", None)
                        yield Named(path, call.lineno, value if isinstance(value, str) else None)
