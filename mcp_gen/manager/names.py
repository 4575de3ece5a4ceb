"""Qualified names that are unique over many servers: `mcp__server__tool`.

They are passed to models, whose APIs accept only letters, digits, `_` and `-`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

__all__ = ["PREFIX", "names_for", "qualified", "server_part", "split"]

PREFIX = "mcp"
SEPARATOR = "__"

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def server_part(name: str, taken: Container[str] = ()) -> str:
    """Return a server's part of qualified names.

    Characters that an API refuses become `_`. The part has no two underscores in a row, because
    they separate the parts of a name, and none at its ends. An empty part becomes `server`; one
    that is `taken` gets a number.
    """
    part = re.sub("__+", "_", _REFUSED.sub("_", name)).strip("_") or "server"
    return _free(part, taken)


def qualified(server: str, name: str) -> str:
    """Return the qualified name of a server's tool or prompt."""
    return SEPARATOR.join((PREFIX, server, _REFUSED.sub("_", name)))


def names_for(server: str, names: Iterable[str]) -> dict[str, str]:
    """Return the server's own names by qualified name.

    Where two names become the same, the one that needed no change keeps it, and the other gets a
    number.
    """
    given = list(dict.fromkeys(names))
    found: dict[str, str] = {}
    for name in sorted(given, key=lambda one: _REFUSED.search(one) is not None):
        found[_free(qualified(server, name), found)] = name
    places = {name: place for place, name in enumerate(given)}
    return dict(sorted(found.items(), key=lambda item: places[item[1]]))


def split(name: str) -> tuple[str, str] | None:
    """Return the server part and the rest of a qualified name; None if it is none."""
    parts = name.split(SEPARATOR, 2)
    if len(parts) < 3 or parts[0] != PREFIX or not parts[1] or not parts[2]:
        return None
    return parts[1], parts[2]


def _free(name: str, taken: Container[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
