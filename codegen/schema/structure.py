"""The structure of a published schema: names, types and bounds, without prose."""

from __future__ import annotations

import json
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from codegen.errors import CodegenError

if TYPE_CHECKING:
    from collections.abc import Mapping

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class Holds(Enum):
    """Kind of value that a JSON Schema keyword takes."""

    DATA = auto()
    PROSE = auto()
    SCHEMA = auto()
    SCHEMA_LIST = auto()
    SCHEMA_BY_NAME = auto()


# Closed on purpose: a keyword the generator has never seen must stop the run, not slip through.
KEYWORDS: Final[Mapping[str, Holds]] = {
    "$comment": Holds.PROSE,
    "$defs": Holds.SCHEMA_BY_NAME,
    "$ref": Holds.DATA,
    "$schema": Holds.DATA,
    "additionalProperties": Holds.SCHEMA,
    "allOf": Holds.SCHEMA_LIST,
    "anyOf": Holds.SCHEMA_LIST,
    "const": Holds.DATA,
    "default": Holds.DATA,
    "definitions": Holds.SCHEMA_BY_NAME,
    "deprecated": Holds.DATA,
    "description": Holds.PROSE,
    "enum": Holds.DATA,
    "examples": Holds.PROSE,
    "format": Holds.DATA,
    "items": Holds.SCHEMA,
    "maxItems": Holds.DATA,
    "maximum": Holds.DATA,
    "minItems": Holds.DATA,
    "minimum": Holds.DATA,
    "properties": Holds.SCHEMA_BY_NAME,
    "required": Holds.DATA,
    "title": Holds.PROSE,
    "type": Holds.DATA,
}


def parse_schema(text: bytes) -> dict[str, Json]:
    """Parse the schema in a JSON text.

    Raises:
        CodegenError: not JSON, or a JSON value that is no object with definitions.
    """
    try:
        schema: Json = json.loads(text)
    except ValueError as error:
        raise CodegenError(f"expected JSON ({error}); give the published schema.json") from error
    if not isinstance(schema, dict) or not definitions(schema):
        raise CodegenError("expected `$defs` or `definitions`; give the published schema.json")
    return schema


def definitions(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the named definitions of a schema: `$defs`, or `definitions` in the older dialect."""
    found = schema.get("$defs", schema.get("definitions"))
    return found if isinstance(found, dict) else {}


def without_prose(schema: Json, pointer: str = "") -> Json:
    """Return `schema` with its prose keywords removed, at schema positions only.

    A property that is called `description` or `title` is a name, not a keyword, and stays.

    Raises:
        CodegenError: a keyword outside `KEYWORDS`, or one whose value has an unexpected shape.
    """
    if isinstance(schema, bool):
        return schema
    return {
        keyword: _without_prose_behind(keyword, value, f"{pointer}/{_escape(keyword)}")
        for keyword, value in _object(schema, pointer).items()
        if _what_it_holds(keyword, pointer) is not Holds.PROSE
    }


def print_schema(schema: Json) -> bytes:
    """Return the bytes of a stored schema: sorted keys, two spaces, UTF-8, final newline."""
    return (json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _without_prose_behind(keyword: str, value: Json, pointer: str) -> Json:
    match KEYWORDS[keyword]:
        case Holds.SCHEMA:
            return without_prose(value, pointer)
        case Holds.SCHEMA_LIST:
            schemas = enumerate(_array(value, pointer))
            return [without_prose(schema, f"{pointer}/{index}") for index, schema in schemas]
        case Holds.SCHEMA_BY_NAME:
            named = _object(value, pointer).items()
            return {name: without_prose(one, f"{pointer}/{_escape(name)}") for name, one in named}
        case _:
            return value


def _what_it_holds(keyword: str, pointer: str) -> Holds:
    if keyword not in KEYWORDS:
        raise CodegenError(
            f"unknown keyword `{keyword}` at `#{pointer}`; add it to codegen/schema/structure.py"
        )
    return KEYWORDS[keyword]


def _object(value: Json, pointer: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise CodegenError(f"expected an object at `#{pointer}`, got {type(value).__name__}")
    return value


def _array(value: Json, pointer: str) -> list[Json]:
    if not isinstance(value, list):
        raise CodegenError(f"expected an array at `#{pointer}`, got {type(value).__name__}")
    return value


def _escape(token: str) -> str:
    """Escape a name as one step of a JSON pointer (RFC 6901, section 3)."""
    return token.replace("~", "~0").replace("/", "~1")
