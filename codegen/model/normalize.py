"""Normalises a schema: names every object and struct union, and applies the overlay.

Also where the overlay is applied: what comes out is what types are made from.
"""

import copy
import json
from dataclasses import dataclass
from typing import Any

from codegen.errors import CodegenError
from codegen.model.overlay import Overlay
from codegen.schema.load import Object, Source, is_array, is_object

REF = "#/$defs/"
ANYTHING: Object = {"type": "object", "additionalProperties": {}}

_BOUNDS = ("format", "maximum", "maxItems", "minItems", "minimum")


@dataclass(frozen=True)
class Normalized:
    """Definitions of one revision, each with its path in the published schema."""

    definitions: Object
    origins: dict[str, str]
    opened: dict[str, str]
    """For each place that an [[open]] row makes a map, the definition that describes it."""


def normalize(source: Source, overlay: Overlay) -> Normalized:
    """Return the normalised definitions of one revision.

    Raises:
        CodegenError: something without a name or a decision; the message says which row to add.
    """
    return _Normalizer(source, overlay).run()


class _Normalizer:
    def __init__(self, source: Source, overlay: Overlay) -> None:
        self._revision = source.revision
        self._overlay = overlay
        self._given: Object = _rebase(copy.deepcopy(source.definitions))
        self._made: Object = {}
        self._origin: dict[str, str] = {}
        self._opened: dict[str, str] = {}

    def run(self) -> Normalized:
        self._patch()
        self._alias()
        for name, schema in self._given.items():
            self._given[name] = self._fold(schema)
        for name, schema in self._given.items():
            self._fix_constants(name, schema)
            self._inject(name, schema)
        for name, schema in self._given.items():
            self._define(name, self._shape(schema, name, top=True), name)
        return Normalized(self._made, self._origin, self._opened)

    # --- the overlay's rows ---

    def _patch(self) -> None:
        for row in self._overlay.rows("patch", self._revision):
            *parents, last = row["pointer"].strip("/").split("/")
            target: Any = self._given
            try:
                for step in parents:
                    target = target[_key(target, step)]
                found = target[_key(target, last)]
            except (LookupError, TypeError, ValueError) as error:
                if row.passes_over(self._revision):
                    continue
                raise self._stop(
                    row["pointer"], f"{row} points at nothing here; correct or remove it"
                ) from error
            if found != row["old"]:
                if row.passes_over(self._revision):
                    continue
                raise self._stop(
                    row["pointer"],
                    f"{row} expects the old value {json.dumps(row['old'])}, "
                    f"found {json.dumps(found)}; check whether the patch is still wanted",
                )
            target[_key(target, last)] = row["new"]
            row.use("the row")

    def _alias(self) -> None:
        for row in self._overlay.rows("alias", self._revision):
            name, target = row["name"], row["target"]
            if name not in self._given:
                continue
            # A draft may have made it a type of its own, which a row for others must not undo.
            copied = self._given[name] == self._given.get(target)
            if not copied and row.passes_over(self._revision):
                continue
            row.use("the row")
            self._given[name] = {"$ref": REF + target}

    def _fix_constants(self, name: str, schema: Object) -> None:
        for row in self._overlay.rows("const", self._revision):
            only, but = row.values.get("only"), row.values.get("but", ())
            if (only is not None and name not in only) or name in but:
                continue
            known = schema.get("properties", {}).get(row["property"])
            # What says itself which value it has is an extension's, and has its own.
            if known is not None and "const" not in known:
                schema["properties"][row["property"]] = {"const": row["value"], "type": "string"}
                row.use("the row")

    def _inject(self, name: str, schema: Object) -> None:
        params = schema.get("properties", {}).get("params", {})
        if params.get("type") != "object" or "method" not in schema["properties"]:
            return
        for row in self._overlay.rows("inject", self._revision):
            if row["property"] not in params.get("properties", {}) and name.endswith(
                tuple(row["into"])
            ):
                params.setdefault("properties", {})[row["property"]] = copy.deepcopy(ANYTHING)
                row.use("the row")

    # --- structure ---

    def _fold(self, schema: Any) -> Any:
        """Merge every `allOf` into one object."""
        if is_array(schema):
            return [self._fold(item) for item in schema]
        if not is_object(schema):
            return schema
        folded = {key: self._fold(value) for key, value in schema.items()}
        arms = folded.pop("allOf", None)
        if not is_array(arms):  # a property that is called allOf is a schema, not a list
            return folded if arms is None else {**folded, "allOf": arms}
        merged: Object = {"type": "object", "properties": {}, "required": []}
        for arm in [*arms, folded]:
            while "$ref" in arm:
                arm = self._fold(self._given[_name(arm)])
            merged["properties"].update(arm.get("properties", {}))
            merged["required"] += [
                key for key in arm.get("required", ()) if key not in merged["required"]
            ]
        return merged

    def _shape(self, schema: Object, path: str, *, top: bool = False) -> Object:
        if self._overlay.match("open", self._revision, path):
            if "$ref" in schema:
                self._opened[path] = _name(schema)
            return copy.deepcopy(ANYTHING)
        for word in _BOUNDS:
            if word in schema and not self._overlay.names("unchecked", self._revision, word):
                raise self._stop(
                    path, f"decoding does not check `{word}`; say so with an [[unchecked]] row"
                )
        if "$ref" in schema:
            return schema
        if "anyOf" in schema:
            return self._union(schema, path, top=top)
        if schema.get("type") == "array":
            return {**schema, "items": self._shape(schema.get("items", {}), f"{path}/items")}
        if schema.get("type") != "object":
            return schema
        if not schema.get("properties"):
            values = schema.get("additionalProperties")
            shaped = self._shape(values, f"{path}/values") if is_object(values) else {}
            return {"type": "object", "additionalProperties": shaped}
        return self._object(schema, path, top=top)

    def _object(self, schema: Object, path: str, *, top: bool) -> Object:
        extras = schema.get("additionalProperties")
        if extras not in (None, False) and not self._overlay.match("closed", self._revision, path):
            raise self._stop(
                path,
                "an object with properties and additionalProperties; say with an [[open]] row "
                "that it stays a map, or with a [[closed]] row that unknown keys may be dropped",
            )
        properties = {
            name: self._shape(value, f"{path}/{name}")
            for name, value in schema["properties"].items()
        }
        required = [name for name in properties if name in schema.get("required", ())]
        shaped: Object = {"type": "object", "properties": properties, "required": required}
        return shaped if top else self._hoist(self._object_name(path), shaped, path)

    def _object_name(self, path: str) -> str:
        row = self._overlay.match("name", self._revision, path)
        if row:
            return str(row["name"])
        owner, _, last = path.rpartition("/")
        if last == "params" and owner.endswith(("Request", "Notification")):
            return f"{owner}Params"
        raise self._stop(path, "an object without a name; add a [[name]] row")

    def _union(self, schema: Object, path: str, *, top: bool) -> Object:
        arms = [self._shape(arm, f"{path}/{i}") for i, arm in enumerate(schema["anyOf"])]
        refs = [_name(arm) for arm in arms if "$ref" in arm]
        if top or len(refs) < 2:
            return {"anyOf": arms}
        others = [arm for arm in arms if "$ref" not in arm]
        name = self._named_union(refs)
        if name is None:
            row = self._overlay.match("name", self._revision, path)
            if row is None:
                raise self._stop(
                    path, f"a union of {', '.join(refs)} without a name; add a [[name]] row"
                )
            name = str(row["name"])
            self._hoist(name, {"anyOf": [{"$ref": REF + ref} for ref in refs]}, path)
        union: Object = {"$ref": REF + name}
        return {"anyOf": [union, *others]} if others else union

    def _named_union(self, refs: list[str]) -> str | None:
        """Return the definition that already names exactly these arms."""
        for name, schema in self._given.items():
            arms = schema.get("anyOf", [])
            if all("$ref" in arm for arm in arms) and {_name(arm) for arm in arms} == set(refs):
                return name
        return None

    def _hoist(self, name: str, schema: Object, path: str) -> Object:
        if name in self._given:
            raise self._stop(path, f"the name {name} is already a definition; choose another")
        self._define(name, schema, path)
        return {"$ref": REF + name}

    def _define(self, name: str, schema: Object, path: str) -> None:
        if name in self._made and self._made[name] != schema:
            raise self._stop(
                path,
                f"another shape has the name {name} already, at {self._origin[name]}; "
                "give each a [[name]] row of its own",
            )
        self._made.setdefault(name, schema)
        self._origin.setdefault(name, path)

    def _stop(self, path: str, what: str) -> CodegenError:
        return CodegenError(f"{self._revision}: {path}: {what}")


def _key(container: Any, step: str) -> Any:
    return int(step) if isinstance(container, list) else step


def _name(schema: Object) -> str:
    return str(schema["$ref"]).removeprefix(REF)


def _rebase(schema: Any) -> Any:
    """Point every `$ref` at one container, independent of the dialect."""
    if is_object(schema):
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return {**schema, "$ref": REF + ref.rpartition("/")[2]}
        return {key: _rebase(value) for key, value in schema.items()}
    return [_rebase(item) for item in schema] if is_array(schema) else schema
