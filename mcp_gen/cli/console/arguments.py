"""Arguments of a tool from the command line: text in, values of the kinds that its schema has."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from mcp_gen.core.errors import UsageError

__all__ = ["by_schema", "pairs", "whole"]

Json = dict[str, Any]

_KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def pairs(given: list[str] | None) -> list[tuple[str, str]]:
    """The names and texts of `--arg name=value`.

    Raises:
        UsageError: one that is no pair.
    """
    found: list[tuple[str, str]] = []
    for one in given or ():
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise UsageError(f"--arg: expected `name=value`, got {one!r}")
        found.append((name, text))
    return found


def whole(text: str | None) -> Json:
    """The arguments of `--args`: a JSON object, `-` for stdin.

    Raises:
        UsageError: it is none.
    """
    if text is None:
        return {}
    source = sys.stdin.read() if text == "-" else text
    try:
        found: Any = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--args: expected JSON: {error}") from None
    if found.__class__ is not dict:
        raise UsageError("--args: expected a JSON object, as in `'{\"a\": 1}'`")
    arguments: Json = found
    return arguments


def by_schema(given: list[tuple[str, str]], schema: Json) -> Json:
    """The arguments as values. One that is given several times is an array.

    Raises:
        UsageError: a name that the tool does not have, or text that is no value of its kind.
    """
    properties: Json = schema.get("properties") or {}
    values: Json = {}
    for name, text in given:
        if name not in properties and schema.get("additionalProperties") is False:
            known = ", ".join(properties) or "none"
            raise UsageError(f"--arg {name}: the tool has no such argument; there are {known}")
        wanted: Any = properties.get(name, {})
        kinds = set(_kinds(wanted, schema, 0))
        if "array" in kinds and not text.startswith("["):
            item: Any = wanted.get("items", {}) if wanted.__class__ is dict else {}
            values.setdefault(name, []).append(_value(name, text, set(_kinds(item, schema, 0))))
        else:
            values[name] = _value(name, text, kinds)
    return values


def _value(name: str, text: str, kinds: set[str]) -> Any:
    if kinds == {"string"}:
        return text
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        if not kinds or "string" in kinds:
            return text
        raise UsageError(f"--arg {name}: expected {_named(kinds)}, got {text!r}") from None
    kind = _KINDS[type(value)]
    if not kinds or kind in kinds or (kind == "integer" and "number" in kinds):
        return value
    if kind == "number" and "integer" in kinds and value.is_integer():
        return int(value)
    if "string" in kinds:
        return text
    raise UsageError(f"--arg {name}: expected {_named(kinds)}, got {text!r}")


def _named(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))


def _kinds(wanted: Any, root: Json, depth: int) -> Iterator[str]:
    """The JSON types that a schema allows, as far as it says so; none: any."""
    if wanted.__class__ is not dict or depth > 8:
        return
    told: Any = wanted.get("type")
    if told is not None:
        yield from told if told.__class__ is list else [told]
        return
    values: list[Any] = [*wanted.get("enum", ()), *([wanted["const"]] if "const" in wanted else ())]
    yield from (_KINDS[type(one)] for one in values)
    for word in ("anyOf", "oneOf", "allOf"):
        for one in wanted.get(word, ()):
            yield from _kinds(one, root, depth + 1)
    reference: Any = wanted.get("$ref")
    if reference.__class__ is str and reference.startswith("#/"):
        found: Any = root
        for step in reference[2:].split("/"):
            found = found.get(step) if found.__class__ is dict else None
        yield from _kinds(found, root, depth + 1)
