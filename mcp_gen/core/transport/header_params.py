"""Which arguments of a tool its HTTP headers repeat: those that its schema marks.

Source:
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#schema-extension
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from mcp_gen.core.errors import UsageError

__all__ = ["MARK", "marked_params"]

MARK = "x-mcp-header"
_KINDS = ("boolean", "integer", "string")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
"""Keywords of JSON Schema whose members have names of their own."""
_DATA = ("default", "const", "enum", "examples", MARK)
"""Those whose values are no schemas."""
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def marked_params(schema: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The path of each marked property, by the name it is marked with.

    Raises:
        UsageError: a mark that clients do not understand: they would leave the tool out.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, path, described in _marks(schema, ()):
        where = f"property `{'.'.join(path)}`: {MARK}={name!r}"
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise UsageError(f"{where}: expected the end of a header's name")
        if name.lower() in (other.lower() for other in found):
            raise UsageError(f"{where}: another property is marked with this name")
        if described.get("type") not in _KINDS:
            raise UsageError(f"{where}: expected its type to be one of {', '.join(_KINDS)}")
        found[name] = path
    if _count(schema) > len(found):
        raise UsageError(
            f"{MARK}: only what is reached through `properties` alone can be marked: not what is "
            "in a list, a reference or a choice, as the type of an optional parameter is "
            "(give it a default of its own type)"
        )
    return found


def _marks(
    schema: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[Any, tuple[str, ...], Mapping[str, Any]]]:
    """Marked properties that are reached through `properties` alone."""
    properties: Any = schema.get("properties")
    if not isinstance(properties, dict):
        return
    for name, described in cast("dict[str, Any]", properties).items():
        if isinstance(described, dict):
            inner = cast("dict[str, Any]", described)
            if MARK in inner:
                yield inner[MARK], (*path, name), inner
            yield from _marks(inner, (*path, name))


def _count(schema: Any) -> int:
    """How many marks there are anywhere."""
    if schema.__class__ is list:
        return sum(_count(item) for item in schema)
    if not isinstance(schema, dict):
        return 0
    members = cast("dict[str, Any]", schema)
    inside: list[Any] = []
    for key, value in members.items():
        if key in _NAMED and isinstance(value, dict):
            inside += cast("dict[str, Any]", value).values()
        elif key not in (*_NAMED, *_DATA):
            inside.append(value)
    return int(MARK in members) + sum(_count(one) for one in inside)
