"""JSON Schema of types and of function parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from mcp_gen.core.checks.finite import find_non_finite
from mcp_gen.core.errors import UsageError
from mcp_gen.server.functions.function import NO_DEFAULT

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Member", "json_schema", "schema_of_adapter", "schema_of_parameters"]

_REFERENCE = "#/$defs/{name}"


class Member(NamedTuple):
    """One parameter, as input of its JSON Schema."""

    name: str
    hint: Any
    default: Any
    """Default value, or `NO_DEFAULT`."""
    description: str | None
    adapter: TypeAdapter[Any] | None = None
    """The pydantic adapter that validates it; None if msgspec decodes it."""


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type, with shared definitions under `$defs`.

    Raises:
        UsageError: The type is not JSON-serializable.
    """
    (schema,), definitions = _components((kind,))
    return _with_root(schema, definitions)


def schema_of_adapter(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """Return the JSON Schema of the values that a pydantic adapter serializes."""
    # Loaded when used: pydantic is optional, and slow to import.
    from mcp_gen.server.functions import pydantic_types

    named, definitions = pydantic_types.schemas({"it": adapter}, "serialization", {})
    return _with_root(named["it"], definitions)


def schema_of_parameters(parameters: Sequence[Member]) -> dict[str, Any]:
    """Return the JSON Schema of an object with one property per parameter.

    Without parameters, the schema allows no properties.

    Raises:
        UsageError: A type is not JSON-serializable.
    """
    if not parameters:
        return {"type": "object", "additionalProperties": False}
    made, definitions = _parameter_schemas(parameters)
    properties: dict[str, Any] = {}
    for one in parameters:
        schema = dict(made[one.name])
        if one.description and "description" not in schema:
            schema["description"] = one.description
        if one.default is not NO_DEFAULT and "default" not in schema:
            default = _default_as_json(one)
            if default is not UNSET:
                schema["default"] = default
        properties[one.name] = schema
    schema_of_object: dict[str, Any] = {"type": "object", "properties": properties}
    required = [one.name for one in parameters if one.default is NO_DEFAULT]
    if required:
        schema_of_object["required"] = required
    if definitions:
        schema_of_object["$defs"] = definitions
    return schema_of_object


def _parameter_schemas(
    parameters: Sequence[Member],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the schema of each parameter by name, and the shared definitions."""
    plain = [one for one in parameters if one.adapter is None]
    schemas, definitions = _components(tuple(one.hint for one in plain))
    made = {one.name: schema for one, schema in zip(plain, schemas, strict=True)}
    adapters = {one.name: one.adapter for one in parameters if one.adapter is not None}
    if adapters:
        # Loaded when used: pydantic is optional, and slow to import.
        from mcp_gen.server.functions import pydantic_types

        more, shared = pydantic_types.schemas(adapters, "validation", definitions)
        made |= more
        definitions = {**definitions, **shared}
    return made, definitions


def _components(kinds: tuple[Any, ...]) -> tuple[Sequence[dict[str, Any]], dict[str, Any]]:
    found = [_schema_without_definitions(kind) for kind in kinds]
    if None not in found:
        return [one for one in found if one is not None], {}
    try:
        return msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    except TypeError as error:
        raise UsageError(f"no JSON Schema for {kinds!r}: {error}") from None


def _schema_without_definitions(kind: Any) -> dict[str, Any] | None:
    """Return the schema of a type that needs no definitions; None for others."""
    try:
        return _cached_schema(kind)
    except TypeError:
        return None  # not hashable, or not supported by msgspec


@lru_cache(maxsize=1024)
def _cached_schema(kind: Any) -> dict[str, Any] | None:
    # Cached: most parameters of most tools have one of a few types.
    (schema,), definitions = msgspec.json.schema_components((kind,), ref_template=_REFERENCE)
    return None if definitions else schema


def _default_as_json(one: Member) -> Any:
    if one.default is UNSET or find_non_finite(one.default) is not None:
        return UNSET
    try:
        if one.adapter is not None:
            return one.adapter.dump_python(one.default, mode="json", by_alias=True)
        return msgspec.to_builtins(one.default, str_keys=True)
    except Exception:
        # A default need not be serializable: only the function sees it.
        return UNSET


def _with_root(schema: Mapping[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        # Inline the root instead of a reference to it: clients look for `type` there.
        schema = (
            definitions.pop(name) if not _is_referenced(definitions, name) else definitions[name]
        )
    return {**schema, "$defs": definitions} if definitions else dict(schema)


def _is_referenced(definitions: dict[str, Any], name: str) -> bool:
    return f'"#/$defs/{name}"'.encode() in msgspec.json.encode(definitions)
