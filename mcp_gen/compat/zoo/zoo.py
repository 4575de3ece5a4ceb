"""Registry of the zoo: for each requirement a peer that breaks it, and one that just keeps it."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from msgspec import Struct

from mcp_gen.compat.requirements.manifest import requirements

__all__ = ["Pair", "breaks", "keeps", "zoo"]

ROOMS = ("mcp_gen.compat.zoo.servers", "mcp_gen.compat.zoo.clients")

K = TypeVar("K", bound=type[Any])


class Pair(Struct, frozen=True):
    """The two peers of one requirement: each is a class of a strict peer with one method changed.

    Args:
        requirement: Id of the requirement.
        breaks: The peer that breaks it, and nothing else.
        keeps: Its twin, which keeps it just so.
    """

    requirement: str
    breaks: type[Any]
    keeps: type[Any]


_breaking: dict[str, type[Any]] = {}
_keeping: dict[str, type[Any]] = {}


def breaks(id: str) -> Callable[[K], K]:
    """Register the peer that breaks a requirement."""
    return _registering(_breaking, id)


def keeps(id: str) -> Callable[[K], K]:
    """Register the twin of the peer that breaks a requirement."""
    return _registering(_keeping, id)


def _registering(kept: dict[str, type[Any]], id: str) -> Callable[[K], K]:
    def register(peer: K) -> K:
        if id not in requirements():
            raise LookupError(f"no requirement {id!r}")
        if id in kept:
            raise ValueError(f"requirement {id!r} has two such peers")
        kept[id] = peer
        return peer

    return register


@cache
def zoo() -> dict[str, Pair]:
    """Return every pair by the id of its requirement, in the order of the manifest.

    Raises:
        LookupError: a peer has no twin.
    """
    for room in ROOMS:
        for module in pkgutil.walk_packages(import_module(room).__path__, f"{room}."):
            import_module(module.name)
    alone = _breaking.keys() ^ _keeping.keys()
    if alone:
        raise LookupError(f"no twin: {', '.join(sorted(alone))}")
    return {id: Pair(id, _breaking[id], _keeping[id]) for id in requirements() if id in _breaking}
