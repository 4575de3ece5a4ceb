"""Tool arguments that are mirrored in HTTP headers: those with `x-mcp-header` in the input schema.

Source:
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#schema-extension
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from mcp_gen.core.errors import UsageError

__all__ = ["MARK", "MAX_MIRRORED_INTEGER", "UnmirroredArgument", "marked_params"]

MARK = "x-mcp-header"
"""Keyword of a property's schema; its value is the last part of the header name."""
_TYPES = ("boolean", "integer", "string")
_SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
"""Keywords of JSON Schema whose value maps names to schemas."""
_DATA_KEYWORDS = ("default", "const", "enum", "examples", MARK)
"""Keywords of JSON Schema whose value contains no schemas."""
MAX_MIRRORED_INTEGER = 2**53 - 1
"""Greatest integer that every reader of a mirrored argument can hold; the least is its negative."""
_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"


class UnmirroredArgument(UsageError):
    """An argument that no header can repeat: the call cannot be sent over HTTP."""


def marked_params(schema: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the path of each property with `x-mcp-header`, by its value.

    Args:
        schema: The input schema of a tool.

    Raises:
        UsageError: A use of `x-mcp-header` that the protocol does not allow. Clients would ignore
            the tool.
    """
    found: dict[str, tuple[str, ...]] = {}
    lowered: set[str] = set()
    for name, path, described in _marked_properties(schema):
        where = f"property `{'.'.join(path)}`: {MARK}={name!r}"
        if not isinstance(name, str) or not re.fullmatch(_TOKEN, name):
            raise UsageError(f"{where}: expected the end of a header's name")
        if name.lower() in lowered:
            raise UsageError(f"{where}: another property is marked with this name")
        if described.get("type") not in _TYPES:
            raise UsageError(f"{where}: expected its type to be one of {', '.join(_TYPES)}")
        found[name] = path
        lowered.add(name.lower())
    if _count_marks(schema) > len(found):
        raise UsageError(
            f"{MARK}: only what is reached through `properties` alone can be marked: not what is "
            "in a list, a reference or a choice, as the type of an optional parameter is "
            "(give it a default of its own type)"
        )
    return found


def _marked_properties(
    schema: Mapping[str, Any],
) -> Iterator[tuple[Any, tuple[str, ...], Mapping[str, Any]]]:
    """Yield the marked properties that are reached through `properties` alone, in order."""
    # Without recursion, here and below: the schema may be a peer's, and nested as deep as it likes.
    pending: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), schema)]
    while pending:
        path, described = pending.pop()
        if path and MARK in described:
            yield described[MARK], path, described
        properties: Any = described.get("properties")
        if isinstance(properties, dict):
            inner = cast("dict[str, Any]", properties)
            pending += [
                ((*path, name), one) for name, one in reversed(inner.items()) if type(one) is dict
            ]


def _count_marks(schema: Any) -> int:
    """Count the marks in a schema at any place."""
    count = 0
    pending = [schema]
    while pending:
        one = pending.pop()
        if one.__class__ is list:
            pending += one
        elif isinstance(one, dict):
            members = cast("dict[str, Any]", one)
            count += MARK in members
            for key, value in members.items():
                if key in _SCHEMA_MAPS and isinstance(value, dict):
                    pending += cast("dict[str, Any]", value).values()
                elif key not in (*_SCHEMA_MAPS, *_DATA_KEYWORDS):
                    pending.append(value)
    return count
