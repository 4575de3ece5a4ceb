"""Every JSON Schema keyword: what its value is, where it may stand and who handles it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from codegen.schema.json_values import is_array, is_object


class Holds(Enum):
    """Kind of value that a JSON Schema keyword takes."""

    DATA = auto()
    PROSE = auto()
    SCHEMA = auto()
    SCHEMA_LIST = auto()
    SCHEMA_BY_NAME = auto()


class Role(Enum):
    """Part that a keyword plays for the types."""

    ROOT = auto()
    """Describes the document: stands at its root, nowhere else."""
    NOTE = auto()
    """Says nothing about which values are valid: not read."""
    TYPE = auto()
    """Says which values are valid: becomes a type."""
    BOUND = auto()
    """Narrows a type: kept as data beside it."""
    REFUSED = auto()
    """Says which values are valid in a way that no type does: stops."""


SCALARS: Final = ("string", "integer", "number", "boolean", "null")
TYPES: Final = (*SCALARS, "array", "object")


@dataclass(frozen=True)
class Keyword:
    """One keyword; `handled_by` names the module that reads it, or says what to do instead."""

    holds: Holds
    role: Role
    handled_by: str = ""
    fits: Callable[[Any], bool] = lambda _value: True
    """Returns True if the value has the right form; schemas inside are looked at elsewhere."""
    expected: str = ""
    """The right form, for errors."""
    kinds: tuple[str, ...] = TYPES
    """Types of values that it says something about."""


def _is_pattern(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except re.error:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return is_array(value) and bool(value)


def _is_names(value: Any) -> bool:
    return is_array(value) and all(isinstance(one, str) for one in value)


def _is_types(value: Any) -> bool:
    named: list[Any] = value if is_array(value) else [value]
    return bool(named) and all(isinstance(one, str) and one in TYPES for one in named)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and int(value) == value


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_WRITE = "write what is meant with a [[patch]] row"

_PROSE = Keyword(Holds.PROSE, Role.NOTE)
_NOTE = Keyword(Holds.DATA, Role.NOTE)


def _root(holds: Holds) -> Keyword:
    return Keyword(holds, Role.ROOT, "structure")


def _bound(fits: Callable[[Any], bool], expected: str, *kinds: str) -> Keyword:
    return Keyword(Holds.DATA, Role.BOUND, "bounds", fits, expected, kinds)


def _refused(holds: Holds = Holds.DATA, advice: str = _WRITE) -> Keyword:
    return Keyword(holds, Role.REFUSED, advice)


_LENGTH = (_is_count, "a count")
_LIMIT = (_is_number, "a number")
_NUMBERS = ("integer", "number")

# Closed on purpose: a keyword the generator has never seen must stop the run, not slip through.
KEYWORDS: Final[Mapping[str, Keyword]] = {
    # --- the document ---
    "$defs": _root(Holds.SCHEMA_BY_NAME),
    "$id": _root(Holds.DATA),
    "$schema": _root(Holds.DATA),
    "$vocabulary": _root(Holds.DATA),
    "definitions": _root(Holds.SCHEMA_BY_NAME),
    # --- notes ---
    "$comment": _PROSE,
    "default": _NOTE,
    "deprecated": _NOTE,
    "description": _PROSE,
    "examples": _PROSE,
    "readOnly": _NOTE,
    "title": _PROSE,
    "writeOnly": _NOTE,
    # --- types ---
    "$ref": Keyword(Holds.DATA, Role.TYPE, "fold", _is_text, "a text"),
    "additionalProperties": Keyword(Holds.SCHEMA, Role.TYPE, "normalize", kinds=("object",)),
    "allOf": Keyword(Holds.SCHEMA_LIST, Role.TYPE, "fold", _is_list, "a list of schemas"),
    "anyOf": Keyword(Holds.SCHEMA_LIST, Role.TYPE, "normalize", _is_list, "a list of schemas"),
    "const": Keyword(Holds.DATA, Role.TYPE, "values"),
    "discriminator": Keyword(
        Holds.DATA,
        Role.TYPE,
        "normalize",
        lambda value: is_object(value) and _is_text(value.get("propertyName")),
        "an object with `propertyName`",
    ),
    "enum": Keyword(Holds.DATA, Role.TYPE, "values", _is_list, "a list of values"),
    "items": Keyword(Holds.SCHEMA, Role.TYPE, "normalize", kinds=("array",)),
    "oneOf": Keyword(Holds.SCHEMA_LIST, Role.TYPE, "normalize", _is_list, "a list of schemas"),
    "properties": Keyword(Holds.SCHEMA_BY_NAME, Role.TYPE, "normalize", kinds=("object",)),
    "required": Keyword(
        Holds.DATA, Role.TYPE, "normalize", _is_names, "a list of names", ("object",)
    ),
    "type": Keyword(Holds.DATA, Role.TYPE, "normalize", _is_types, "names of JSON types"),
    # --- bounds ---
    "contentEncoding": _bound(_is_text, "a text", "string"),
    "contentMediaType": _bound(_is_text, "a text", "string"),
    "exclusiveMaximum": _bound(*_LIMIT, *_NUMBERS),
    "exclusiveMinimum": _bound(*_LIMIT, *_NUMBERS),
    "format": _bound(_is_text, "a text", "string", *_NUMBERS),
    "maxItems": _bound(*_LENGTH, "array"),
    "maxLength": _bound(*_LENGTH, "string"),
    "maxProperties": _bound(*_LENGTH, "object"),
    "maximum": _bound(*_LIMIT, *_NUMBERS),
    "minItems": _bound(*_LENGTH, "array"),
    "minLength": _bound(*_LENGTH, "string"),
    "minProperties": _bound(*_LENGTH, "object"),
    "minimum": _bound(*_LIMIT, *_NUMBERS),
    "multipleOf": _bound(lambda one: _is_number(one) and one > 0, "a number over 0", *_NUMBERS),
    "pattern": _bound(_is_pattern, "a pattern that Python compiles", "string"),
    "uniqueItems": _bound(_is_flag, "true or false", "array"),
    # --- what no type says ---
    "$anchor": _refused(advice="refer to the definition by its pointer, with a [[patch]] row"),
    "$dynamicAnchor": _refused(),
    "$dynamicRef": _refused(),
    "$recursiveAnchor": _refused(),
    "$recursiveRef": _refused(),
    "additionalItems": _refused(Holds.SCHEMA),
    "contains": _refused(Holds.SCHEMA),
    "contentSchema": _refused(Holds.SCHEMA),
    "dependencies": _refused(),
    "dependentRequired": _refused(),
    "dependentSchemas": _refused(Holds.SCHEMA_BY_NAME),
    "else": _refused(Holds.SCHEMA),
    "if": _refused(Holds.SCHEMA),
    "maxContains": _refused(),
    "minContains": _refused(),
    "not": _refused(Holds.SCHEMA),
    "nullable": _refused(advice="write the type `null` beside the other with a [[patch]] row"),
    "patternProperties": _refused(Holds.SCHEMA_BY_NAME),
    "prefixItems": _refused(Holds.SCHEMA_LIST),
    "propertyNames": _refused(Holds.SCHEMA),
    "then": _refused(Holds.SCHEMA),
    "unevaluatedItems": _refused(Holds.SCHEMA),
    "unevaluatedProperties": _refused(Holds.SCHEMA),
}

ANNOTATIONS: Final = ("contentEncoding", "contentMediaType", "format")
"""Bounds that nothing checks: validators take them for notes, too."""

BOUNDS: Final = tuple(word for word, known in KEYWORDS.items() if known.role is Role.BOUND)


def escape(token: str) -> str:
    """Escape a name as one step of a JSON pointer (RFC 6901, section 3)."""
    return token.replace("~", "~0").replace("/", "~1")
