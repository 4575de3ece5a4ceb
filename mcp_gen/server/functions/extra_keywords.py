"""Schemas of the keywords that authors add to their types, which no decoder checks.

`Meta(extra_json_schema={"uniqueItems": True})` of msgspec and `Field(json_schema_extra=...)` of
pydantic are published with the schema of a tool. Here they become a schema of their own.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.functions.schema_validation import CompiledSchema
from mcp_gen.values.json_overlap import ARRAYS, OBJECTS, STRINGS, is_named_tuple
from mcp_gen.values.json_types import (
    NotJsonType,
    json_reader_for,
    without_qualifiers,
)

__all__ = ["extra_of_parameters", "extra_of_type"]

Schema: TypeAlias = "dict[str, Any]"

_ANNOTATIONS = frozenset(
    {
        "$comment",
        "$id",
        "$schema",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "deprecated",
        "description",
        "discriminator",
        "example",
        "examples",
        "format",
        "readOnly",
        "title",
        "writeOnly",
    }
)
"""Keywords that say nothing about which values are valid, as those that begin with `x-`."""
_PLAIN_TYPES: Mapping[Any, str] = {
    None: "null",
    type(None): "null",
    bool: "boolean",
    float: "number",
    int: "integer",
}


def extra_of_parameters(hints: Mapping[str, Any], what: str) -> CompiledSchema | None:
    """Return the compiled schema of what the authors of parameter types have added.

    Args:
        hints: The annotations by parameter name.
        what: Beginning of each error message.

    Returns:
        The schema of an object; None if nothing was added that restricts values.

    Raises:
        UsageError: What was added is no valid JSON Schema, or refers to a definition.
    """
    finder = _Finder(what)
    return finder.compiled(_properties(finder.members(hints.items())))


def extra_of_type(hint: Any, what: str) -> CompiledSchema | None:
    """Return the compiled schema of what the authors of a result type have added.

    Args:
        hint: The annotation.
        what: Beginning of each error message.

    Raises:
        UsageError: As for `extra_of_parameters`.
    """
    finder = _Finder(what, serialized=True)
    return finder.compiled(finder.schema(hint))


class _Finder:
    """Builds the schema of the added keywords, at the places where the types are.

    Args:
        what: Beginning of each error message.
        serialized: Pydantic models are written, not read: their fields have other names.
    """

    def __init__(self, what: str, *, serialized: bool = False) -> None:
        self._what = f"{what}: extra keywords"
        self._serialized = serialized
        self.has_any = False
        """True if an added keyword restricts values."""
        self._definitions: dict[str, Schema] = {}
        self._names: dict[Any, str] = {}

    def compiled(self, schema: Schema | None) -> CompiledSchema | None:
        """Return the compiled schema, with its definitions; None if nothing was added.

        Raises:
            UsageError: What was added is no valid JSON Schema.
        """
        if schema is None or not self.has_any:
            return None
        whole = {**schema, "$defs": self._definitions} if self._definitions else schema
        made = CompiledSchema(whole, self._what)
        made.check_schema()
        return made

    def schema(self, hint: Any, given: Iterable[Any] = ()) -> Schema | None:
        """Return the added keywords of a type, at any depth; None if there are none.

        Args:
            hint: The annotation.
            given: Metadata of the type beside that in the annotation.
        """
        own = self._restrictions(given)
        while True:
            if get_origin(hint) is Annotated:
                own = {**self._restrictions(hint.__metadata__), **own}
                hint = hint.__origin__
            elif isinstance(hint, NewType):
                hint = hint.__supertype__
            elif type(hint).__name__ == "TypeAliasType":
                hint = hint.__value__
            else:
                break
        inner = self._inside(hint) if _has_extra(hint) else None
        if not own or inner is None:
            return own or inner
        return {"allOf": [inner, own]}

    def _restrictions(self, given: Iterable[Any]) -> Schema:
        """Return the added keywords that restrict values.

        Raises:
            UsageError: They refer to a definition, which is elsewhere here.
        """
        found: Schema = {}
        for one in given:
            extra: Any = getattr(one, "extra_json_schema", None)
            extra = getattr(one, "json_schema_extra", None) if extra is None else extra
            if isinstance(extra, Mapping):
                members = cast("Mapping[str, Any]", extra)
                found |= {key: value for key, value in members.items() if _restricts(key)}
        if b'"$ref":' in msgspec.json.encode(found):
            raise UsageError(f"{self._what}: they cannot have a `$ref`: write what it refers to")
        self.has_any = self.has_any or bool(found)
        return found

    def members(self, hints: Iterable[tuple[str, Any]]) -> dict[str, Schema]:
        """Return the added keywords of members by name, without those that have none."""
        found = ((name, self.schema(hint)) for name, hint in hints)
        return {name: schema for name, schema in found if schema is not None}

    def _inside(self, hint: Any) -> Schema | None:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Union or origin is UnionType:
            return self._union(arguments)
        if origin in ARRAYS:
            return self._array(origin, arguments)
        if origin in OBJECTS:
            key, value = map(self.schema, arguments)
            found = {"propertyNames": key, "additionalProperties": value}
            return {name: one for name, one in found.items() if one is not None} or None
        kind = origin or hint
        return self._class(kind) if isinstance(kind, type) else None

    def _union(self, arms: Iterable[Any]) -> Schema | None:
        """Return what holds for each kind of JSON value that an arm stands for."""
        by_guard: dict[bytes, tuple[Schema, list[Schema | None]]] = {}
        for arm in arms:
            guard = _guard(arm)
            key = msgspec.json.encode(guard, order="sorted")
            by_guard.setdefault(key, (guard, []))[1].append(self.schema(arm))
        rules = [
            {"if": guard, "then": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}
            for guard, schemas in by_guard.values()
            if None not in schemas  # else any value will do
        ]
        return {"allOf": rules} if rules else None

    def _array(self, origin: Any, arguments: tuple[Any, ...]) -> Schema | None:
        if origin is tuple and arguments[-1:] != (...,):
            return self._positions(arguments, 0)
        item = self.schema(arguments[0]) if arguments else None
        return None if item is None else {"items": item}

    def _positions(self, hints: Iterable[Any], before: int) -> Schema | None:
        items = [*[None] * before, *map(self.schema, hints)]
        if all(one is None for one in items):
            return None
        return {"prefixItems": [{} if one is None else one for one in items]}

    def _class(self, kind: type[Any]) -> Schema | None:
        # By reference: a class may refer to itself.
        name = self._names.get(kind)
        if name is None:
            name = self._names[kind] = f"{kind.__name__}-{len(self._names)}"
            self._definitions[name] = {}
            self._definitions[name] = self._fields(kind) or {}
        return {"$ref": f"#/$defs/{name}"}

    def _fields(self, kind: type[Any]) -> Schema | None:
        if issubclass(kind, Struct):
            return self._struct(kind)
        model: dict[str, Any] | None = getattr(kind, "model_fields", None)
        if model is not None:
            return self._model(kind, model)
        hints = get_type_hints(kind, include_extras=True)
        if is_named_tuple(kind):
            names: tuple[str, ...] = getattr(kind, "_fields", ())
            return self._positions((hints[name] for name in names), 0)
        if not is_typeddict(kind):
            attributes: Any = getattr(kind, "__attrs_attrs__", ())
            declared = {*getattr(kind, "__dataclass_fields__", ()), *(a.name for a in attributes)}
            hints = {name: hint for name, hint in hints.items() if name in declared}
        plain = ((name, without_qualifiers(hint)) for name, hint in hints.items())
        return _properties(self.members(plain))

    def _struct(self, kind: type[Struct]) -> Schema | None:
        fields, config = msgspec.structs.fields(kind), kind.__struct_config__
        if config.array_like:
            return self._positions((one.type for one in fields), int(config.tag is not None))
        return _properties(self.members((one.encode_name, one.type) for one in fields))

    def _model(self, kind: Any, fields: Mapping[str, Any]) -> Schema | None:
        found: dict[str, Schema] = {}
        for name, field in fields.items():
            schema = self.schema(field.annotation, (*field.metadata, field))
            for alias in self._aliases(kind, name, field) if schema is not None else ():
                found[alias] = cast("Schema", schema)
        own = self._restrictions([_Config(kind.model_config.get("json_schema_extra"))])
        properties = _properties(found)
        if not own or properties is None:
            return own or properties
        return {"allOf": [properties, own]}

    def _aliases(self, kind: Any, name: str, field: Any) -> Iterator[str]:
        """Yield the names of a pydantic field in JSON."""
        alias = field.serialization_alias if self._serialized else field.validation_alias
        alias = alias or field.alias
        if isinstance(alias, str):
            yield alias
        config = kind.model_config
        if alias is None or config.get("populate_by_name") or config.get("validate_by_name"):
            yield name


class _Config:
    """The keywords that a model adds to itself, in the shape of metadata."""

    def __init__(self, extra: Any) -> None:
        self.json_schema_extra = extra


def _restricts(keyword: str) -> bool:
    return keyword not in _ANNOTATIONS and not keyword.startswith("x-")


def _has_extra(hint: Any) -> bool:
    try:
        return json_reader_for(hint).has_extra
    except NotJsonType:
        return True  # a type that pydantic knows, and this package does not


def _properties(found: dict[str, Schema]) -> Schema | None:
    return {"properties": found} if found else None


def _guard(arm: Any) -> Schema:
    """Return a schema of the JSON values that an arm of a union may stand for."""
    while get_origin(arm) is Annotated:
        arm = arm.__origin__
    kind = get_origin(arm) or arm
    if kind is Literal:
        return {"enum": list(get_args(arm))}
    if kind in _PLAIN_TYPES:
        return {"type": _PLAIN_TYPES[kind]}
    if kind in STRINGS:
        return {"type": "string"}
    if kind in ARRAYS:
        return {"type": "array"}
    if kind in OBJECTS:
        return {"type": "object"}
    return _guard_of_class(cast("type[Any]", kind)) if isinstance(kind, type) else {}


def _guard_of_class(kind: type[Any]) -> Schema:
    if issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if is_named_tuple(kind):
        return {"type": "array"}
    return _guard_of_struct(kind) if issubclass(kind, Struct) else {"type": "object"}


def _guard_of_struct(kind: type[Struct]) -> Schema:
    config = kind.__struct_config__
    if config.tag is None or config.tag_field is None:
        return {"type": "array" if config.array_like else "object"}
    tag = {"const": config.tag}
    if config.array_like:
        return {"type": "array", "prefixItems": [tag]}
    named = {config.tag_field: tag}
    return {"type": "object", "properties": named, "required": [config.tag_field]}
