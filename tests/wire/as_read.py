"""JSON Schema of the values that decoding accepts: the published one, with the overlay's rows."""

from __future__ import annotations

import copy
import json
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, TypeAlias

import jsonschema_rs

from tests.wire.revisions import Kept

Schema: TypeAlias = dict[str, Any]

ANY_OBJECT: Schema = {"type": "object"}


class AsRead:
    """Definitions of one revision as they are decoded, with each row of the overlay applied."""

    def __init__(self, there: Kept, *, closed: bool) -> None:
        self.there = there
        self.closed = closed
        self.document: Schema = json.loads((there.folder / "schema.json").read_bytes())
        self.container = "$defs" if "$defs" in self.document else "definitions"
        self.given: Schema = self.document[self.container]
        self._patch()
        for row in there.rows("alias"):
            self.given[row["name"]] = self.ref(row["target"])
        self.given = {name: self._fold(schema) for name, schema in self.given.items()}
        for name, schema in self.given.items():
            self._fix(name, schema)
            self._inject(name, schema)
        made = {name: self._schema(schema, name) for name, schema in self.given.items()}
        self.document[self.container] = made

    def _patch(self) -> None:
        for row in self.there.rows("patch"):
            *parents, last = row["pointer"].strip("/").split("/")
            target: Any = self.given
            for step in parents:
                target = target[int(step) if isinstance(target, list) else step]
            target[last] = row["new"]

    def _fold(self, schema: Schema) -> Schema:
        """Merge an `allOf` into one object, with all required members in one list."""
        if "allOf" not in schema:
            members = schema.get("properties", {})
            folded = {wire: self._fold(member) for wire, member in members.items()}
            return {**schema, "properties": folded} if folded else schema
        merged: Schema = {"type": "object", "properties": {}, "required": []}
        for arm in [*schema["allOf"], {k: v for k, v in schema.items() if k != "allOf"}]:
            found = self._fold(self.given[_name(arm)] if "$ref" in arm else arm)
            merged["properties"] |= copy.deepcopy(found.get("properties", {}))
            merged["required"] += found.get("required", [])
        return merged

    def _fix(self, name: str, schema: Schema) -> None:
        for row in self.there.rows("const"):
            applies = name in row["only"] if "only" in row else name not in row["but"]
            if applies and row["property"] in schema.get("properties", {}):
                schema["properties"][row["property"]] = {"const": row["value"]}

    def _inject(self, name: str, schema: Schema) -> None:
        params = schema.get("properties", {}).get("params", {})
        for row in self.there.rows("inject"):
            if name.endswith(tuple(row["into"])) and params.get("type") == "object":
                params.setdefault("properties", {}).setdefault(row["property"], ANY_OBJECT)

    # --- one schema ---

    def _schema(self, schema: Schema, path: str) -> Schema:
        if self._matches("open", path):
            return ANY_OBJECT
        if "anyOf" in schema:
            return self._union(schema["anyOf"], path)
        unchecked = {word for row in self.there.rows("unchecked") for word in row["names"]}
        read = {word: value for word, value in schema.items() if word not in unchecked}
        if "properties" in schema:
            read |= self._object(schema, path)
            if self._matches("closed", path):
                read.pop("additionalProperties", None)
            if self.closed and path not in self.there.listed("extra"):
                read["additionalProperties"] = False
        elif isinstance(schema.get("additionalProperties"), dict):
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
                if self._reads("null"):
                    properties[wire] = {"anyOf": [properties[wire], {"type": "null"}]}
            elif self._assumed(member, f"{path}/{wire}"):
                required.remove(wire)
        return {"properties": properties, "required": required}

    def _assumed(self, member: Schema, path: str) -> bool:
        """Return True if a row gives the meaning of an absent member."""
        owner, _, wire = path.rpartition("/")
        lenient = {row["path"] for row in self.there.rows("lenient")}
        constant = "const" in member and self._reads("constant")
        return constant or not lenient.isdisjoint({f"{owner}/{wire}", f"*/{wire}"})

    # --- unions ---

    def _union(self, arms: list[Schema], path: str) -> Schema:
        names = [_name(arm) for arm in arms if "$ref" in arm]
        others = [
            self._schema(arm, f"{path}/{i}") for i, arm in enumerate(arms) if "$ref" not in arm
        ]
        if len(names) < 2:
            return {"anyOf": [*(self.ref(name) for name in names), *others]}
        union = self._union_name(names, path)
        picks = [row for row in self.there.rows("pick") if row["name"] == union]
        if picks:
            return self._picked(picks[0]["arms"])
        known = [*self._tagged(names), *others]
        if union in self.there.listed("unknown"):
            known.append(self._unknown(names))
        return {"anyOf": known}

    def _union_name(self, names: list[str], path: str) -> str:
        """Return the definition with these arms, or the name that a row gives the place."""
        for name, schema in self.given.items():
            arms = schema.get("anyOf", ())
            if all("$ref" in arm for arm in arms) and {_name(arm) for arm in arms} == set(names):
                return name
        rows = self.there.rows("name")
        return next(
            (r["name"] for r in rows if any(fnmatchcase(path, p) for p in r["paths"])), path
        )

    def _picked(self, arms: list[Any]) -> Any:
        """Return a schema of the first arm whose conditions hold, and no other."""
        read: Any = False
        for arm in reversed(arms):
            holds = {"allOf": [ANY_OBJECT, *map(_condition, arm["when"])]}
            read = {"if": holds, "then": self.ref(arm["type"]), "else": read}
        return read

    def _tagged(self, names: list[str]) -> list[Schema]:
        """Return the arms of a union with their tag required, unless a row assumes it."""
        wire = self._tag(names)
        default = [
            r["value"] for r in self.there.rows("const") if r["property"] == wire and "but" in r
        ]
        return [
            self.ref(name)
            if wire is None or self._constant(name, wire) in default
            else {"allOf": [self.ref(name), {"required": [wire]}]}
            for name in names
        ]

    def _tag(self, names: list[str]) -> str | None:
        for wire in self.given[names[0]].get("properties", {}):
            values = [self._constant(name, wire) for name in names]
            if None not in values and len(set(values)) == len(names):
                return str(wire)
        return None

    def _constant(self, name: str, wire: str) -> Any:
        return self.given[name].get("properties", {}).get(wire, {}).get("const")

    def _unknown(self, names: list[str]) -> Schema:
        wire = self._tag(names)
        assert wire is not None
        known = [self._constant(name, wire) for name in names]
        kind = {"type": "string", "not": {"enum": known}}
        return {"type": "object", "properties": {wire: kind}, "required": [wire]}

    # --- rows ---

    def _matches(self, kind: str, path: str) -> bool:
        patterns = [pattern for row in self.there.rows(kind) for pattern in row["paths"]]
        return any(fnmatchcase(path, pattern) for pattern in patterns)

    def _reads(self, rule: str) -> bool:
        return any(row["rule"] == rule for row in self.there.rows("reads"))

    def ref(self, name: str) -> Schema:
        return {"$ref": f"#/{self.container}/{name}"}


def _condition(one: str) -> Schema:
    key, _, wanted = one.partition("=")
    first, *deeper = key.split(".")
    if wanted:
        return {"required": [first], "properties": {first: {"const": wanted}}}
    inner = {"allOf": [ANY_OBJECT, _condition(".".join(deeper))]} if deeper else {}
    return {"required": [first], "properties": {first: inner}}


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


ADDRESS = "urn:schema"


class Validators:
    """Validators of the definitions of one document, which is read once for all of them."""

    def __init__(self, document: Schema, container: str, *, validate_formats: bool = False) -> None:
        self._registry = jsonschema_rs.Registry([(ADDRESS, document)])
        self._head = {key: document[key] for key in ("$schema",) if key in document}
        self._container = container
        self._validate_formats = validate_formats

    @cache  # noqa: B019 - there is one of these per document, for as long as the tests run
    def of(self, name: str) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for(
            {**self._head, "$ref": f"{ADDRESS}#/{self._container}/{name}"},
            registry=self._registry,
            validate_formats=self._validate_formats,
        )


@cache
def _as_read(there: Kept, closed: bool) -> Validators:
    made = AsRead(there, closed=closed)
    return Validators(made.document, made.container)


def as_read(there: Kept, name: str, *, closed: bool = False) -> jsonschema_rs.Validator:
    """Return a validator of the values that decoding accepts; `closed`: and keeps."""
    return _as_read(there, closed).of(name)


@cache
def _meant(there: Kept) -> Validators:
    return Validators({"$defs": there.definitions, "definitions": there.definitions}, "$defs")


def meant(there: Kept, name: str) -> jsonschema_rs.Validator:
    """Return a validator of complete results: with the [[const]] rows applied."""
    return _meant(there).of(name)


@cache
def _published(there: Kept) -> Validators:
    document = json.loads((there.folder / "schema.json").read_bytes())
    container = "$defs" if "$defs" in document else "definitions"
    return Validators(document, container, validate_formats=True)


def published(there: Kept, name: str) -> jsonschema_rs.Validator:
    """Return a validator of the specification."""
    return _published(there).of(name)
