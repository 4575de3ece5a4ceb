"""Rewrites the input schema of a transformed tool: renamed, hidden and redescribed arguments.

Only the properties of the root are arguments. Their own schemas are not rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from msgspec import UNSET

from mcp_gen.core.errors import UsageError
from mcp_gen.server.transforms.argument import Argument
from mcp_gen.values.custom_types import to_plain

__all__ = ["restricts_values", "rewrite_schema"]

_ANNOTATIONS = frozenset({"$comment", "deprecated", "description", "examples", "title"})
"""Keywords that do not restrict values."""

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
"""Object keywords whose meaning depends on property names or on the number of properties."""
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_DATA = frozenset({"const", "default", "enum", "examples"})
_BOOLEAN_SCHEMAS: Mapping[bool, dict[str, Any]] = {True: {}, False: {"not": {}}}
"""Object form of the boolean schemas."""
_REF_ONLY_DIALECTS = ("draft-04", "draft-06", "draft-07")
"""Dialects that ignore all keywords beside a `$ref`."""


def restricts_values(argument: Argument) -> bool:
    """Return True if the schema keywords of an argument restrict values, not just describe them."""
    keywords = argument.schema or ()
    return any(one not in _ANNOTATIONS and not one.startswith("x-") for one in keywords)


def rewrite_schema(
    schema: Mapping[str, Any], arguments: Mapping[str, Argument], what: str
) -> dict[str, Any]:
    """Return the input schema that clients see.

    Args:
        schema: Input schema of the tool.
        arguments: Changes by the tool's argument names.
        what: Beginning of error messages.

    Raises:
        UsageError: The schema cannot be rewritten without changing its meaning.
    """
    return _SchemaRewriter(schema, arguments, what).rewrite()


class _SchemaRewriter:
    def __init__(
        self, schema: Mapping[str, Any], arguments: Mapping[str, Argument], what: str
    ) -> None:
        self._schema = schema
        self._arguments = arguments
        self._what = what
        self._names = {old: one.name for old, one in arguments.items() if one.name is not None}
        self._hidden = {old for old, one in arguments.items() if one.hidden}

    def rewrite(self) -> dict[str, Any]:
        known = self._schema.get("properties", {})
        hidden = {name: known[name] for name in self._hidden}
        made = self._rewrite_object(self._schema, root=True)
        made["properties"] = {
            self._client_name(name): self._rewrite_argument(name, one)
            for name, one in known.items()
            if name not in hidden
        }
        made["required"] = self._required()
        if not made["required"]:
            del made["required"]
        moved = self._moved_pointers(made, hidden)
        if moved:
            made = cast("dict[str, Any]", _map_references(made, _pointer_mapper(moved)))
        return _without_unused_definitions(made, hidden)

    def _client_name(self, name: str) -> str:
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
        return [self._client_name(name) for name in found]

    def _rewrite_argument(self, name: str, schema: Any) -> Any:
        one = self._arguments.get(name)
        if one is None:
            return schema
        made: dict[str, Any] = (
            _BOOLEAN_SCHEMAS[schema].copy() if schema in (True, False) else dict(schema)
        )
        if one.required:
            made.pop("default", None)
        if one.schema:
            if "$ref" in made and any(
                old in self._schema.get("$schema", "") for old in _REF_ONLY_DIALECTS
            ):
                made["allOf"] = [{"$ref": made.pop("$ref")}, *made.get("allOf", ())]
            made |= one.schema
        if one.description is not None:
            made["description"] = one.description
            if not one.description:
                del made["description"]
        if one.default is not UNSET:
            made["default"] = to_plain(one.default)
        return made

    def _rewrite_object(self, schema: Any, *, root: bool = False) -> Any:
        """Rewrite argument names in a schema that applies to the arguments object itself."""
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
                value = [self._rewrite_object(one) for one in value]
            elif keyword in _SINGLE:
                value = self._rewrite_object(value)
            elif keyword in _BY_NAME:
                value = {
                    self._dependency_name(n, keyword): self._rewrite_dependency(v)
                    for n, v in value.items()
                }
            elif root and keyword in ("default", "examples"):
                value = self._rewrite_instances(value)
            elif not root and keyword == "properties":
                value = {self._dependency_name(name, keyword): one for name, one in value.items()}
            elif not root and keyword == "required":
                value = [self._dependency_name(name, keyword) for name in value]
            made[keyword] = value
        return made

    def _rewrite_dependency(self, value: Any) -> Any:
        if isinstance(value, list):
            return [
                self._dependency_name(name, "dependentRequired")
                for name in cast("list[str]", value)
            ]
        return self._rewrite_object(value)

    def _dependency_name(self, name: str, keyword: str) -> str:
        if name in self._hidden:
            raise UsageError(
                f"{self._what}: {name} cannot be hidden: `{keyword}` in its input schema makes "
                "other arguments depend on it"
            )
        return self._client_name(name)

    def _rewrite_instances(self, value: Any) -> Any:
        if value.__class__ is list:
            return [self._rewrite_instances(one) for one in value]
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        return {self._client_name(n): one for n, one in members.items() if n not in self._hidden}

    def _moved_pointers(self, made: dict[str, Any], hidden: Mapping[str, Any]) -> dict[str, str]:
        """Return the new targets of pointers to arguments; keep hidden targets under `$defs`."""
        used = set(_references(made))
        moved: dict[str, str] = {}
        for name in self._schema.get("properties", {}):
            old = f"#/properties/{_escape_pointer(name)}"
            if not any(one == old or one.startswith(f"{old}/") for one in used):
                continue
            if name in hidden:
                kept = made["$defs"] = dict(made.get("$defs", {}))
                place = name
                while place in kept:
                    place += "_"
                kept[place] = hidden[name]
                moved[old] = f"#/$defs/{_escape_pointer(place)}"
            elif name in self._names:
                moved[old] = f"#/properties/{_escape_pointer(self._client_name(name))}"
        return moved


def _escape_pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _pointer_mapper(moved: Mapping[str, str]) -> Callable[[str], str]:
    def map_reference(reference: str) -> str:
        for old, new in moved.items():
            if reference == old or reference.startswith(f"{old}/"):
                return new + reference[len(old) :]
        return reference

    return map_reference


def _map_references(schema: Any, map_reference: Callable[[str], str]) -> Any:
    """Return a copy with each reference replaced by `map_reference(reference)`."""
    if schema.__class__ is list:
        return [_map_references(one, map_reference) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for keyword, value in cast("dict[str, Any]", schema).items():
        if keyword == "$ref" and isinstance(value, str):
            value = map_reference(value)
        elif keyword in _NAMED and isinstance(value, dict):
            below = cast("dict[str, Any]", value)
            value = {name: _map_references(one, map_reference) for name, one in below.items()}
        elif keyword not in _DATA:
            value = _map_references(value, map_reference)
        made[keyword] = value
    return made


def _references(schema: Any) -> Iterator[str]:
    found: list[str] = []

    def map_reference(reference: str) -> str:
        found.append(reference)
        return reference

    _map_references(schema, map_reference)
    return iter(found)


def _without_unused_definitions(
    schema: dict[str, Any], hidden: Mapping[str, Any]
) -> dict[str, Any]:
    """Remove definitions that only hidden arguments need."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    needed = _needed_definitions({k: v for k, v in schema.items() if k != "$defs"}, definitions)
    unused = _needed_definitions({"properties": dict(hidden)}, definitions) - needed
    if not unused:
        return schema
    # Keep definitions that nothing refers to: an anchor may lead to them.
    kept = {name: one for name, one in definitions.items() if name not in unused}
    made = {**schema, "$defs": kept}
    if not kept:
        del made["$defs"]
    return made


def _needed_definitions(schema: Any, definitions: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    pending = [schema]
    while pending:
        for reference in _references(pending.pop()):
            name = reference.removeprefix("#/$defs/").split("/")[0]
            name = name.replace("~1", "/").replace("~0", "~")
            if reference.startswith("#/$defs/") and name in definitions and name not in found:
                found.add(name)
                pending.append(definitions[name])
    return found
