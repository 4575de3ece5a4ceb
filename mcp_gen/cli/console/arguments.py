"""Parses tool arguments of the command line into values of the tool's input schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from mcp_gen.core.errors import ProtocolError, SchemaNotChecked, UsageError
from mcp_gen.server.functions.suggestions import describe_unknown

__all__ = ["check_arguments", "convert", "parse_json", "parse_pairs"]

CHECK_S = 5.0
"""Seconds that checking the arguments may take; the server checks them anyway."""

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


def parse_pairs(given: list[str] | None) -> list[tuple[str, str]]:
    """Parse `--arg name=value` options into names and texts.

    Raises:
        UsageError: an option without a name or `=`.
    """
    found: list[tuple[str, str]] = []
    for one in given or ():
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise UsageError(f"--arg: expected `name=value`, got {one!r}")
        found.append((name, text))
    return found


def parse_json(text: str | None) -> Json:
    """Parse `--args`: a JSON object, or `-` to read one from stdin.

    Raises:
        UsageError: not valid JSON, or no object.
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


def convert(given: list[tuple[str, str]], schema: Json) -> Json:
    """Convert argument texts to values of the types in a schema.

    An argument of an array type that is given several times is collected into one array.

    Args:
        given: Names and texts, from `pairs`.
        schema: The input schema of the tool.

    Raises:
        UsageError: text that does not fit its type.
    """
    properties: Json = schema.get("properties") or {}
    values: Json = {}
    for name, text in given:
        wanted: Any = properties.get(name, {})
        kinds = set(_kinds(wanted, schema, 0))
        if "array" in kinds and not text.startswith("["):
            item: Any = wanted.get("items", {}) if wanted.__class__ is dict else {}
            values.setdefault(name, []).append(_value(name, text, set(_kinds(item, schema, 0))))
        else:
            values[name] = _value(name, text, kinds)
    return values


async def check_arguments(tool: str, arguments: Json, schema: Json) -> None:
    """Check the arguments of a call by the input schema of the tool.

    A schema that is not valid, or that takes long to check, is left to the server.

    Args:
        tool: Name of the tool, for error messages.
        arguments: The arguments as plain JSON.
        schema: The input schema.

    Raises:
        UsageError: An argument is unknown, missing, or does not fit; the message names it.
    """
    # Loaded when used: the schema of a server is checked by the client's own means.
    from mcp_gen.client.tools.output_schema import OutputSchema, OutputSchemaError

    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        unknown = describe_unknown(arguments, schema.get("properties") or {})
        if unknown is not None:
            raise UsageError(f"{tool}: {unknown}; --no-check sends it anyway")
    try:
        checker = OutputSchema(schema)
        if not checker.checked(arguments):
            await checker.check_in_worker(arguments, CHECK_S)
    except OutputSchemaError as error:
        raise UsageError(f"{tool}: {error}; --no-check sends it anyway") from None
    except (ProtocolError, SchemaNotChecked):
        pass


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
    """Yield the JSON types that a schema allows; none if it does not restrict them."""
    if wanted.__class__ is not dict or depth > 8:
        return
    declared: Any = wanted.get("type")
    if declared is not None:
        yield from declared if declared.__class__ is list else [declared]
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
