"""Finds schemas that may be invalid, without the validator: it takes long to import.

A doubt is no fault. It says that the validator should compile the schema at definition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["is_doubtful"]

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value maps names of any kind to schemas."""
_DATA = frozenset({"const", "default", "examples"})
"""Keywords whose value is no schema."""
_SAFE_PATTERN = re.compile(r"(?:[^\\(]|\((?!\?)|\(\?:|\\[^a-zA-Z]|\\[bBdDsSwWnrt])*")
"""Patterns that mean the same in Python and in JSON Schema."""


def is_doubtful(schema: Mapping[str, Any]) -> bool:
    """Return True if a schema may be invalid; False if it certainly is valid.

    Args:
        schema: The schema; its nesting and size have been checked.
    """
    pending: list[Any] = [schema]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending += _items(one)
        elif isinstance(one, dict):
            for keyword, value in _members(one).items():
                fits = _FITTING.get(keyword)
                if fits is not None and not fits(value):
                    return True
                if keyword in _MAPS:
                    pending += _members(value).values()
                elif keyword not in _DATA:
                    pending.append(value)
    return False


def _items(value: Any) -> list[Any]:
    items: list[Any] = value
    return items


def _members(value: Any) -> dict[str, Any]:
    members: dict[str, Any] = value
    return members


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        names = _items(value)
        return 0 < len(names) == len(set(map(str, names))) and all(map(_is_type_name, names))
    return _is_type_name(value)


def _is_type_name(value: Any) -> bool:
    return isinstance(value, str) and value in _TYPES


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_enum(value: Any) -> bool:
    return isinstance(value, list) and value != []


def _are_names(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    names = _items(value)
    return all(map(_is_text, names)) and len(set(names)) == len(names)


def _is_pattern(value: Any) -> bool:
    if not isinstance(value, str) or _SAFE_PATTERN.fullmatch(value) is None:
        return False
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(map(_is_schema, _items(value)))


def _is_schema(value: Any) -> bool:
    return isinstance(value, (dict, bool))


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, _members(value).values()))


def _is_pattern_map(value: Any) -> bool:
    return _is_map(value) and all(map(_is_pattern, _members(value)))


def _never(value: Any) -> bool:
    return False


_FITTING: Mapping[str, Callable[[Any], bool]] = {
    "$anchor": _is_text,
    "$defs": _is_map,
    "$comment": _is_text,
    "$dynamicRef": _never,
    "$recursiveRef": _never,
    "$ref": _is_text,
    "$vocabulary": _never,
    "additionalItems": _is_schema,
    "additionalProperties": _is_schema,
    "allOf": _are_schemas,
    "anyOf": _are_schemas,
    "contains": _is_schema,
    "dependencies": _never,
    "dependentRequired": _never,
    "dependentSchemas": _is_map,
    "definitions": _is_map,
    "deprecated": _is_bool,
    "description": _is_text,
    "else": _is_schema,
    "enum": _is_enum,
    "exclusiveMaximum": _is_number,
    "exclusiveMinimum": _is_number,
    "format": _is_text,
    "if": _is_schema,
    "items": _is_schema,
    "maxContains": _is_count,
    "maxItems": _is_count,
    "maxLength": _is_count,
    "maxProperties": _is_count,
    "maximum": _is_number,
    "minContains": _is_count,
    "minItems": _is_count,
    "minLength": _is_count,
    "minProperties": _is_count,
    "minimum": _is_number,
    "multipleOf": _is_positive,
    "not": _is_schema,
    "oneOf": _are_schemas,
    "pattern": _is_pattern,
    "patternProperties": _is_pattern_map,
    "prefixItems": _are_schemas,
    "properties": _is_map,
    "propertyNames": _is_schema,
    "readOnly": _is_bool,
    "required": _are_names,
    "then": _is_schema,
    "title": _is_text,
    "type": _is_type,
    "unevaluatedItems": _is_schema,
    "unevaluatedProperties": _is_schema,
    "uniqueItems": _is_bool,
    "writeOnly": _is_bool,
}
"""Keywords that every supported dialect checks, or 2020-12 alone; others are annotations."""
