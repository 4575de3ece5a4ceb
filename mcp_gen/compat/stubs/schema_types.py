"""Types of JSON Schemas: what Python can say of a schema; the rest is any JSON."""

from __future__ import annotations

import unicodedata
from typing import Any
from urllib.parse import unquote

from mcp_gen.compat.json_values import Json, is_array, is_object
from mcp_gen.compat.stubs.doc_text import doc_text
from mcp_wire.emitting.names import attributes, pascal
from mcp_wire.emitting.shapes import (
    Choice,
    Field,
    ListOf,
    MapOf,
    OneOf,
    Ref,
    Scalar,
    Struct,
    Type,
)

__all__ = ["ANY", "SchemaTypes", "is_nullable", "python_names"]

ANY = Scalar("any")
ANY_OBJECT = MapOf(ANY)
MAX_DEPTH = 32
"""Schemas that are nested more deeply are any JSON."""
MAX_STRUCTS = 2000
"""Maximum number of classes of a module; further objects are dictionaries."""
MAX_LITERAL_CHARS = 60
"""Longest text that is written as a literal value."""
MAX_NAME_CHARS = 50
"""Longest name of a class or attribute; a longer one is cut off."""

USED_NAMES = frozenset(
    {"Any", "Literal", "None", "bool", "dict", "field", "float", "int", "list", "str"}
)
"""Names that annotations and the generated code use for something else."""
SCALARS: dict[str, Type] = {
    "string": Scalar("str"),
    "integer": Scalar("int"),
    "number": Scalar("number"),
    "boolean": Scalar("bool"),
    "null": Scalar("null"),
    "array": ListOf(ANY),
    "object": ANY_OBJECT,
}


class SchemaTypes:
    """Types of the schemas of one server; the objects among them are structs.

    Args:
        taken: Names of classes that stand for something else; those of structs are added.
        unites_structs: True if a value may be of one of several structs: a decoder has to tell
            them apart.
    """

    def __init__(self, taken: set[str], *, unites_structs: bool) -> None:
        self.structs: list[Struct] = []
        self.docs: dict[tuple[str, str], str] = {}
        """Descriptions by the names of a struct and of an attribute; empty for the struct."""
        self._taken = taken
        self._unites_structs = unites_structs

    def of(self, schema: Any, path: str) -> Type:
        """Return the type of a schema.

        Args:
            schema: The whole schema, to which its references refer.
            path: Names of its place, joined by `/`, after which structs are named.
        """
        return _SchemaReading(self, schema, path, self._unites_structs).type(schema, path, 0)

    def of_properties(self, schema: Json, path: str) -> dict[str, Type]:
        """Return the types of the properties of an object that is only encoded.

        Args:
            schema: The whole schema.
            path: Names of its place, joined by `/`.
        """
        # Nothing has to tell classes apart that are not decoded.
        reading = _SchemaReading(self, schema, path, unites=True)
        properties = schema.get("properties")
        if not is_object(properties):
            return {}
        return {wire: reading.type(one, f"{path}/{wire}", 1) for wire, one in properties.items()}

    def name(self, path: str) -> str:
        """Return a new name of a class for a place."""
        wanted = name = _class_name(path)
        number = 1
        while name in self._taken:
            number += 1
            name = f"{wanted}{number}"
        self._taken.add(name)
        return name


def _class_name(path: str) -> str:
    """Return the name of a class for a place, as Python reads it: in its compatibility form."""
    made = unicodedata.normalize("NFKC", pascal(path))[:MAX_NAME_CHARS]
    made = "".join(filter(str.isalnum, made))
    return made if made.isidentifier() else "Type"


class _SchemaReading:
    """Reads one schema."""

    def __init__(self, types: SchemaTypes, root: Any, path: str, unites: bool) -> None:
        self._types = types
        self._root = root
        self._path = path
        self._unites = unites
        self._referred: dict[str, Type] = {}

    def type(self, schema: Any, path: str, depth: int) -> Type:
        """Return the type of a schema."""
        if not is_object(schema) or depth > MAX_DEPTH:
            return ANY
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._reference(reference, depth)
        if "const" in schema:
            return _choice([schema["const"]])
        if is_array(schema.get("enum")):
            return _choice(schema["enum"])
        for name in ("anyOf", "oneOf"):
            arms = schema.get(name)
            if is_array(arms) and arms:
                return self._union([self.type(one, path, depth + 1) for one in arms])
        parts = schema.get("allOf")
        if is_array(parts) and parts:
            return self._all_of(schema, parts, path, depth)
        kind = schema.get("type")
        if is_array(kind):
            return self._union([self._kind(schema, one, path, depth) for one in kind])
        return self._kind(schema, kind, path, depth)

    def _kind(self, schema: Json, kind: Any, path: str, depth: int) -> Type:
        if kind == "object" or (kind is None and is_object(schema.get("properties"))):
            return self._object(schema, path, depth)
        if kind == "array" and is_object(schema.get("items")):
            return ListOf(self.type(schema["items"], f"{path}/item", depth + 1))
        return SCALARS.get(kind, ANY) if isinstance(kind, str) else ANY

    def _object(self, schema: Json, path: str, depth: int) -> Type:
        properties = schema.get("properties")
        if not is_object(properties) or not properties:
            values = schema.get("additionalProperties")
            return MapOf(self.type(values, f"{path}/value", depth + 1)) if values else ANY_OBJECT
        if len(self._types.structs) >= MAX_STRUCTS or not all(map(_is_attribute, properties)):
            return ANY_OBJECT
        return self._struct(schema, properties, self._types.name(path), path, depth)

    def _struct(self, schema: Json, properties: Json, name: str, path: str, depth: int) -> Type:
        required = schema.get("required")
        needed = required if is_array(required) else []
        names = python_names(properties)
        place = len(self._types.structs)
        # Its place is before those of its members.
        self._types.structs.append(Struct(name, ()))
        self._types.docs[name, ""] = doc_text(_text(schema, "description"))
        fields: list[Field] = []
        for wire, one in properties.items():
            type_ = self.type(one, f"{path}/{wire}", depth + 1)
            fields.append(Field(wire, names[wire], type_, "refused" if wire in needed else "none"))
            self._types.docs[name, names[wire]] = described(one)
        self._types.structs[place] = Struct(name, tuple(fields))
        return Ref(name)

    def _reference(self, reference: str, depth: int) -> Type:
        found = self._referred.get(reference)
        if found is not None:
            return found
        target = _resolved(self._root, reference)
        if not is_object(target):
            return ANY
        path = f"{self._path}/{reference.rpartition('/')[2]}" if reference != "#" else self._path
        properties = target.get("properties")
        properties = properties if is_object(properties) else {}
        is_struct = bool(properties) and all(map(_is_attribute, properties))
        if is_struct and target.get("type", "object") == "object":
            # Known before it is read: it may refer to itself.
            name = self._types.name(path)
            self._referred[reference] = Ref(name)
            return self._struct(target, properties, name, path, depth + 1)
        self._referred[reference] = ANY
        found = self._referred[reference] = self.type(target, path, depth + 1)
        return found

    def _all_of(self, schema: Json, parts: list[Any], path: str, depth: int) -> Type:
        resolved = [self._whole(one) for one in [schema, *parts]]
        properties: Json = {}
        required: list[Any] = []
        for one in resolved:
            found, needed = one.get("properties"), one.get("required")
            properties |= found if is_object(found) else {}
            required += needed if is_array(needed) else []
        if properties:
            merged = {**schema, "properties": properties, "required": required}
            return self._object({k: v for k, v in merged.items() if k != "allOf"}, path, depth)
        return self.type(parts[0], path, depth + 1) if len(parts) == 1 else ANY

    def _whole(self, schema: Any) -> Json:
        reference = schema.get("$ref") if is_object(schema) else None
        target = _resolved(self._root, reference) if isinstance(reference, str) else schema
        return target if is_object(target) else {}

    def _union(self, arms: list[Type]) -> Type:
        """Return the union of types, in which a decoder can tell each from the others."""
        by_kind: dict[str, Type] = {}
        flat = [one for arm in arms for one in (arm.arms if isinstance(arm, OneOf) else (arm,))]
        if ANY in flat or not flat:
            return ANY
        for arm in dict.fromkeys(flat):
            kind = _kind_of(arm)
            known = by_kind.get(kind)
            by_kind[kind] = arm if known is None else self._united(kind, known, arm)
        made = tuple(one for arm in by_kind.values() for one in _arms(arm))
        return made[0] if len(made) == 1 else OneOf(made)

    def _united(self, kind: str, one: Type, other: Type) -> Type:
        if kind == "object":
            both = [*_arms(one), *_arms(other)]
            is_named = all(isinstance(arm, Ref) for arm in both)
            return OneOf(tuple(both)) if is_named and self._unites else ANY_OBJECT
        if kind == "array":
            return ListOf(ANY)
        if isinstance(one, Choice) and isinstance(other, Choice):
            return Choice(tuple(dict.fromkeys((*one.values, *other.values))))
        # A number is an integer, too; and any text is one of a few.
        return max(one, other, key=lambda arm: (isinstance(arm, Scalar), arm == Scalar("number")))


def described(schema: Any) -> str:
    """Return the description of a schema, with its default."""
    if not is_object(schema):
        return ""
    text = doc_text(_text(schema, "description"))
    default = schema.get("default")
    if isinstance(default, str | int | float | bool) and default != "":
        stop = "" if not text or text.endswith((".", "!", "?")) else "."
        shown = doc_text(str(default)[:MAX_LITERAL_CHARS]).rstrip(".")
        text = f"{text}{stop} Default: {shown}.".strip()
    return text


def is_nullable(type_: Type) -> bool:
    """Return True if null is a value of a type."""
    return type_ in (ANY, Scalar("null")) or (
        isinstance(type_, OneOf) and Scalar("null") in type_.arms
    )


def python_names(wires: Json | dict[str, Any]) -> dict[str, str]:
    """Return a name of Python for each property; all are different."""
    short = {wire: wire[:MAX_NAME_CHARS] for wire in wires}
    if len(set(short.values())) < len(short):
        short = {wire: wire for wire in wires}
    made = attributes(short.values(), USED_NAMES | {"session", "arguments"} | MODEL_NAMES)
    return {wire: made[short[wire]] for wire in wires}


MODEL_NAMES = frozenset(
    {
        "construct",
        "copy",
        "from_orm",
        "json",
        "parse_file",
        "parse_obj",
        "parse_raw",
        "register",
        "schema",
        "schema_json",
        "update_forward_refs",
        "validate",
    }
    | {
        f"model_{name}"
        for name in (
            "computed_fields",
            "config",
            "construct",
            "copy",
            "dump",
            "dump_json",
            "extra",
            "fields",
            "fields_set",
            "json_schema",
            "parametrized_name",
            "post_init",
            "rebuild",
            "validate",
            "validate_json",
            "validate_strings",
        )
    }
)
"""Names that pydantic models have for something else."""


def _is_attribute(wire: str) -> bool:
    """Return True if the value of a property can be an attribute of a class of msgspec."""
    return wire.isprintable() and '"' not in wire and "\\" not in wire


def _choice(values: list[Any]) -> Type:
    """Return the type of a few values: literals, if all of them are texts or numbers."""
    kinds: dict[str, Type] = {}
    for value in values:
        if isinstance(value, bool):
            kinds["bool"] = Scalar("bool")
        elif value is None:
            kinds["null"] = Scalar("null")
        elif isinstance(value, str):
            kinds["str"] = _with_literal(kinds.get("str"), value, Scalar("str"))
        elif isinstance(value, int) and abs(value) < 2**63:
            kinds["int"] = _with_literal(kinds.get("int"), value, Scalar("int"))
        elif isinstance(value, int | float):
            kinds["int"] = Scalar("number")
        else:
            return ANY
    made = tuple(kinds.values())
    return ANY if not made else made[0] if len(made) == 1 else OneOf(made)


def _with_literal(known: Type | None, value: str | int, whole: Scalar) -> Type:
    if known is not None and not isinstance(known, Choice):
        return known
    if isinstance(value, str) and len(value) > MAX_LITERAL_CHARS:
        return whole
    before = known.values if isinstance(known, Choice) else ()
    return Choice(tuple(dict.fromkeys((*before, value))))


def _kind_of(type_: Type) -> str:
    """Return the kind of JSON that the values of a type are."""
    match type_:
        case Scalar(name):
            return "number" if name in ("int", "number") else name
        case Choice(values):
            return "str" if isinstance(values[0], str) else "number"
        case ListOf():
            return "array"
        case MapOf() | Ref() | OneOf():
            return "object"


def _arms(type_: Type) -> tuple[Type, ...]:
    return type_.arms if isinstance(type_, OneOf) else (type_,)


def _resolved(root: Any, reference: str) -> Any:
    """Return what a reference within a schema refers to; None for anything else."""
    if not reference.startswith("#"):
        return None
    found = root
    for step in filter(None, unquote(reference[1:]).split("/")):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if is_object(found) else None
    return found


def _text(schema: Json, name: str) -> str:
    found = schema.get(name)
    return found if isinstance(found, str) else ""
