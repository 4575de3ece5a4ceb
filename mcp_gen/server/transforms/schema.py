"""The JSON Schema of a tool's arguments as clients see them: renamed, hidden, described anew.

Only the members of the root are arguments. What stands in their own schemas stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import UNSET

from mcp_gen.core.errors import UsageError
from mcp_gen.server.transforms.argument import Argument

__all__ = ["asks_more", "rewrite_schema"]

_ANNOTATIONS = frozenset({"$comment", "deprecated", "description", "examples", "title"})

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("if", "then", "else", "not")
_BY_NAME = ("dependentRequired", "dependentSchemas", "dependencies")
_OPAQUE = (
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "maxProperties",
    "minProperties",
    "patternProperties",
    "propertyNames",
)
"""Keywords for an object whose meaning depends on names, or on how many members there are."""
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_DATA = frozenset({"const", "default", "enum", "examples"})
_PLAIN: Mapping[bool, dict[str, Any]] = {True: {}, False: {"not": {}}}
"""Schemas that are a word, as objects."""
_OLD = ("draft-04", "draft-06", "draft-07")
"""Dialects that see nothing beside a `$ref`."""


def asks_more(argument: Argument) -> bool:
    """Whether keywords of an argument ask something of values: others only tell of it."""
    keywords = argument.schema or ()
    return any(one not in _ANNOTATIONS and not one.startswith("x-") for one in keywords)


def rewrite_schema(
    schema: Mapping[str, Any], arguments: Mapping[str, Argument], what: str
) -> dict[str, Any]:
    """The schema of the arguments that clients see. `arguments` are by the tool's names.

    Raises:
        UsageError: no honest schema can be made: `what` begins the message.
    """
    return _SchemaRewriter(schema, arguments, what).whole()


class _SchemaRewriter:
    def __init__(
        self, schema: Mapping[str, Any], arguments: Mapping[str, Argument], what: str
    ) -> None:
        self._schema = schema
        self._arguments = arguments
        self._what = what
        self._names = {old: one.name for old, one in arguments.items() if one.name is not None}
        self._hidden = {old for old, one in arguments.items() if one.hidden}

    def whole(self) -> dict[str, Any]:
        known = self._schema.get("properties", {})
        hidden = {name: known[name] for name in self._hidden}
        made = self._in_place(self._schema, root=True)
        made["properties"] = {
            self._new(name): self._described(name, one)
            for name, one in known.items()
            if name not in hidden
        }
        made["required"] = self._required()
        if not made["required"]:
            del made["required"]
        moved = self._pointers(made, hidden)
        if moved:
            made = cast("dict[str, Any]", _with_references(made, _moving(moved)))
        return _pruned(made, hidden)

    def _new(self, name: str) -> str:
        return self._names.get(name, name)

    def _required(self) -> list[str]:
        found: list[str] = list(self._schema.get("required", ()))
        for name, one in self._arguments.items():
            if one.required and name not in found:
                found.append(name)
            elif name in found and (
                one.hidden or one.required is False or one.default is not UNSET
            ):
                found.remove(name)
        return [self._new(name) for name in found]

    def _described(self, name: str, schema: Any) -> Any:
        one = self._arguments.get(name)
        if one is None:
            return schema
        made: dict[str, Any] = _PLAIN[schema].copy() if schema in (True, False) else dict(schema)
        if one.required:
            made.pop("default", None)
        if one.schema:
            if "$ref" in made and any(old in self._schema.get("$schema", "") for old in _OLD):
                made["allOf"] = [{"$ref": made.pop("$ref")}, *made.get("allOf", ())]
            made |= one.schema
        if one.description is not None:
            made["description"] = one.description
            if not one.description:
                del made["description"]
        if one.default is not UNSET:
            made["default"] = msgspec.to_builtins(one.default, str_keys=True)
        return made

    def _in_place(self, schema: Any, *, root: bool = False) -> Any:
        """A schema for the arguments themselves, with their new names."""
        if not isinstance(schema, Mapping):
            return schema
        made: dict[str, Any] = {}
        for keyword, value in cast("Mapping[str, Any]", schema).items():
            if keyword in _OPAQUE and (self._names or self._hidden):
                raise UsageError(
                    f"{self._what}: its input schema has `{keyword}` for the arguments as a whole: "
                    "their names must stay as they are"
                )
            if keyword in _LISTS:
                value = [self._in_place(one) for one in value]
            elif keyword in _SINGLE:
                value = self._in_place(value)
            elif keyword in _BY_NAME:
                value = {self._seen(n, keyword): self._dependent(v) for n, v in value.items()}
            elif root and keyword in ("default", "examples"):
                value = self._instances(value)
            elif not root and keyword == "properties":
                value = {self._seen(name, keyword): one for name, one in value.items()}
            elif not root and keyword == "required":
                value = [self._seen(name, keyword) for name in value]
            made[keyword] = value
        return made

    def _dependent(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._seen(name, "dependentRequired") for name in cast("list[str]", value)]
        return self._in_place(value)

    def _seen(self, name: str, keyword: str) -> str:
        if name in self._hidden:
            raise UsageError(
                f"{self._what}: {name} cannot be hidden: `{keyword}` in its input schema makes "
                "other arguments depend on it"
            )
        return self._new(name)

    def _instances(self, value: Any) -> Any:
        if value.__class__ is list:
            return [self._instances(one) for one in value]
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        return {self._new(n): one for n, one in members.items() if n not in self._hidden}

    def _pointers(self, made: dict[str, Any], hidden: Mapping[str, Any]) -> dict[str, str]:
        """Where pointers to arguments go to now; what is hidden and referred to is kept."""
        used = set(_references(made))
        moved: dict[str, str] = {}
        for name in self._schema.get("properties", {}):
            old = f"#/properties/{_escaped(name)}"
            if not any(one == old or one.startswith(f"{old}/") for one in used):
                continue
            if name in hidden:
                kept = made["$defs"] = dict(made.get("$defs", {}))
                place = name
                while place in kept:
                    place += "_"
                kept[place] = hidden[name]
                moved[old] = f"#/$defs/{_escaped(place)}"
            elif name in self._names:
                moved[old] = f"#/properties/{_escaped(self._new(name))}"
        return moved


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _moving(moved: Mapping[str, str]) -> Callable[[str], str]:
    def follow(reference: str) -> str:
        for old, new in moved.items():
            if reference == old or reference.startswith(f"{old}/"):
                return new + reference[len(old) :]
        return reference

    return follow


def _with_references(schema: Any, follow: Callable[[str], str]) -> Any:
    """A copy whose references are what `follow` makes of them."""
    if schema.__class__ is list:
        return [_with_references(one, follow) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for keyword, value in cast("dict[str, Any]", schema).items():
        if keyword == "$ref" and isinstance(value, str):
            value = follow(value)
        elif keyword in _NAMED and isinstance(value, dict):
            below = cast("dict[str, Any]", value)
            value = {name: _with_references(one, follow) for name, one in below.items()}
        elif keyword not in _DATA:
            value = _with_references(value, follow)
        made[keyword] = value
    return made


def _references(schema: Any) -> Iterator[str]:
    found: list[str] = []

    def follow(reference: str) -> str:
        found.append(reference)
        return reference

    _with_references(schema, follow)
    return iter(found)


def _pruned(schema: dict[str, Any], hidden: Mapping[str, Any]) -> dict[str, Any]:
    """Without the definitions that only hidden arguments need."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    needed = _reached({k: v for k, v in schema.items() if k != "$defs"}, definitions)
    gone = _reached({"properties": dict(hidden)}, definitions) - needed
    if not gone:
        return schema
    # What none of them needs is left alone: it may be found by an anchor.
    kept = {name: one for name, one in definitions.items() if name not in gone}
    made = {**schema, "$defs": kept}
    if not kept:
        del made["$defs"]
    return made


def _reached(schema: Any, definitions: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    to_look_at = [schema]
    while to_look_at:
        for reference in _references(to_look_at.pop()):
            name = reference.removeprefix("#/$defs/").split("/")[0]
            name = name.replace("~1", "/").replace("~0", "~")
            if reference.startswith("#/$defs/") and name in definitions and name not in found:
                found.add(name)
                to_look_at.append(definitions[name])
    return found
