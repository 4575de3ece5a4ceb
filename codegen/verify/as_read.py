"""JSON Schema of the values that decoding accepts: the published one, with an overlay's rows.

Written apart from the normaliser, so that a mistake there is a difference here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeAlias
from urllib.parse import quote

import jsonschema_rs

from codegen.schema.json_values import is_array, is_object
from codegen.schema.keywords import ANNOTATIONS, BOUNDS
from codegen.verify.rows import LENT, Row, Rows

Schema: TypeAlias = dict[str, Any]

ANY_OBJECT: Schema = {"type": "object"}
_ADDRESS = "urn:schema"
_UNIONS = ("anyOf", "oneOf")


def container(document: Mapping[str, Any]) -> str:
    """Return the name of the member that holds the definitions."""
    return "$defs" if "$defs" in document else "definitions"


def complete(document: Schema, rows: Rows) -> Schema:
    """Return a copy of a document that says which constants its values have.

    The [[const]] rows are applied, and objects of [[closed]] rows have no unknown keys: values of
    such a document come back as they are.
    """
    made = copy.deepcopy(document)
    for name, schema in made[container(made)].items():
        _close(schema, name, rows)
        _fix(schema, name, rows)
    return made


def injected(document: Schema, rows: Rows) -> Schema:
    """Return a copy of a document that names the members of the [[inject]] rows, too."""
    made = copy.deepcopy(document)
    for name, schema in made[container(made)].items():
        _inject(schema, name, rows)
    return made


def _close(schema: Any, path: str, rows: Rows) -> None:
    if not is_object(schema):
        return
    if "properties" in schema and rows.match("closed", path):
        schema.pop("additionalProperties", None)
    for name, inner in schema.get("properties", {}).items():
        _close(inner, f"{path}/{name}", rows)
    for arm in schema.get("allOf", ()):
        _close(arm, path, rows)


def _fix(schema: Schema, name: str, rows: Rows) -> None:
    properties = schema.get("properties", {})
    for row in rows.kind("const"):
        applies = name in row["only"] if "only" in row else name not in row["but"]
        if applies and row["property"] in properties and not _says_itself(properties, row):
            properties[row["property"]] = {"const": row["value"], "type": "string"}


def _inject(schema: Schema, name: str, rows: Rows) -> None:
    params = schema.get("properties", {}).get("params", {})
    for row in rows.kind("inject"):
        if name.endswith(tuple(row["into"])) and params.get("type") == "object":
            params.setdefault("properties", {}).setdefault(row["property"], ANY_OBJECT)


def _says_itself(properties: Schema, row: Row) -> bool:
    return "const" in properties[row["property"]]


def patched(document: Schema, rows: Rows) -> Schema:
    """Return a copy of a document with the [[patch]] and [[alias]] rows applied, and no other."""
    made = copy.deepcopy(document)
    where = container(made)
    given: Schema = made[where]
    for row in rows.kind("patch"):
        _patch(given, row)
    for row in rows.kind("alias"):
        name, target = row["name"], row["target"]
        copied = given.get(name) == given.get(target)
        if name in given and (copied or LENT not in row):
            given[name] = {"$ref": f"#/{where}/{target}"}
    return made


def _patch(given: Schema, row: Row) -> None:
    *parents, last = row["pointer"].strip("/").split("/")
    target: Any = given
    try:
        for step in parents:
            target = target[_key(target, step)]
        if target[_key(target, last)] == row["old"]:
            target[_key(target, last)] = copy.deepcopy(row["new"])
    except (LookupError, TypeError, ValueError):
        return  # a row that a draft borrows; another would have stopped the generator


class AsRead:
    """Definitions of one revision as they are decoded, with each row of the overlay applied.

    `closed` refuses the keys that decoding does not keep.
    """

    def __init__(self, document: Schema, rows: Rows, *, closed: bool = False) -> None:
        self.document = patched(document, rows)
        self.container = container(document)
        self._rows = rows
        self._closed = closed
        self._given: Schema = self.document[self.container]
        self._unchecked = rows.names("unchecked")
        if rows.reads("bound"):
            self._unchecked |= {word for word in BOUNDS if word not in ANNOTATIONS}
        self._given = {name: self._fold(schema) for name, schema in self._given.items()}
        for name, schema in self._given.items():
            _fix(schema, name, rows)
            _inject(schema, name, rows)
        made = {name: self._schema(schema, name) for name, schema in self._given.items()}
        self.document[self.container] = made

    # --- rows that change a definition ---

    def _fold(self, schema: Any) -> Any:
        """Merge an `allOf` of objects into one, with all required members in one list."""
        if not is_object(schema):
            return schema
        if not is_array(schema.get("allOf")):
            members: Schema = schema.get("properties", {})
            folded = {wire: self._fold(member) for wire, member in members.items()}
            return {**schema, "properties": folded} if folded else schema
        own = {word: value for word, value in schema.items() if word != "allOf"}
        merged: Schema = {"type": "object", "properties": {}, "required": []}
        for arm in [*schema["allOf"], *([own] if own else [])]:
            found = self._fold(self._behind(arm))
            if not _is_open_object(found):
                return schema
            for wire, member in found.get("properties", {}).items():
                known = merged["properties"].get(wire, {})
                merged["properties"][wire] = copy.deepcopy(_both(known, member))
            merged["required"] += found.get("required", [])
        return merged

    def _behind(self, schema: Any) -> Any:
        while is_object(schema) and "$ref" in schema:
            schema = self._given[_name(schema)]
        return schema

    # --- one schema ---

    def _schema(self, schema: Any, path: str) -> Any:
        if self._rows.match("open", path):
            return ANY_OBJECT
        if not is_object(schema):
            return schema
        read = {word: value for word, value in schema.items() if word not in self._unchecked}
        parts = [self._schema(arm, path) for arm in schema.get("allOf", ())]
        parts += [self._union(read.pop(word), path) for word in _UNIONS if word in schema]
        if parts:
            read["allOf"] = parts
        if schema.get("properties"):
            read |= self._object(schema, path)
            if self._rows.match("closed", path):
                read.pop("additionalProperties", None)
            if self._closed and path not in self._rows.names("extra"):
                # One that is open in the schema is closed by a row alone.
                read.setdefault("additionalProperties", False)
        elif is_object(schema.get("additionalProperties")):
            read["additionalProperties"] = self._schema(
                schema["additionalProperties"], f"{path}/values"
            )
        if "items" in schema:
            read["items"] = self._schema(schema["items"], f"{path}/items")
        return read

    def _object(self, schema: Schema, path: str) -> Schema:
        required = list(dict.fromkeys(schema.get("required", ())))
        properties: Schema = {}
        for wire, member in schema["properties"].items():
            properties[wire] = self._schema(member, f"{path}/{wire}")
            if wire not in required:
                if self._rows.reads("null"):
                    properties[wire] = {"anyOf": [properties[wire], {"type": "null"}]}
            elif self._is_assumed(member, path, wire):
                required.remove(wire)
        return {"properties": properties, "required": required}

    def _is_assumed(self, member: Any, owner: str, wire: str) -> bool:
        """Return True if a row gives the meaning of an absent member."""
        lenient = {row["path"] for row in self._rows.kind("lenient")}
        constant = is_object(member) and "const" in member and self._rows.reads("constant")
        return constant or not lenient.isdisjoint({f"{owner}/{wire}", f"*/{wire}"})

    # --- unions ---

    def _union(self, arms: list[Any], path: str) -> Any:
        """Return a schema of the values that one of the arms reads.

        Also for `oneOf`, whose arms exclude each other as published: what is read more generously
        may fit two of them. If they do not, no row explains the difference, and it is told.
        """
        names = [_name(arm) for arm in arms if _is_ref(arm)]
        others = [
            self._schema(arm, f"{path}/{i}") for i, arm in enumerate(arms) if not _is_ref(arm)
        ]
        if len(names) < 2:
            return {"anyOf": [*(self._ref(name) for name in names), *others]}
        union = self._union_name(names, path)
        picks = [row for row in self._rows.kind("pick") if row["name"] == union]
        if picks:
            return self._picked(picks[0]["arms"])
        known = [*self._tagged(names), *others]
        if union in self._rows.names("unknown"):
            known.append(self._unknown(names))
        return {"anyOf": known}

    def _union_name(self, names: list[str], path: str) -> str:
        """Return the definition with these arms, or the name that a row gives the place."""
        for name, schema in self._given.items():
            arms = [arm for word in _UNIONS for arm in schema.get(word, ())]
            if all(map(_is_ref, arms)) and {_name(arm) for arm in arms} == set(names):
                return name
        for row in self._rows.kind("name"):
            if any(fnmatchcase(path, pattern) for pattern in row["paths"]):
                return str(row["name"])
        return path

    def _picked(self, arms: list[Any]) -> Any:
        """Return a schema of the first arm whose conditions hold, and no other."""
        read: Any = False
        for arm in reversed(arms):
            holds = {"allOf": [ANY_OBJECT, *map(_condition, arm["when"])]}
            read = {"if": holds, "then": self._ref(arm["type"]), "else": read}
        return read

    def _tagged(self, names: list[str]) -> list[Schema]:
        """Return the arms of a union with their tag required, unless a row assumes it."""
        wire = self._tag(names)
        default = [
            row["value"]
            for row in self._rows.kind("const")
            if row["property"] == wire and "but" in row
        ]
        return [
            self._ref(name)
            if wire is None or self._constant(name, wire) in default
            else {"allOf": [self._ref(name), {"required": [wire]}]}
            for name in names
        ]

    def _tag(self, names: list[str]) -> str | None:
        """Return the property that every arm requires, with another constant in each."""
        for wire in self._given[names[0]].get("properties", {}):
            values = [self._constant(name, wire) for name in names]
            if None not in values and len(set(values)) == len(names):
                required = (wire in self._given[name].get("required", ()) for name in names)
                return str(wire) if all(required) else None
        return None

    def _constant(self, name: str, wire: str) -> Any:
        member = self._given[name].get("properties", {}).get(wire, {})
        return member.get("const") if is_object(member) else None

    def _unknown(self, names: list[str]) -> Schema:
        wire = self._tag(names)
        if wire is None:
            return {"not": {}}
        known = [self._constant(name, wire) for name in names]
        kind = {"type": "string", "not": {"enum": known}}
        return {"type": "object", "properties": {wire: kind}, "required": [wire]}

    def _ref(self, name: str) -> Schema:
        return {"$ref": f"#/{self.container}/{name}"}


def assumed(document: Schema, rows: Rows) -> Iterator[tuple[str, Any, str]]:
    """Yield what encoding may add: key, value, and the kind of row that says so."""
    for row in rows.kind("lenient"):
        yield row["path"].rpartition("/")[2], row["value"], "lenient"
    for row in rows.kind("const"):
        yield row["property"], row["value"], "const"
    for wire, value in _constants(document):
        yield wire, value, "reads constant"


def _constants(schema: Any) -> Iterator[tuple[str, Any]]:
    if is_object(schema):
        for wire, member in schema.get("properties", {}).items():
            if is_object(member) and "const" in member:
                yield wire, member["const"]
        for inner in schema.values():
            yield from _constants(inner)
    elif is_array(schema):
        for inner in schema:
            yield from _constants(inner)


def _condition(one: str) -> Schema:
    key, _, wanted = one.partition("=")
    first, *deeper = key.split(".")
    if wanted:
        return {"required": [first], "properties": {first: {"const": wanted}}}
    inner = {"allOf": [ANY_OBJECT, _condition(".".join(deeper))]} if deeper else {}
    return {"required": [first], "properties": {first: inner}}


def _is_open_object(schema: Any) -> bool:
    """Return True if a schema says nothing but which members an object has."""
    words = {"type", "properties", "required", "additionalProperties"}
    return (
        is_object(schema)
        and schema.keys() <= words
        and schema.get("type", "object") == "object"
        and schema.get("additionalProperties", {}) in ({}, True)
    )


def _both(one: Any, other: Any) -> Any:
    """Return the schema of the values that two schemas accept, as one object where it can be."""
    if is_object(one) and is_object(other):
        alike = all(one[word] == other[word] for word in one.keys() & other.keys())
        if alike and not (one and other and {"$ref", "properties"} & (one.keys() ^ other.keys())):
            return {**one, **other}
    return {"allOf": [one, other]}


def _is_ref(schema: Any) -> bool:
    return is_object(schema) and "$ref" in schema


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _key(target: Any, step: str) -> Any:
    return int(step) if is_array(target) else step


class Validators:
    """Validators of the definitions of one document, compiled when first asked for."""

    def __init__(self, document: Schema, *, validate_formats: bool = True) -> None:
        self._registry = jsonschema_rs.Registry([(_ADDRESS, document)])
        self._head = {key: document[key] for key in ("$schema",) if key in document}
        self._container = container(document)
        self._validate_formats = validate_formats
        self._made: dict[str, jsonschema_rs.Validator] = {}

    def of(self, name: str) -> jsonschema_rs.Validator:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = jsonschema_rs.validator_for(
                {**self._head, "$ref": f"{_ADDRESS}#/{self._container}/{_escaped(name)}"},
                registry=self._registry,
                validate_formats=self._validate_formats,
            )
        return found


def _escaped(name: str) -> str:
    """Return a name as a step of a JSON pointer in an address."""
    return quote(name.replace("~", "~0").replace("/", "~1"))
