"""JSON Schema of types and of function parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from mcp_gen.core.checks.finite import find_non_finite
from mcp_gen.core.errors import UsageError
from mcp_gen.values.custom_types import is_path_type, to_plain
from mcp_gen.values.field_texts import add_texts

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["NO_DEFAULT", "Member", "json_schema", "schema_of_adapter", "schema_of_parameters"]

NO_DEFAULT: Any = inspect.Parameter.empty
"""Marker for a parameter without default, and for a missing return annotation."""

_Mode: TypeAlias = Literal["validation", "serialization"]
_REFERENCE = "#/$defs/{name}"
_PATH = {"type": "string", "format": "path"}
"""The same that pydantic publishes for a path."""


class Member(Struct, frozen=True):
    """One parameter, as input of its JSON Schema."""

    name: str
    hint: Any
    default: Any
    """Default value, or `NO_DEFAULT`."""
    description: str | None
    adapter: TypeAdapter[Any] | None = None
    """The pydantic adapter that validates it; None if msgspec decodes it."""


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of what a type is encoded to, with shared definitions under `$defs`.

    Raises:
        UsageError: The type is not JSON-serializable.
    """
    (schema,), definitions = _components((kind,), "serialization")
    return _with_root(schema, definitions)


def schema_of_adapter(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """Return the JSON Schema of the values that a pydantic adapter serializes."""
    # Loaded when used: pydantic is optional, and slow to import.
    from mcp_gen.values import pydantic_types

    named, definitions = pydantic_types.schemas({"it": adapter}, "serialization", {})
    return _with_root(named["it"], definitions)


def schema_of_parameters(
    parameters: Sequence[Member], *, closed: bool = False, others: Member | None = None
) -> dict[str, Any]:
    """Return the JSON Schema of an object with one property per parameter.

    Args:
        parameters: The parameters.
        closed: The object has no other properties.
        others: Parameter that takes each of the other properties; None if none does.

    Raises:
        UsageError: A type is not JSON-serializable.
    """
    members = [*parameters, others] if others is not None else parameters
    made, definitions = _parameter_schemas(members)
    made_object: dict[str, Any] = {"type": "object"}
    if parameters:
        made_object["properties"] = {one.name: _property(one, made[one.name]) for one in parameters}
    required = [one.name for one in parameters if one.default is NO_DEFAULT]
    if required:
        made_object["required"] = required
    if others is not None and made[others.name]:
        made_object["additionalProperties"] = made[others.name]
    elif others is None and closed:
        made_object["additionalProperties"] = False
    if definitions:
        made_object["$defs"] = definitions
    return made_object


def _property(one: Member, made: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(made)
    if one.description and "description" not in schema:
        schema["description"] = one.description
    if one.default is not NO_DEFAULT and "default" not in schema:
        default = _default_as_json(one)
        if default is not UNSET:
            schema["default"] = default
    return schema


def _parameter_schemas(
    parameters: Sequence[Member],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the schema of each parameter by name, and the shared definitions."""
    plain = [one for one in parameters if one.adapter is None]
    schemas, definitions = _components(tuple(one.hint for one in plain), "validation")
    made = {one.name: schema for one, schema in zip(plain, schemas, strict=True)}
    adapters = {one.name: one.adapter for one in parameters if one.adapter is not None}
    if adapters:
        # Loaded when used: pydantic is optional, and slow to import.
        from mcp_gen.values import pydantic_types

        more, shared = pydantic_types.schemas(adapters, "validation", definitions)
        made |= more
        definitions = {**definitions, **shared}
    return made, definitions


def _components(
    kinds: tuple[Any, ...], mode: _Mode
) -> tuple[Sequence[dict[str, Any]], dict[str, Any]]:
    found = [_schema_without_definitions(kind) for kind in kinds]
    if None not in found:
        return [one for one in found if one is not None], {}
    models: dict[Any, dict[str, Any]] = {}
    shared: dict[str, Any] = {}

    def custom(kind: Any) -> dict[str, Any]:
        # Not empty: msgspec takes an empty schema for none.
        empty = {"title": kind.__name__}
        return dict(_PATH) if is_path_type(kind) else models.setdefault(kind, empty)

    try:
        schemas, definitions = _schemas_of(kinds, custom)
        if models:
            # Once more: only now it is known which names of definitions are taken.
            shared = _add_schemas_of_models(models, mode, definitions)
            schemas, definitions = _schemas_of(kinds, custom)
        if definitions:
            add_texts(kinds, definitions)
    except TypeError as error:
        raise UsageError(f"no JSON Schema for {kinds!r}: {error}") from None
    return schemas, {**definitions, **shared}


def _schemas_of(
    kinds: tuple[Any, ...], custom: Callable[[Any], dict[str, Any]]
) -> tuple[Sequence[dict[str, Any]], dict[str, Any]]:
    made = partial(msgspec.json.schema_components, schema_hook=custom, ref_template=_REFERENCE)
    try:
        return made(kinds)
    except TypeError:
        # Loaded when used: few classes have a path or a model as default.
        from mcp_gen.values.plain_defaults import with_plain_defaults

        return made([with_plain_defaults(kind) for kind in kinds])


def _add_schemas_of_models(
    models: dict[Any, dict[str, Any]], mode: _Mode, taken: Mapping[str, Any]
) -> dict[str, Any]:
    """Fill in the schema of each pydantic class; return the shared definitions."""
    # Loaded when used: pydantic is optional, and slow to import.
    from mcp_gen.values import pydantic_types

    adapters = {f"{i}": pydantic_types.adapter_of(kind) for i, kind in enumerate(models)}
    named, shared = pydantic_types.schemas(adapters, mode, taken)
    for schema, found in zip(models.values(), named.values(), strict=True):
        if found:
            schema.clear()
            schema.update(found)
    return shared


def _schema_without_definitions(kind: Any) -> dict[str, Any] | None:
    """Return the schema of a type that needs no definitions; None for others."""
    try:
        return _cached_schema(kind)
    except TypeError:
        return None  # not hashable, not supported by msgspec, or of pydantic


@lru_cache(maxsize=1024)
def _cached_schema(kind: Any) -> dict[str, Any] | None:
    # Cached: most parameters of most tools have one of a few types.
    (schema,), definitions = _schemas_of((kind,), _path_schema)
    return None if definitions else schema


def _path_schema(kind: Any) -> dict[str, Any]:
    if is_path_type(kind):
        return dict(_PATH)
    raise TypeError(kind)


def _default_as_json(one: Member) -> Any:
    if one.default is UNSET or find_non_finite(one.default) is not None:
        return UNSET
    try:
        if one.adapter is not None:
            return one.adapter.dump_python(one.default, mode="json", by_alias=True)
        return to_plain(one.default)
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
