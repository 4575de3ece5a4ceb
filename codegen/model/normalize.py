"""Normalises a schema: names every object and struct union, and applies the overlay.

Also where the overlay is applied: what comes out is what types are made from. Every construct
comes out with exactly its meaning, or stops; all stops of a schema are collected.
"""

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from codegen.errors import Stop, Stopped
from codegen.model.fold import Folder, plain, values_of
from codegen.model.names import names_class, pascal
from codegen.model.overlay import Overlay
from codegen.model.rows import pattern, row
from codegen.model.values import listed
from codegen.model.vocabulary import ANYTHING, AT, REF, pointer_of, read_definitions
from codegen.schema.keywords import BOUNDS, KEYWORDS, SCALARS, escape
from codegen.schema.load import Object, Source, is_array, is_object

_REFERENCE = re.compile(r"#/(?:\$defs|definitions)/([^/]+)")
_NOT_IN_KEYS = re.compile(r'["\\\x00-\x1f]')
_OF_ONE_TYPE = ("properties", "required", "additionalProperties", "items")


@dataclass(frozen=True)
class Normalized:
    """Definitions of one revision, each with its path in the published schema."""

    definitions: Object
    origins: dict[str, str]
    pointers: dict[str, str] = field(default_factory=dict[str, str])
    """JSON pointer of each into the published schema."""


def normalize(source: Source, overlay: Overlay) -> Normalized:
    """Return the normalised definitions of one revision.

    What stops is added to `source.stops`, and its place holds anything. Whoever uses the result
    checks them, after building the model: that finds more.
    """
    return _Normalizer(source, overlay).run()


class _Normalizer:
    def __init__(self, source: Source, overlay: Overlay) -> None:
        self._source = source
        self._revision = source.revision
        self._overlay = overlay
        self._stops = source.stops
        self._given: Object = _rebase(copy.deepcopy(source.definitions))
        self._folder = Folder(self._revision, {})
        self._made: Object = {}
        self._origin: dict[str, str] = {}
        self._pointers: dict[str, str] = {}
        self._unions: dict[frozenset[str], str] = {}
        self._before: dict[str, str] = {}

    def run(self) -> Normalized:
        self._patch()
        self._alias()
        self._given = read_definitions(self._source, self._given, self._overlay)
        self._folder = Folder(self._revision, self._given)
        self._fold()
        for name, schema in self._given.items():
            self._fix_constants(name, schema)
            self._inject(name, schema)
        self._folder = Folder(self._revision, self._given)
        names = self._names()
        self._name_unions(names)
        for name, schema in self._given.items():
            shaped = self._shape(_renamed(schema, names), name, top=True)
            with self._stops.collected():
                self._define(names[name], shaped, name, pointer_of(schema, "#"))
        return Normalized(self._made, self._origin, self._pointers)

    # --- the overlay's rows ---

    def _patch(self) -> None:
        for row_ in self._overlay.rows("patch", self._revision):
            with self._stops.collected():
                *parents, last = row_["pointer"].strip("/").split("/")
                target: Any = self._given
                try:
                    for step in parents:
                        target = target[_key(target, step)]
                    found = target[_key(target, last)]
                except (LookupError, TypeError, ValueError):
                    if row_.passes_over(self._revision):
                        continue
                    raise self._row_stop(
                        row_["pointer"], f"{row_} points at nothing here", "correct or remove it"
                    ) from None
                if found != row_["old"]:
                    if row_.passes_over(self._revision):
                        continue
                    raise self._row_stop(
                        row_["pointer"],
                        f"{row_} expects the old value {json.dumps(row_['old'])}, "
                        f"found {json.dumps(found)}",
                        "check whether the patch is still wanted",
                    )
                target[_key(target, last)] = row_["new"]
                row_.use("the row")

    def _alias(self) -> None:
        for row_ in self._overlay.rows("alias", self._revision):
            name, target = row_["name"], row_["target"]
            if name not in self._given:
                continue
            # A draft may have made it a type of its own, which a row for others must not undo.
            copied = self._given[name] == self._given.get(target)
            if not copied and row_.passes_over(self._revision):
                continue
            row_.use("the row")
            self._given[name] = {"$ref": REF + target}

    def _fold(self) -> None:
        folded: Object = {}
        for name, schema in self._given.items():
            folded[name] = {AT: schema[AT]}
            with self._stops.collected():
                # Copied: rows change definitions, and a folded one shares parts with others.
                folded[name] = copy.deepcopy(self._folder.definition(name))
        self._given = folded

    def _fix_constants(self, name: str, schema: Object) -> None:
        for row_ in self._overlay.rows("const", self._revision):
            only, but = row_.values.get("only"), row_.values.get("but", ())
            if (only is not None and name not in only) or name in but:
                continue
            known = schema.get("properties", {}).get(row_["property"])
            # What says itself which value it has is an extension's, and has its own.
            if known is not None and "const" not in known:
                schema["properties"][row_["property"]] = {"const": row_["value"], "type": "string"}
                row_.use("the row")

    def _inject(self, name: str, schema: Object) -> None:
        params = schema.get("properties", {}).get("params", {})
        if params.get("type") != "object" or "method" not in schema["properties"]:
            return
        for row_ in self._overlay.rows("inject", self._revision):
            if row_["property"] not in params.get("properties", {}) and name.endswith(
                tuple(row_["into"])
            ):
                params.setdefault("properties", {})[row_["property"]] = copy.deepcopy(ANYTHING)
                row_.use("the row")

    # --- names ---

    def _names(self) -> dict[str, str]:
        """Return the name of the class of each definition."""
        names: dict[str, str] = {}
        for name, schema in self._given.items():
            row_ = self._overlay.match("name", self._revision, name)
            wanted = str(row_["name"]) if row_ else name
            with self._stops.collected():
                self._check_name(wanted, name, pointer_of(schema, "#"))
            names[name] = wanted
        for name, wanted in names.items():
            if wanted != name and [*names.values()].count(wanted) > 1:
                with self._stops.collected():
                    raise self._stop(
                        pointer_of(self._given[name], "#"),
                        f"the name {wanted} is already a definition",
                        "choose another",
                    )
                names[name] = name
        return names

    def _check_name(self, name: str, path: str, pointer: str) -> None:
        if not names_class(name):
            suggested = pascal(name)
            raise self._stop(
                pointer,
                f"`{name}` cannot be the name of a class in the generated modules",
                "add a [[name]] row",
                self._name_row(path, suggested if names_class(suggested) else f"{suggested}Type"),
            )

    def _name_row(self, path: str, name: str) -> str:
        return row("name", {"paths": [pattern(path)], "name": name}, self._revision)

    # --- structure ---

    def _shape(self, schema: Object, path: str, *, top: bool = False) -> Object:
        """Return a schema in the form that types are made from; anything, if it stops."""
        try:
            return self._shaped(schema, path, top=top)
        except Stopped as stopped:
            self._stops.add(stopped.stops)
            return {}

    def _shaped(self, schema: Object, path: str, *, top: bool) -> Object:
        if self._overlay.match("open", self._revision, path):
            return copy.deepcopy(ANYTHING)
        if "$ref" in schema:
            return {"$ref": schema["$ref"]}
        union = next((word for word in ("anyOf", "oneOf") if word in schema), None)
        if union:
            return self._union(schema, union, path, top=top)
        if values_of(schema) is not None:
            return self._values(schema)
        kinds = schema.get("type")
        if is_array(kinds):
            return self._several(schema, [*dict.fromkeys(kinds)], path, top=top)
        bounds = self._bounds(schema, kinds)
        for word in _OF_ONE_TYPE:
            if word in schema and kinds is None:
                (kind,) = KEYWORDS[word].kinds
                raise self._patch_stop(
                    schema,
                    path,
                    f"`{word}` without a `type`, so that anything but an {kind} is valid",
                    {**plain(schema), "type": kind},
                )
        if kinds == "array":
            items = self._shape(schema.get("items", {}), f"{path}/items")
            return {"type": "array", "items": items, **bounds}
        if kinds == "object":
            return self._object(schema, bounds, path, top=top)
        return {**({"type": kinds} if kinds else {}), **bounds}

    def _bounds(self, schema: Object, kind: str | None) -> Object:
        """Return the bounds of a schema that say something about its type."""
        found = {
            word: schema[word]
            for word in BOUNDS
            if word in schema and (kind is None or kind in KEYWORDS[word].kinds)
        }
        for word in found:
            if not self._overlay.names("unchecked", self._revision, word):
                self._stops.add(
                    [
                        Stop(
                            self._revision,
                            pointer_of(schema, "#"),
                            f"decoding does not check `{word}`",
                            "say so with an [[unchecked]] row",
                            row("unchecked", {"names": [word]}),
                        )
                    ]
                )
        return found

    def _values(self, schema: Object) -> Object:
        try:
            return listed(schema)
        except ValueError as error:
            word = "const" if "const" in schema else "enum"
            raise self._stop(
                pointer_of(schema, "#"), f"`{word}` with {error}", "change it with a [[patch]] row"
            ) from error

    def _several(self, schema: Object, kinds: list[str], path: str, *, top: bool) -> Object:
        """Shape a list of types: each arm has the keywords that speak of it."""
        if "number" in kinds:
            kinds = [kind for kind in kinds if kind != "integer"]
        arms = [
            {word: one for word, one in schema.items() if _speaks(word, kind)} | {"type": kind}
            for kind in kinds
        ]
        if len(arms) == 1:
            return self._shape(arms[0], path, top=top)
        if all(set(arm) <= {"type", AT} and arm["type"] in SCALARS for arm in arms):
            return {"type": kinds}
        # The object of a definition is another one, and needs a path of its own.
        paths = [f"{path}/{kind}" if top else path for kind in kinds]
        return {"anyOf": [self._shape(arm, at) for arm, at in zip(arms, paths, strict=True)]}

    def _object(self, schema: Object, bounds: Object, path: str, *, top: bool) -> Object:
        extras = schema.get("additionalProperties")
        properties: Object = dict(schema.get("properties", {}))
        required: list[str] = schema.get("required", [])
        for wire in required:
            if wire not in properties and extras is False:
                raise self._patch_stop(
                    schema,
                    path,
                    f"`{wire}` is required and not allowed",
                    {**plain(schema), "required": [one for one in required if one != wire]},
                )
            properties.setdefault(wire, extras if is_object(extras) else {})
        if not properties and extras is not False:
            values = extras if is_object(extras) else {}
            return {
                "type": "object",
                "additionalProperties": self._shape(values, f"{path}/values"),
                **bounds,
            }
        if is_object(extras) and not self._overlay.match("closed", self._revision, path):
            named = {"paths": [pattern(path)]}
            raise self._stop(
                pointer_of(schema, "#"),
                "an object with properties and additionalProperties",
                "say with an [[open]] row that it stays a map, or with a [[closed]] row that "
                "unknown keys may be dropped",
                row("open", named, self._revision),
            )
        self._check_keys(properties, pointer_of(schema, "#"))
        shaped: Object = {
            "type": "object",
            "properties": {
                name: self._shape(value, f"{path}/{name}") for name, value in properties.items()
            },
            "required": [name for name in properties if name in required],
            **bounds,
        }
        if extras is False:
            shaped["additionalProperties"] = False
        if top:
            return shaped
        pointer = pointer_of(schema, "#")
        return self._hoist(self._object_name(path, pointer), shaped, path, pointer)

    def _check_keys(self, properties: Object, pointer: str) -> None:
        for wire in properties:
            if _NOT_IN_KEYS.search(wire):
                raise self._stop(
                    f"{pointer}/properties/{escape(wire)}",
                    "a key with a quote, a backslash or a control character, which msgspec refuses",
                    "leave it out with a [[patch]] row",
                )

    def _object_name(self, path: str, pointer: str) -> str:
        row_ = self._overlay.match("name", self._revision, path)
        if row_:
            name = str(row_["name"])
            self._check_name(name, path, pointer)
            return name
        owner, _, last = path.rpartition("/")
        if last == "params" and owner.endswith(("Request", "Notification")):
            return f"{owner}Params"
        name = pascal(path)
        self._stops.add(
            [
                Stop(
                    self._revision,
                    pointer,
                    "an object without a name",
                    "add a [[name]] row",
                    self._name_row(path, name),
                )
            ]
        )
        return name

    # --- unions ---

    def _union(self, schema: Object, word: str, path: str, *, top: bool) -> Object:
        if word == "oneOf":
            self._check_disjoint(schema, path)
        if "discriminator" in schema:
            self._check_discriminator(schema, word)
        arms = list(_flat(self._shape(arm, f"{path}/{i}") for i, arm in enumerate(schema[word])))
        arms = [arm for i, arm in enumerate(arms) if arm not in arms[:i]]
        if not all(arms):  # one that holds anything: so does the union
            return {}
        if len(arms) == 1:
            return arms[0]
        refs = [_name(arm) for arm in arms if "$ref" in arm]
        if top or len(refs) < 2:
            return {"anyOf": arms}
        others = [arm for arm in arms if "$ref" not in arm]
        name = self._unions.get(frozenset(refs))
        if name is None:
            name = self._union_name(refs, path, pointer_of(schema, "#"))
            union = {"anyOf": [{"$ref": REF + ref} for ref in refs]}
            self._hoist(name, union, path, pointer_of(schema, "#"))
        named: Object = {"$ref": REF + name}
        return {"anyOf": [named, *others]} if others else named

    def _check_disjoint(self, schema: Object, path: str) -> None:
        for (i, one), (j, other) in combinations(enumerate(schema["oneOf"]), 2):
            # In the folder's names: those of the file.
            if not self._folder.disjoint(self._original(one), self._original(other)):
                raise self._patch_stop(
                    schema,
                    path,
                    f"`oneOf` whose arms {i} and {j} may hold at once",
                    {"anyOf": plain(schema["oneOf"])},
                )

    def _check_discriminator(self, schema: Object, word: str) -> None:
        wire = schema["discriminator"]["propertyName"]
        mapping: Object = schema["discriminator"].get("mapping", {})
        for i, arm in enumerate(schema[word]):
            whole = self._folder.resolve(self._original(arm))
            values = values_of(whole.get("properties", {}).get(wire, {})) or []
            wanted = [one for one, target in mapping.items() if _is_target(arm, str(target))]
            if len(values) != 1 or wire not in whole.get("required", ()) or wanted not in (
                [],
                values,
            ):
                raise self._stop(
                    pointer_of(schema, "#"),
                    f"a `discriminator` `{wire}` that arm {i} does not have as a required constant",
                    "give it one with a [[patch]] row",
                )

    def _name_unions(self, names: dict[str, str]) -> None:
        """Find the definitions that name a union of definitions alone, by those."""
        for name, schema in self._given.items():
            arms = schema.get("anyOf") or schema.get("oneOf") or []
            if arms and all("$ref" in arm for arm in arms):
                refs = frozenset(names[_name(arm)] for arm in arms)
                self._unions.setdefault(refs, names[name])
        self._before = {new: old for old, new in names.items()}

    def _original(self, schema: Object) -> Object:
        return _renamed(schema, self._before)

    def _union_name(self, refs: list[str], path: str, pointer: str) -> str:
        row_ = self._overlay.match("name", self._revision, path)
        if row_:
            name = str(row_["name"])
            self._check_name(name, path, pointer)
            return name
        name = pascal(path)
        self._stops.add(
            [
                Stop(
                    self._revision,
                    pointer,
                    f"a union of {', '.join(refs)} without a name",
                    "add a [[name]] row",
                    self._name_row(path, name),
                )
            ]
        )
        return name

    # --- definitions ---

    def _hoist(self, name: str, schema: Object, path: str, pointer: str) -> Object:
        if name in self._before:
            raise self._stop(
                pointer, f"the name {name} is already a definition", "choose another"
            )
        self._define(name, schema, path, pointer)
        return {"$ref": REF + name}

    def _define(self, name: str, schema: Object, path: str, pointer: str) -> None:
        if name in self._made and self._made[name] != schema:
            raise self._stop(
                pointer,
                f"another shape has the name {name} already, at {self._origin[name]}",
                "give each a [[name]] row of its own",
                self._name_row(path, pascal(path)),
            )
        self._made.setdefault(name, schema)
        self._origin.setdefault(name, path)
        self._pointers.setdefault(name, pointer)

    def _stop(self, pointer: str, construct: str, advice: str, row_: str = "") -> Stopped:
        return Stopped(Stop(self._revision, pointer, construct, advice, row_))

    def _row_stop(self, pointer: str, construct: str, advice: str) -> Stopped:
        return self._stop(f"#/{self._source.container}{pointer}", construct, advice)

    def _patch_stop(self, schema: Object, path: str, construct: str, new: Object) -> Stopped:
        """Return a stop that a [[patch]] row may end, with the row if the file has the schema."""
        pointer = pointer_of(schema, "#")
        values = {
            "pointer": pointer.removeprefix(f"#/{self._source.container}"),
            "old": plain(schema),
            "new": new,
        }
        return self._stop(
            pointer,
            construct,
            "say what is meant with a [[patch]] row",
            row("patch", values, self._revision),
        )


def _speaks(word: str, kind: str) -> bool:
    """Return True if a keyword says something about values of a type."""
    return word == AT or (word != "type" and kind in KEYWORDS[word].kinds)


def _flat(arms: Iterator[Object]) -> Iterator[Object]:
    for arm in arms:
        if set(arm) == {"anyOf"}:
            yield from arm["anyOf"]
        else:
            yield arm


def _is_target(arm: Object, target: str) -> bool:
    return _name(arm) == target.rpartition("/")[2] if "$ref" in arm else False


def _key(container: Any, step: str) -> Any:
    if isinstance(container, list):
        return int(step)
    return step if step in container else step.replace("~1", "/").replace("~0", "~")


def _name(schema: Object) -> str:
    return str(schema["$ref"]).removeprefix(REF)


def _renamed(schema: Any, names: dict[str, str]) -> Any:
    """Point every reference at the new name of its definition."""
    if is_array(schema):
        return [_renamed(one, names) for one in schema]
    if not is_object(schema):
        return schema
    if isinstance(schema.get("$ref"), str):
        return {**schema, "$ref": REF + names.get(_name(schema), _name(schema))}
    return {word: _renamed(value, names) for word, value in schema.items()}


def _rebase(schema: Any) -> Any:
    """Point every `$ref` to a definition at one container, independent of the dialect."""
    if is_object(schema):
        ref = schema.get("$ref")
        found = _REFERENCE.fullmatch(ref) if isinstance(ref, str) else None
        if found:
            return {**schema, "$ref": REF + found[1]}
        return {key: _rebase(value) for key, value in schema.items()}
    return [_rebase(item) for item in schema] if is_array(schema) else schema
