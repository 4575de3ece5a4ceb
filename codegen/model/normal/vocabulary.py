"""Reads the definitions of a schema by the closed table of keywords; marks each schema's place."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from codegen.errors import Stop, Stops
from codegen.model.overlay import Overlay
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.keywords import KEYWORDS, Holds, Keyword, Role, escape
from codegen.schema.load import Source

REF = "#/$defs/"
AT = "#"
"""Key under which a schema has its JSON pointer; no keyword of JSON Schema has this name."""
OPENED = "#opened"
"""Key under which an open map has the definition that describes it."""
ANYTHING: Object = {"type": "object", "additionalProperties": {}}

MAX_DEPTH = 64
"""Levels of schemas in schemas; the stages that follow recurse over them."""

_REFERENCE = re.compile(r"#/(?:\$defs|definitions)/([^/]+)")
_SHOWN = 40
"""Characters of a wrong value in a message."""

_NEVER = "`false`, which no value satisfies"


def read_definitions(source: Source, given: Object, overlay: Overlay) -> Object:
    """Return the definitions with known keywords alone, each schema with its pointer at `AT`.

    References point into `#/$defs/`. What an [[open]] row covers is not looked at. What stops is
    added to `source.stops` and left out.
    """
    return _Reader(source, given, overlay).run()


def pointer_of(schema: Object, otherwise: str) -> str:
    """Return the place of a schema in the file, or that of what it was made from."""
    return str(schema.get(AT, otherwise))


def published_at(given: Object, place: str) -> Any:
    """Return the schema at a place, such as `/Box/properties/lid`, as the file has it."""
    found: Any = given
    for step in place.split("/")[1:]:
        found = found[int(step) if is_array(found) else step.replace("~1", "/").replace("~0", "~")]
    return found


class _Reader:
    def __init__(self, source: Source, given: Object, overlay: Overlay) -> None:
        self._revision = source.revision
        self._stops: Stops = source.stops
        self._root = f"#/{source.container}"
        self._given = given
        self._overlay = overlay

    def run(self) -> Object:
        return {
            name: self._schema(schema, f"{self._root}/{escape(name)}", name, 0)
            for name, schema in self._given.items()
        }

    def _schema(self, schema: Any, pointer: str, path: str, depth: int) -> Object:
        if self._overlay.match("open", self._revision, path):
            described = self._description(schema)
            return {**ANYTHING, AT: pointer, **({OPENED: described} if described else {})}
        if schema is True:
            return {AT: pointer}
        if schema is False:
            self._stop(pointer, _NEVER, "remove it with a [[patch]] row")
            return {AT: pointer}
        if not is_object(schema):
            self._stop(pointer, f"expected a schema, got {_shown(schema)}", "correct the file")
            return {AT: pointer}
        if depth > MAX_DEPTH:
            self._stop(
                pointer, f"schemas nested over {MAX_DEPTH} deep", "move a part to a definition"
            )
            return {AT: pointer}
        made: Object = {}
        for word, value in schema.items():
            known = self._known(word, value, pointer)
            if known is not None:
                made[word] = self._value(known, word, value, pointer, path, depth)
        self._check_reference(made, pointer)
        return {**made, AT: pointer}

    def _description(self, schema: Any) -> str:
        """Return the definition that an open map refers to, which says what is in it."""
        ref = schema.get("$ref") if is_object(schema) else None
        name = ref.removeprefix(REF) if isinstance(ref, str) else ""
        return name if name in self._given else ""

    def _known(self, word: str, value: Any, pointer: str) -> Keyword | None:
        """Return the keyword if it is to be read, and stop if it cannot be."""
        known = KEYWORDS.get(word)
        if known is None:
            self._stop(
                pointer,
                f"unknown keyword `{word}`",
                "say with a row of codegen/schema/keywords.py what it does",
            )
        elif known.role is Role.ROOT:
            self._stop(pointer, f"`{word}` inside the document", "move it to the root")
        elif known.role is Role.REFUSED:
            self._stop(pointer, f"`{word}`, which no type says", known.handled_by)
        elif known.role is not Role.NOTE:
            if known.fits(value) and _holds(known.holds, value):
                return known
            expected = known.expected or _EXPECTED[known.holds]
            self._stop(
                f"{pointer}/{word}", f"expected {expected}, got {_shown(value)}", "correct the file"
            )
        return None

    def _value(
        self, known: Keyword, word: str, value: Any, pointer: str, path: str, depth: int
    ) -> Any:
        def inside(part: Any, step: str, way: str) -> Object:
            return self._schema(part, f"{pointer}/{word}{step}", f"{path}{way}", depth + 1)

        match known.holds:
            case Holds.SCHEMA if word == "additionalProperties":
                # As data: false closes an object, and leaves it valid.
                return value if value is False else inside(value, "", "/values")
            case Holds.SCHEMA:
                return inside(value, "", f"/{word}")
            case Holds.SCHEMA_LIST if word == "allOf":
                # Its arms are one object, with one path.
                return [inside(arm, f"/{i}", "") for i, arm in enumerate(value)]
            case Holds.SCHEMA_LIST:
                return [inside(arm, f"/{i}", f"/{i}") for i, arm in enumerate(value)]
            case Holds.SCHEMA_BY_NAME:
                return {n: inside(one, f"/{escape(n)}", f"/{n}") for n, one in value.items()}
            case _:
                return value

    def _check_reference(self, made: Object, pointer: str) -> None:
        """Point a reference into one container, or stop if it points to no definition."""
        if "$ref" not in made:
            return
        target = made.pop("$ref")
        file, found, steps = target.partition("#/")
        container, _, step = unquote(steps).partition("/")
        name = step.replace("~1", "/").replace("~0", "~")
        if file or not found or container not in ("$defs", "definitions") or "/" in step:
            self._stop(
                pointer,
                f"a `$ref` to `{target}`, which is no definition",
                f"refer to one as `{self._root}/NAME`, with a [[patch]] row",
            )
        elif name not in self._given:
            self._stop(
                pointer,
                f"a `$ref` to `{target}`, which is not there",
                "correct it, or add the definition",
            )
        else:
            made["$ref"] = REF + name

    def _stop(self, pointer: str, construct: str, advice: str) -> None:
        self._stops.add([Stop(self._revision, pointer, construct, advice)])


_EXPECTED = {
    Holds.SCHEMA: "a schema",
    Holds.SCHEMA_LIST: "a list of schemas",
    Holds.SCHEMA_BY_NAME: "schemas by name",
}


def _holds(holds: Holds, value: Any) -> bool:
    match holds:
        case Holds.SCHEMA:
            return is_object(value) or isinstance(value, bool)
        case Holds.SCHEMA_LIST:
            return is_array(value)
        case Holds.SCHEMA_BY_NAME:
            return is_object(value)
        case _:
            return True


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def mapped(schema: Object, change: Callable[[Object], Object]) -> Object:
    """Return a schema with every schema directly inside it changed."""
    made: Object = {}
    for word, value in schema.items():
        known = KEYWORDS.get(word)
        match known.holds if known else None:
            case Holds.SCHEMA if is_object(value):
                made[word] = change(value)
            case Holds.SCHEMA_LIST:
                made[word] = [change(part) for part in value]
            case Holds.SCHEMA_BY_NAME:
                made[word] = {name: change(part) for name, part in value.items()}
            case _:
                made[word] = value
    return made


def rebased(schema: Any) -> Any:
    """Point every `$ref` to a definition at one container, independent of the dialect."""
    if is_object(schema):
        ref = schema.get("$ref")
        found = _REFERENCE.fullmatch(ref) if isinstance(ref, str) else None
        if found:
            return {**schema, "$ref": REF + found[1]}
        return {key: rebased(value) for key, value in schema.items()}
    return [rebased(item) for item in schema] if is_array(schema) else schema
