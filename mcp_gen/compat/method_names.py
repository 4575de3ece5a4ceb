"""Python names of the protocol's methods, such as `list_tools`, and the rows they stand for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.compat.known_extensions import every_extension, known_extensions
from mcp_wire.hook_machinery import HookPoint, HookSet
from mcp_wire.hooks import ClientHooks, ServerHooks

if TYPE_CHECKING:
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["NoSuchMethod", "method_of", "methods_of", "openings", "python_name", "wire_names"]


class NoSuchMethod(LookupError):
    """A revision does not have a method."""


def methods_of(profile: Profile) -> dict[str, Method[Any, Any]]:
    """Return the methods of a revision and of the extensions that it has, by wire name.

    They are shared: nobody may change them.
    """
    return _methods_at(profile.revision)


@cache
def _methods_at(revision: str) -> dict[str, Method[Any, Any]]:
    profile = mcp_wire.profile(revision)
    return {**profile.methods, **known_extensions().rows(profile)}


@cache
def openings() -> frozenset[str]:
    """Return the names of the requests with which connections are opened, at any revision."""
    profiles = [mcp_wire.profile(one) for one in mcp_wire.REVISIONS]
    found = {row.name for one in profiles for row in (one.handshake, one.discover) if row}
    return frozenset(found)


def method_of(profile: Profile, name: str) -> Method[Any, Any]:
    """Return the row of a method at a revision, also of one that an extension adds.

    Args:
        profile: The revision.
        name: The Python name of the method: that of its hooks, such as `list_tools`; of a
            notification without `on_`, such as `progress`.

    Raises:
        NoSuchMethod: the revision does not have it.
        KeyError: no revision has it.
    """
    rows = methods_of(profile)
    for wire_name in wire_names(name):
        if wire_name in rows:
            return rows[wire_name]
    raise NoSuchMethod(f"{profile.revision} has no {name}")


def python_name(wire_name: str) -> str | None:
    """Return the Python name of a method, or None if no revision has it."""
    return _python_names().get(wire_name)


def wire_names(name: str) -> tuple[str, ...]:
    """Return the names on the wire that a method has at any revision, and in extensions.

    Raises:
        KeyError: no revision has it.
    """
    return _wire_names()[name]


@cache
def _wire_names() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for wire_name, name in _python_names().items():
        found[name] = (*found.get(name, ()), wire_name)
    return found


@cache
def _python_names() -> dict[str, str]:
    own = {
        wire: name
        for hooks in (ServerHooks(_nothing), ClientHooks(_nothing))
        for name, wire in _named(hooks)
    }
    added = {
        wire: name for extension in every_extension() for wire, name in extension.names.items()
    }
    return {**added, **own}


def _named(hooks: HookSet) -> list[tuple[str, str]]:
    notices = {id(point): wire for wire, point in hooks.notices.items()}
    return [
        (name, point.method)
        if isinstance(point, HookPoint)
        else (name.removesuffix("_notice"), notices[id(point)])
        for name, point in vars(hooks).items()
        if isinstance(point, HookPoint) or id(point) in notices
    ]


def _nothing() -> None:
    """Stand in for what rebuilds the routes of a session when its hooks change."""
