"""Looks up and orders protocol revisions; the only place that handles their names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import mcp_wire
from mcp_gen.core.errors import UsageError

__all__ = [
    "find_revision",
    "per_request",
    "select",
    "with_authorization_at_origin",
    "with_handshake",
]


def find_revision(name: object, revisions: Iterable[str]) -> str | None:
    """Return the entry of `revisions` that equals `name`; None if there is none."""
    return next((one for one in revisions if one == name), None)


def select(names: Iterable[str]) -> tuple[str, ...]:
    """Return the named revisions, oldest first.

    Args:
        names: Names of revisions; a single string is one name.

    Raises:
        UsageError: A name is unknown, or no name was given.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    known = ", ".join(mcp_wire.REVISIONS)
    if not wanted:
        raise UsageError(f"expected at least one revision of {known}")
    for name in wanted:
        if find_revision(name, mcp_wire.REVISIONS) is None:
            raise UsageError(f"no revision {name!r}; there are {known}")
    return tuple(one for one in mcp_wire.REVISIONS if one in wanted)


def with_handshake(revisions: Iterable[str] = mcp_wire.REVISIONS) -> tuple[str, ...]:
    """Return those of `revisions` whose connections begin with a handshake (`initialize`)."""
    return tuple(one for one in revisions if one not in mcp_wire.VERSION_KEYS)


def per_request(revisions: Iterable[str] = mcp_wire.REVISIONS) -> tuple[str, ...]:
    """Return those of `revisions` at which every request names its own revision in `_meta`."""
    return tuple(one for one in revisions if one in mcp_wire.VERSION_KEYS)


@cache
def with_authorization_at_origin() -> str | None:
    """Return the newest revision at which authorization servers are searched for at the origin."""
    return next(
        (one for one in mcp_wire.REVISIONS[::-1] if mcp_wire.profile(one).authorization_at_origin),
        None,
    )
