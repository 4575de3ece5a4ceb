"""Folds `allOf`, and keywords beside a reference or a union, into one schema with that meaning."""

import json
import math
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from codegen.errors import Stop, Stopped
from codegen.model.normal.vocabulary import AT, OPENED, REF, mapped, pointer_of
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.keywords import BOUNDS, TYPES

_WHOLE = "integer"
_FRACTION = "fraction"
"""The numbers that are no integers: `number` is both, so that types can be intersected as sets."""
_MARKS = (AT, OPENED)
_KINDS = frozenset({*TYPES, _FRACTION} - {"number"})
_OBJECT = frozenset({"object"})
_UNIONS = ("anyOf", "oneOf")
_ARMS = ("allOf", *_UNIONS)
_MAX_MEETINGS = 24
"""References inside references whose types are intersected; more make ever larger types."""
_MAX_DEPTH = 96
"""Levels of a folded schema: those of the file, and of the copies of definitions in it."""
_STRICTER = {"max": min, "min": max}
_LIMITS = {
    word: _STRICTER.get(word.removeprefix("exclusive").lower()[:3])
    for word in BOUNDS
    if word not in ("multipleOf", "uniqueItems")
}


class Empty(Exception):
    """No value satisfies both of two schemas."""


class Folder:
    """Folds the definitions of one revision; each is folded once.

    A schema is folded at its own level: it, and the arms of its unions. What is inside its members
    and items is folded when that is asked for, so that a type may contain itself.
    """

    def __init__(self, revision: str, given: Object) -> None:
        self._revision = revision
        self._given = given
        self._done: Object = {}
        self._folding: set[str] = set()
        self._meeting: set[str] = set()

    def definition(self, name: str) -> Object:
        """Return a definition, folded at its own level.

        Raises:
            Stopped: it has no such form; each later call raises it again.
        """
        if name not in self._done:
            if name in self._folding:
                raise self._stop(self._given[name], "an `allOf` that comes back to itself")
            self._folding.add(name)
            try:
                self._done[name] = self.fold(self._given[name])
            finally:
                self._folding.remove(name)
        made: Object = self._done[name]
        return made

    def whole(self, schema: Object, depth: int = 0, at: str = "#") -> Object:
        """Return a schema folded at every level; `at` is the place of what it is in.

        Raises:
            Stopped: a part of it has no such form, or copies of definitions have no end.
        """
        at = pointer_of(schema, at)
        if depth > _MAX_DEPTH:
            raise self._stop({AT: at}, "an `allOf` of types that contain themselves")
        return mapped(self.fold(schema), lambda part: self.whole(part, depth + 1, at))

    def fold(self, schema: Object) -> Object:
        """Return a schema without `allOf`, and without keywords beside `$ref` or a union.

        Raises:
            Stopped: it has no such form.
        """
        arms = {word: [*map(self.fold, schema[word])] for word in _ARMS if word in schema}
        schema = {**schema, **arms}
        apart = {word: schema[word] for word in ("$ref", *_UNIONS) if word in schema}
        own = {
            word: schema[word] for word in schema if word not in {"allOf", "discriminator", *apart}
        }
        hint = {word: schema[word] for word in ("discriminator",) if word in schema}
        if hint and (len(apart.keys() & set(_UNIONS)) != 1 or is_constraint(own)):
            raise self._stop(schema, "a `discriminator` that is not beside one union alone")
        if "allOf" not in schema and len(apart) + is_constraint(own) < 2:
            return schema
        at = _place(schema)
        parts = [*schema.get("allOf", ()), *({word: one, **at} for word, one in apart.items()), own]
        try:
            met: Object = reduce(self.meet, parts)
        except Empty as error:
            raise self._stop(schema, f"no value satisfies all of it: {error}") from error
        return {**met, **hint, **at}

    def disjoint(self, one: Object, other: Object) -> bool:
        """Return True if no value satisfies both."""
        try:
            self.meet(one, other)
        except Empty:
            return True
        except Stopped:
            return False
        return False

    def resolve(self, schema: Object) -> Object:
        """Follow references to the schema they stand for.

        Raises:
            Stopped: they lead in a circle.
        """
        passed: set[str] = set()
        while "$ref" in schema:
            name = schema["$ref"].removeprefix(REF)
            if name in passed:
                raise self._stop(schema, "a `$ref` that comes back to itself")
            passed.add(name)
            schema = self.definition(name)
        return schema

    def meet(self, one: Object, other: Object) -> Object:
        """Return the schema that is satisfied by what satisfies both.

        Raises:
            Empty: nothing does.
            Stopped: no type says what does.
        """
        if not is_constraint(one) or plain(one) == plain(other):
            return other
        if not is_constraint(other):
            return one
        one, other = self.fold(one), self.fold(other)
        if "$ref" in one or "$ref" in other:
            return self._meet_references(one, other)
        for union, beside in ((one, other), (other, one)):
            for word in _UNIONS:
                if word in union:
                    return self._meet_union(word, union, beside, swapped=union is other)
        return self._meet_plain(one, other)

    def _meet_references(self, one: Object, other: Object) -> Object:
        pair = f"{plain(one)} {plain(other)}"
        if pair in self._meeting or len(self._meeting) > _MAX_MEETINGS:
            raise self._stop(one, "an `allOf` of types that contain themselves")
        self._meeting.add(pair)
        try:
            whole = [self.resolve(one), self.resolve(other)]
            made = self.meet(*whole)
        finally:
            self._meeting.remove(pair)
        for schema, resolved in zip((one, other), whole, strict=True):
            if "$ref" in schema and _essence(made) == _essence(resolved):
                return schema
        return made

    def _meet_union(self, word: str, union: Object, other: Object, *, swapped: bool) -> Object:
        arms: list[Object] = []
        for arm in union[word]:
            try:
                met = self.meet(other, arm) if swapped else self.meet(arm, other)
                arms.append({**met, **_place(arm)})
            except Empty:
                continue
        if not arms:
            raise Empty("no arm of the union is left")
        return {**_place(union), word: arms} if len(arms) > 1 else arms[0]

    def _meet_plain(self, one: Object, other: Object) -> Object:
        kinds = kinds_of(one) & kinds_of(other)
        if not kinds:
            raise Empty("the types exclude each other")
        made: Object = {**_place(one), **_place(other)}
        if "type" in one or "type" in other:
            made["type"] = _type_of(kinds, [one, other])
        self._meet_values(made, kinds, one, other)
        if "object" in kinds:
            self._meet_objects(made, one, other, alone=kinds == _OBJECT)
        if "items" in one and "items" in other:
            try:
                made["items"] = self.meet(one["items"], other["items"])
            except Empty as error:
                raise self._stop(made, "arrays of which only the empty one is valid") from error
        elif "items" in one or "items" in other:
            made["items"] = one.get("items", other.get("items"))
        for word in BOUNDS:
            if word in one or word in other:
                made[word] = self._meet_bound(word, made, one, other)
        return made

    def _meet_values(self, made: Object, kinds: frozenset[str], *schemas: Object) -> None:
        lists = [found for schema in schemas if (found := values_of(schema)) is not None]
        if not lists:
            return
        kept = [
            value
            for value in lists[0]
            if kind_of(value) in kinds and all(same(value) in map(same, more) for more in lists[1:])
        ]
        if not kept:
            raise Empty("no value is left")
        word = "const" if any("const" in schema for schema in schemas) else "enum"
        made[word] = kept[0] if word == "const" else kept

    def _meet_objects(self, made: Object, one: Object, other: Object, *, alone: bool) -> None:
        required = [*dict.fromkeys([*one.get("required", ()), *other.get("required", ())])]
        properties: Object = {}
        for wire in dict.fromkeys([*one.get("properties", ()), *other.get("properties", ())]):
            try:
                properties[wire] = self.meet(_property(one, wire), _property(other, wire))
            except Empty as error:
                if alone and wire in required:
                    raise Empty(f"`{wire}` excludes itself") from error
                raise self._stop(
                    made, f"arms of an `allOf` between which `{wire}` has no value"
                ) from error
        others: list[Any] = [
            s["additionalProperties"] for s in (one, other) if "additionalProperties" in s
        ]
        if any(is_object(extras) and not is_constraint(extras) for extras in others):
            # Open, as without the keyword; folded, an object says so by leaving it out.
            others = [extras for extras in others if extras is False or is_constraint(extras)]
        if properties or required:
            made |= {"properties": properties, "required": required}
        if others and False in others:
            made["additionalProperties"] = False
        elif others:
            made["additionalProperties"] = reduce(self.meet, others)

    def _meet_bound(self, word: str, made: Object, one: Object, other: Object) -> Any:
        if word not in one or word not in other or one[word] == other[word]:
            return one.get(word, other.get(word))
        if word == "uniqueItems":
            return True
        stricter = _LIMITS.get(word)
        if stricter is None or isinstance(one[word], str):
            raise self._stop(made, f"two different values of `{word}`")
        return stricter(one[word], other[word])

    def _stop(self, schema: Object, construct: str) -> Stopped:
        return Stopped(
            Stop(
                self._revision,
                pointer_of(schema, "#"),
                construct,
                "write what is meant with a [[patch]] row",
            )
        )


def is_constraint(schema: Object) -> bool:
    """Return True if a schema says anything about which values are valid."""
    return any(word not in _MARKS for word in schema)


def plain(schema: Any) -> Any:
    """Return a schema without the places of its parts, to be compared or kept."""
    if is_array(schema):
        return [plain(one) for one in schema]
    if is_object(schema):
        return {word: plain(value) for word, value in schema.items() if word not in _MARKS}
    return schema


def _essence(schema: Object) -> Object:
    """Return a schema without what says nothing, to be compared."""
    nothing: list[Any] = [{}, []]
    made: Object = plain(schema)
    if set(made) <= {"$ref", *_UNIONS}:
        return made
    words = ("additionalProperties", "properties", "required")
    return {word: one for word, one in made.items() if word not in words or one not in nothing}


def values_of(schema: Object) -> list[Any] | None:
    """Return the values that a schema lists; None if it has no list of them."""
    found: list[Any] | None = schema.get("enum")
    if "const" not in schema:
        return found
    constant = schema["const"]
    return [constant] if found is None or same(constant) in map(same, found) else []


def kinds_of(schema: Object) -> frozenset[str]:
    """Return the JSON types of a schema's values; numbers as integers and fractions."""
    named: Any = schema.get("type", TYPES)
    kinds: set[str] = {named} if isinstance(named, str) else set(named)
    if "number" in kinds:
        kinds |= {_WHOLE, _FRACTION}
    found = values_of(schema)
    if found is not None:
        kinds &= {kind_of(value) for value in found}
    return frozenset(kinds) & _KINDS


def kind_of(value: Any) -> str:
    """Return the JSON type of a value, as `kinds_of` names it."""
    if isinstance(value, float):
        return _WHOLE if math.isfinite(value) and value.is_integer() else _FRACTION
    names = {"bool": "boolean", "int": _WHOLE, "str": "string", "list": "array", "dict": "object"}
    return names.get(type(value).__name__, "null")


def same(value: Any) -> str:
    """Return a text that two JSON values share if JSON Schema calls them equal."""
    if isinstance(value, float) and kind_of(value) == _WHOLE:
        value = int(value)
    return json.dumps(value, sort_keys=True)


def _place(schema: Object) -> Object:
    return {word: schema[word] for word in _MARKS if word in schema}


def _property(schema: Object, wire: str) -> Object:
    """Return what a schema says about one key of an object."""
    named: Object = schema.get("properties", {})
    if wire in named:
        found: Object = named[wire]
        return found
    extras = schema.get("additionalProperties", {})
    if extras is False:
        raise Empty(f"`{wire}` is not allowed")
    return dict(extras)


def _type_of(kinds: frozenset[str], schemas: Iterable[Object]) -> str | list[str]:
    """Return the `type` of these kinds, as one of the schemas writes it if it can."""
    for schema in schemas:
        if "type" in schema and kinds_of({"type": schema["type"]}) == kinds:
            written: str | list[str] = schema["type"]
            return written
    named: list[str] = [kind for kind in TYPES if kind in kinds]
    if _FRACTION in kinds:
        named = ["number" if kind == _WHOLE else kind for kind in named]
    return named[0] if len(named) == 1 else named


def needs(schema: Object) -> Iterator[str]:
    """Yield the definitions that are needed to fold a schema at its own level."""
    if "$ref" in schema:
        yield schema["$ref"].removeprefix(REF)
    for word in _ARMS:
        for arm in schema.get(word, ()):
            yield from needs(arm)
