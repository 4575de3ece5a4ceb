"""Names that are unique over many servers: `mcp__server__tool`.

Models get these names, and their APIs take letters, digits, `_` and `-` only.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

__all__ = ["PREFIX", "names_for", "qualified", "server_part", "split"]

PREFIX = "mcp"
SEPARATOR = "__"

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def server_part(name: str, taken: Container[str] = ()) -> str:
    """What stands for a server in the names of its tools.

    What an API would refuse becomes `_`. Two underscores separate the parts of a name, so there
    are none in this one, nor any at its ends; of nothing at all `server` is made. One that is
    `taken` gets a number.
    """
    part = re.sub("__+", "_", _REFUSED.sub("_", name)).strip("_") or "server"
    return _free(part, taken)


def qualified(server: str, name: str) -> str:
    """The name of a server's tool or prompt among all."""
    return SEPARATOR.join((PREFIX, server, _REFUSED.sub("_", name)))


def names_for(server: str, names: Iterable[str]) -> dict[str, str]:
    """The server's own names by their names among all.

    Where two become the same, the one that needed no change has it, and the other gets a number.
    """
    given = list(dict.fromkeys(names))
    found: dict[str, str] = {}
    for name in sorted(given, key=lambda one: _REFUSED.search(one) is not None):
        found[_free(qualified(server, name), found)] = name
    places = {name: place for place, name in enumerate(given)}
    return dict(sorted(found.items(), key=lambda item: places[item[1]]))


def split(name: str) -> tuple[str, str] | None:
    """The server's part of a name, and the rest; None if it is no such name."""
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
