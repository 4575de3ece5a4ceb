"""The structure of a published schema: names, types and bounds, without prose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias

from codegen.errors import CodegenError
from codegen.printable import printable
from codegen.schema.keywords import KEYWORDS, Holds, escape

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def parse_schema(text: bytes) -> dict[str, Json]:
    """Parse the schema in a JSON text.

    Raises:
        CodegenError: not JSON, an object that names one key twice, a text that is not Unicode, or
            a JSON value that is no object with definitions.
    """
    try:
        schema: Json = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise CodegenError(f"expected JSON ({error}); give the published schema.json") from error
    if not isinstance(schema, dict) or not definitions(schema):
        raise CodegenError("expected `$defs` or `definitions`; give the published schema.json")
    for pointer in _no_unicode(schema, "#"):
        raise CodegenError(f"{printable(pointer)}: a text with half a surrogate pair; correct it")
    return schema


def definitions(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the named definitions of a schema: `$defs`, or `definitions` in the older dialect."""
    found = schema.get(container(schema))
    return found if isinstance(found, dict) else {}


def container(schema: dict[str, Json]) -> str:
    """Return the keyword under which a schema has its definitions."""
    return "$defs" if "$defs" in schema else "definitions"


def without_prose(schema: Json) -> Json:
    """Return `schema` with its prose keywords removed, at schema positions only.

    A property that is called `description` or `title` is a name, not a keyword, and stays.

    Raises:
        CodegenError: keywords outside `KEYWORDS`, or values of unexpected shape: all of them.
    """
    problems: list[str] = []
    made = _without_prose(schema, "", problems)
    if problems:
        raise CodegenError("\n".join(problems))
    return made


def structure(schema: Json) -> Any:
    """Return the same, leaving what is unknown or malformed as it stands."""
    return _without_prose(schema, "", [])


def print_schema(schema: Json) -> bytes:
    """Return the bytes of a stored schema: sorted keys, two spaces, UTF-8, final newline."""
    return (json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _without_prose(schema: Json, pointer: str, problems: list[str]) -> Json:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        problems.append(f"expected an object at `#{pointer}`, got {type(schema).__name__}")
        return schema
    made: dict[str, Json] = {}
    for keyword, value in schema.items():
        known = KEYWORDS.get(keyword)
        if known is None:
            problems.append(
                f"unknown keyword `{keyword}` at `#{pointer}`; add it to codegen/schema/keywords.py"
            )
            made[keyword] = value
        elif known.holds is not Holds.PROSE:
            made[keyword] = _behind(known.holds, value, f"{pointer}/{escape(keyword)}", problems)
    return made


def _behind(holds: Holds, value: Json, pointer: str, problems: list[str]) -> Json:
    expected = {Holds.SCHEMA_LIST: ("array", list), Holds.SCHEMA_BY_NAME: ("object", dict)}
    if holds is Holds.SCHEMA:
        return _without_prose(value, pointer, problems)
    if holds not in expected:
        return value
    name, kind = expected[holds]
    if isinstance(value, list) and kind is list:
        parts = enumerate(value)
        return [_without_prose(part, f"{pointer}/{index}", problems) for index, part in parts]
    if isinstance(value, dict) and kind is dict:
        named = value.items()
        return {
            key: _without_prose(one, f"{pointer}/{escape(key)}", problems) for key, one in named
        }
    problems.append(f"expected an {name} at `#{pointer}`, got {type(value).__name__}")
    return value


def _each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the key {twice!r} twice")
    return made


def _no_unicode(value: Json, pointer: str) -> Iterator[str]:
    """Yield the places of texts that cannot be written in UTF-8."""
    match value:
        case str() if any("\ud800" <= character <= "\udfff" for character in value):
            yield pointer
        case list():
            for index, item in enumerate(value):
                yield from _no_unicode(item, f"{pointer}/{index}")
        case dict():
            for key, item in value.items():
                yield from _no_unicode(key, f"{pointer}/{escape(key)}")
                yield from _no_unicode(item, f"{pointer}/{escape(key)}")
        case _:
            return


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")
