"""Normalises a schema: names every object and struct union, and applies the overlay.

Every construct comes out with exactly its meaning, or stops; all stops of a schema are collected.
What comes out is what types are made from.
"""

import copy
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from codegen.errors import Stop, Stopped
from codegen.model.names import names_class, pascal
from codegen.model.normal import unions
from codegen.model.normal.fold import Folder, kinds_of, needs, plain, values_of
from codegen.model.normal.rows_applied import apply_aliases, apply_patches, fix_constants, inject
from codegen.model.normal.unions import UNIONS, name_of
from codegen.model.normal.values import listed
from codegen.model.normal.vocabulary import (
    ANYTHING,
    AT,
    OPENED,
    REF,
    pointer_of,
    published_at,
    read_definitions,
    rebased,
)
from codegen.model.order import in_turn
from codegen.model.overlay import Overlay, Row
from codegen.model.rows import pattern, row
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.keywords import ANNOTATIONS, BOUNDS, KEYWORDS, SCALARS, TYPES, escape
from codegen.schema.load import Source

_NOT_IN_KEYS = re.compile(r'["\\\x00-\x1f]')
_OF_ONE_TYPE = ("properties", "required", "additionalProperties", "items")


@dataclass(frozen=True)
class Normalized:
    """Definitions of one revision, each with its path in the published schema."""

    definitions: Object
    origins: dict[str, str]
    pointers: dict[str, str]
    """JSON pointer of each into the published schema."""
    opened: dict[str, str]
    """For each place that an [[open]] row makes a map, the definition that describes it."""


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
        given: Object = rebased(copy.deepcopy(source.definitions))
        apply_patches(source, given, overlay)
        apply_aliases(source, given, overlay)
        self._published = given
        self._given = self._folded(read_definitions(source, given, overlay))
        self._folder = Folder(self._revision, self._given)
        self._names = self._class_names()
        self._unions = self._named_unions()
        self._made: Object = {}
        self._origin: dict[str, str] = {}
        self._pointers: dict[str, str] = {}
        self._opened: dict[str, str] = {}

    def run(self) -> Normalized:
        for name, schema in self._given.items():
            shaped = self._shape(schema, name, top=True)
            with self._stops.collected():
                self._define(self._names[name], shaped, name, pointer_of(schema, "#"))
        return Normalized(self._made, self._origin, self._pointers, self._opened)

    def _folded(self, given: Object) -> Object:
        folder = Folder(self._revision, given)
        made: Object = {}
        for name in in_turn(given, lambda name: needs(given[name])):
            with self._stops.collected():
                folder.definition(name)
        for name, schema in given.items():
            made[name] = {AT: schema[AT]}
            with self._stops.collected():
                # Copied: rows change definitions, and a folded one shares parts with others.
                made[name] = copy.deepcopy(folder.whole(folder.definition(name)))
        for name, schema in made.items():
            fix_constants(self._revision, name, schema, self._overlay)
            inject(self._revision, name, schema, self._overlay)
        return made

    # --- names ---

    def _class_names(self) -> dict[str, str]:
        """Return the name of the class of each definition."""
        names: dict[str, str] = {}
        for name, schema in self._given.items():
            found = self._overlay.match("name", self._revision, name)
            names[name] = str(found["name"]) if found else name
            with self._stops.collected():
                self._check_name(names[name], name, pointer_of(schema, "#"), found)
        for name, wanted in names.items():
            if wanted != name and [*names.values()].count(wanted) > 1:
                names[name] = name
                self._add_stop(
                    pointer_of(self._given[name], "#"),
                    f"the name {wanted} is already a definition",
                    "choose another",
                )
        return names

    def _named_unions(self) -> dict[frozenset[str], str]:
        """Return the definitions that name a union of definitions alone, by those."""
        found: dict[frozenset[str], str] = {}
        for name, schema in self._given.items():
            arms: list[Object] = schema.get("anyOf") or schema.get("oneOf") or []
            if arms and all("$ref" in arm for arm in arms):
                refs = frozenset(self._names[name_of(arm)] for arm in arms)
                found.setdefault(refs, self._names[name])
        return found

    def _check_name(self, name: str, path: str, pointer: str, given: Row | None) -> None:
        """Check that a class can have the name, which is the definition's or a row's."""
        if names_class(name):
            return
        suggested = pascal(name)
        if not names_class(suggested):
            suggested = f"{suggested}Type"
        raise self._stop(
            pointer,
            f"`{name}` cannot be the name of a class in the generated modules",
            f"correct {given}" if given else "add a [[name]] row",
            "" if given else self._name_row(path, suggested),
        )

    def _name_of(self, what: str, path: str, pointer: str) -> str:
        """Return the name that a row gives to something; without one it stops, with the row."""
        found = self._overlay.match("name", self._revision, path)
        if found:
            name = str(found["name"])
            self._check_name(name, path, pointer, found)
            return name
        name = pascal(path)
        said = (f"{what} without a name", "add a [[name]] row", self._name_row(path, name))
        self._add_stop(pointer, *said)
        return name

    def _name_row(self, path: str, name: str) -> str:
        return row("name", {"paths": [pattern(path)], "name": name}, self._revision)

    # --- structure ---

    def _shape(self, schema: Object, path: str, *, top: bool = False) -> Object:
        """Return a schema in the form that types are made from; anything, if it stops."""
        with self._stops.collected():
            return self._shaped(schema, path, top=top)
        return {}

    def _shaped(self, schema: Object, path: str, *, top: bool) -> Object:
        if self._overlay.match("open", self._revision, path):
            described = schema.get(OPENED) or ("$ref" in schema and name_of(schema))
            if described:
                self._opened[path] = self._names[described]
            return copy.deepcopy(ANYTHING)
        if "$ref" in schema:
            return {"$ref": REF + self._names[name_of(schema)]}
        union = next((word for word in UNIONS if word in schema), None)
        if union:
            return self._union(schema, union, path, top=top)
        if values_of(schema) is not None:
            return self._values(schema)
        kinds = schema.get("type")
        if is_array(kinds):
            return self._several(schema, [*dict.fromkeys(kinds)], path, top=top)
        bounds = self._bounds(schema, [kinds] if kinds else TYPES)
        for word in _OF_ONE_TYPE:
            if word in schema and kinds is None:
                (kind,) = KEYWORDS[word].kinds
                raise self._patch_stop(
                    schema,
                    f"`{word}` without a `type`, so that anything but an {kind} is valid",
                    {**plain(schema), "type": kind},
                )
        if kinds == "array":
            items = self._shape(schema.get("items", {}), f"{path}/items")
            return {"type": "array", "items": items, **bounds}
        if kinds == "object":
            return self._object(schema, bounds, path, top=top)
        return {**({"type": kinds} if kinds else {}), **bounds}

    def _bounds(self, schema: Object, kinds: Iterable[str]) -> Object:
        """Return the bounds of a schema that say something about values of these types.

        Those that an [[unchecked]] row names are left out, unless they are notes anyway.
        """
        found = {
            word: schema[word]
            for word in BOUNDS
            if word in schema and not {*kinds}.isdisjoint(KEYWORDS[word].kinds)
        }
        for word in [*found]:
            if self._overlay.names("unchecked", self._revision, word):
                if word not in ANNOTATIONS:
                    del found[word]
            elif word not in ANNOTATIONS:
                self._overlay.one("reads", self._revision, "rule", "bound")
            else:
                self._add_stop(
                    pointer_of(schema, "#"),
                    f"nothing checks `{word}`",
                    "say so with an [[unchecked]] row",
                    row("unchecked", {"names": [word]}),
                )
        return found

    def _is_checked(self, word: str) -> bool:
        """Return True if values are checked for a bound."""
        return word not in ANNOTATIONS and not self._overlay.names(
            "unchecked", self._revision, word
        )

    def _values(self, schema: Object) -> Object:
        try:
            return listed(schema, self._bounds(schema, kinds_of(schema)))
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

    # --- objects ---

    def _object(self, schema: Object, bounds: Object, path: str, *, top: bool) -> Object:
        pointer = pointer_of(schema, "#")
        extras = schema.get("additionalProperties")
        required: list[str] = schema.get("required", [])
        properties = self._properties(schema, required, extras)
        if not properties and extras is not False:
            values = self._shape(extras if is_object(extras) else {}, f"{path}/values")
            return {"type": "object", "additionalProperties": values, **bounds}
        if is_object(extras) and not self._overlay.match("closed", self._revision, path):
            raise self._stop(
                pointer,
                "an object with properties and additionalProperties",
                "say with an [[open]] row that it stays a map, or with a [[closed]] row that "
                "unknown keys may be dropped",
                row("open", {"paths": [pattern(path)]}, self._revision),
            )
        self._check_keys(properties, pointer)
        for word in bounds:
            raise self._stop(
                pointer,
                f"nothing checks `{word}` of an object with properties",
                "say so with an [[unchecked]] row",
                row("unchecked", {"names": [word]}),
            )
        shaped: Object = {
            "type": "object",
            "properties": {
                wire: self._shape(value, f"{path}/{wire}") for wire, value in properties.items()
            },
            "required": [wire for wire in properties if wire in required],
        }
        if extras is False:
            shaped["additionalProperties"] = False
        if top:
            return shaped
        owner, _, last = path.rpartition("/")
        if last == "params" and owner.endswith(("Request", "Notification")):
            found = self._overlay.match("name", self._revision, path)
            name = str(found["name"]) if found else f"{owner}Params"
            self._check_name(name, path, pointer, found)
        else:
            name = self._name_of("an object", path, pointer)
        return self._hoist(name, shaped, path, pointer)

    def _properties(self, schema: Object, required: list[str], extras: Any) -> Object:
        """Return the properties of an object; a required name without one may be anything."""
        properties: Object = dict(schema.get("properties", {}))
        for wire in required:
            if wire not in properties and extras is False:
                raise self._patch_stop(
                    schema,
                    f"`{wire}` is required and not allowed",
                    {**plain(schema), "required": [one for one in required if one != wire]},
                )
            properties.setdefault(wire, extras if is_object(extras) else {})
        return properties

    def _check_keys(self, properties: Object, pointer: str) -> None:
        for wire in properties:
            if _NOT_IN_KEYS.search(wire):
                raise self._stop(
                    f"{pointer}/properties/{escape(wire)}",
                    "a key with a quote, a backslash or a control character, which msgspec refuses",
                    "leave it out with a [[patch]] row",
                )

    # --- unions ---

    def _union(self, schema: Object, word: str, path: str, *, top: bool) -> Object:
        pointer = pointer_of(schema, "#")
        both = unions.overlap(schema[word], self._folder) if word == "oneOf" else None
        if both:
            raise self._patch_stop(
                schema,
                f"`oneOf` whose arms {both[0]} and {both[1]} may hold at once",
                {"anyOf": plain(schema["oneOf"])},
            )
        untagged = (
            unions.without_tag(schema, word, self._folder) if "discriminator" in schema else None
        )
        if untagged is not None:
            wire = schema["discriminator"]["propertyName"]
            raise self._stop(
                pointer,
                f"a `discriminator` `{wire}` that arm {untagged} lacks as a required constant",
                "give it one with a [[patch]] row",
            )
        arms = unions.flat(self._shape(arm, f"{path}/{i}") for i, arm in enumerate(schema[word]))
        unlike = unions.unlike_bounds(schema[word], self._folder, self._is_checked)
        if unlike:
            raise self._patch_stop(
                schema,
                f"a union of arms that {', '.join(f'`{one}`' for one in unlike)} hold for and "
                "others that take the same kind of value",
                {**plain(schema), word: unions.arms_without(unlike, schema[word], self._folder)},
                "give all of them the same bounds, one arm, or none, with a [[patch]] row",
            )
        if not all(arms):  # one that holds anything: so does the union
            return {}
        # A definition that is a union of one stays a union: another arm may join it.
        if len(arms) == 1 and not (top and "$ref" in arms[0]):
            return arms[0]
        refs = [name_of(arm) for arm in arms if "$ref" in arm]
        if top or len(refs) < 2:
            return {"anyOf": arms}
        name = self._unions.get(frozenset(refs))
        if name is None:
            name = self._name_of(f"a union of {', '.join(refs)}", path, pointer)
            self._hoist(name, {"anyOf": [{"$ref": REF + ref} for ref in refs]}, path, pointer)
        named: Object = {"$ref": REF + name}
        others = [arm for arm in arms if "$ref" not in arm]
        return {"anyOf": [named, *others]} if others else named

    # --- definitions ---

    def _hoist(self, name: str, schema: Object, path: str, pointer: str) -> Object:
        if name in self._names.values():
            raise self._stop(pointer, f"the name {name} is already a definition", "choose another")
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

    # --- stops ---

    def _stop(self, pointer: str, construct: str, advice: str, row_: str = "") -> Stopped:
        return Stopped(Stop(self._revision, pointer, construct, advice, row_))

    def _add_stop(self, pointer: str, construct: str, advice: str, row_: str = "") -> None:
        self._stops.add([Stop(self._revision, pointer, construct, advice, row_)])

    def _patch_stop(
        self,
        schema: Object,
        construct: str,
        new: Object,
        advice: str = "say what is meant with a [[patch]] row",
    ) -> Stopped:
        """Return a stop that a [[patch]] row may end, with the row."""
        pointer = pointer_of(schema, "#")
        place = pointer.removeprefix(f"#/{self._source.container}")
        old = published_at(self._published, place) if AT in schema else plain(schema)
        values = {"pointer": place, "old": old, "new": new}
        return self._stop(pointer, construct, advice, row("patch", values, self._revision))


def _speaks(word: str, kind: str) -> bool:
    """Return True if a keyword says something about values of a type."""
    return word == AT or (word != "type" and kind in KEYWORDS[word].kinds)
