"""Reads schemas into shapes: one shape per alternative and kind of value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from mcp_gen.contracts.subsumption.document import (
    ASSERTIONS,
    Budget,
    Json,
    Part,
    meaning,
)
from mcp_gen.contracts.subsumption.json_values import (
    KINDS,
    Kind,
    Unreadable,
    exact,
    key_of,
    kind_of,
)
from mcp_gen.contracts.subsumption.shapes import (
    ALL_SHAPES,
    Conjunction,
    ItemRule,
    MemberRule,
    Range,
    Shape,
    intersect,
)

__all__ = ["Reader"]

_KINDS_BY_TYPE: dict[str, Kind] = {**{kind: kind for kind in KINDS}, "integer": "number"}
_WHOLE = frozenset({Fraction(1)})

_APPLIED_IN_PLACE = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies"}
)
"""Keywords beside which `unevaluatedProperties` is not the same as `additionalProperties`."""

_OPAQUE_OF_KINDS: dict[str, tuple[Kind, ...]] = {
    "format": ("string", "number"),
    "contentEncoding": ("string",),
    "contentMediaType": ("string",),
    "contentSchema": ("string",),
    "contains": ("array",),
    "dependentRequired": ("object",),
    "dependentSchemas": ("object",),
    "dependencies": ("object",),
}
"""Keywords that are equal or cannot be compared, and the kinds of values that they are about."""
_BESIDE = {
    "contains": ("minContains", "maxContains"),
    "if": ("then", "else"),
    "unevaluatedItems": (),
    "unevaluatedProperties": (),
}
"""Keywords that change the meaning of another one."""


class Reader:
    """Reads schemas; each part once.

    Args:
        budget: Limits of the work.
        are_disjoint: Tells if two lists of alternatives are proven to have no value in common.
    """

    def __init__(
        self,
        budget: Budget,
        are_disjoint: Callable[[tuple[Shape, ...], tuple[Shape, ...]], bool],
    ) -> None:
        self._budget = budget
        self._are_disjoint = are_disjoint
        self._read: dict[tuple[int, int], tuple[Shape, ...]] = {}
        self._kept: list[Part] = []

    def shapes(self, all_of: Conjunction) -> tuple[Shape, ...]:
        """Return the alternatives of schemas that all have to hold.

        Raises:
            Unreadable: one of them cannot be compared.
        """
        found: tuple[Shape, ...] = ALL_SHAPES
        for part in all_of:
            found = self._meet(found, self._shapes(part, ()))
        return found

    def _meet(self, some: tuple[Shape, ...], others: tuple[Shape, ...]) -> tuple[Shape, ...]:
        if len(some) * len(others) > self._budget.alternatives * len(KINDS):
            raise Unreadable("more alternatives than are compared")
        self._budget.spend(len(some) * len(others) // 8)
        found = intersect(some, others)
        if found is some or found is others:
            return found
        return tuple(one for one in found if not (one.range.is_empty or one.size.is_empty))

    def _shapes(self, part: Part, way: tuple[tuple[int, int], ...]) -> tuple[Shape, ...]:
        """Return the alternatives of a part; `way` holds the parts that it is applied by."""
        known = self._read.get(part.key)
        if known is not None:
            return known
        self._budget.spend()
        self._budget.check_depth(len(way))
        if part.key in way:
            raise Unreadable("a reference that leads to itself")
        found = self._of_schema(part, (*way, part.key))
        if len(found) > self._budget.alternatives * len(KINDS):
            raise Unreadable("more alternatives than are compared")
        # Parts are known by their identity: none may be made anew at the place of another.
        self._kept.append(part)
        self._read[part.key] = found
        return found

    def _of_schema(self, part: Part, way: tuple[tuple[int, int], ...]) -> tuple[Shape, ...]:
        schema: Any = part.schema
        if schema is True:
            return ALL_SHAPES
        if schema is False:
            return ()
        if schema.__class__ is not dict:
            raise Unreadable("a schema that is neither an object nor a boolean")
        if not part.document.is_known:
            raise Unreadable("`$schema` names a dialect that is not compared")
        if "$id" in schema and schema is not part.document.root:
            raise Unreadable("a part with an `$id`")
        members = cast("Json", schema)
        reference = members.get("$ref")
        if isinstance(reference, str) and not part.document.reads_siblings:
            return self._shapes(part.at(part.document.resolve(reference)), way)
        found = self._own(part, members)
        if isinstance(reference, str):
            target = part.at(part.document.resolve(reference))
            found = self._meet(found, self._shapes(target, way))
        for one in _schemas(members, "allOf"):
            found = self._meet(found, self._shapes(part.at(one), way))
        if "anyOf" in members:
            branches = [self._shapes(part.at(one), way) for one in _schemas(members, "anyOf")]
            found = self._meet(found, tuple(one for shapes in branches for one in shapes))
        if "oneOf" in members:
            found = self._meet(found, self._one_of(part, members, way))
        return self._meet(found, self._negated(part, members))

    def _own(self, part: Part, members: Json) -> tuple[Shape, ...]:
        """Return what the keywords say that apply no other schema to the same value."""
        found: tuple[Shape, ...] = ALL_SHAPES
        if "type" in members:
            found = intersect(found, _of_types(members["type"]))
        for values in _value_lists(members):
            self._budget.spend(len(values) // 16)
            found = intersect(found, _of_values(values))
        by_kind = {
            "number": _number_shape(members),
            "string": _string_shape(members),
            "array": self._array_shape(part, members),
            "object": self._object_shape(part, members),
        }
        for keyword, kinds in _OPAQUE_OF_KINDS.items():
            if keyword in members:
                opaque = ((self._opaque_key(part, keyword), keyword),)
                for kind in kinds:
                    base = by_kind[kind]
                    by_kind[kind] = replace(base, opaque=base.opaque + opaque)
        said = tuple(by_kind.get(kind, Shape(kind)) for kind in KINDS)
        if found is ALL_SHAPES and all(one.is_any for one in said):
            return ALL_SHAPES
        return intersect(found, said)

    def _opaque_key(self, part: Part, keyword: str) -> str:
        """Return a text that is equal only where a keyword says the same."""
        beside = (keyword, *_BESIDE.get(keyword, ()))
        members = (
            part.schema
            if keyword.startswith("unevaluated")
            else {one: part.schema[one] for one in beside if one in part.schema}
        )
        return meaning(part.at(members), self._budget)

    def _array_shape(self, part: Part, members: Json) -> Shape:
        shape = Shape(
            "array",
            size=_sizes(members, "minItems", "maxItems"),
            is_unique=members.get("uniqueItems") is True,
        )
        # Until 2019-09 `items` may be a list, with `additionalItems`.
        items = members.get("items")
        is_list = items.__class__ is list
        first = items if is_list else members.get("prefixItems")
        rest = members.get("additionalItems") if is_list else items
        rest, opaque = self._unevaluated(part, members, "unevaluatedItems", rest)
        shape = replace(shape, opaque=opaque)
        if first is None and rest is None:
            return shape
        schemas = tuple(map(part.at, cast("list[Any]", first or ())))
        rule = ItemRule(schemas, None if rest is None else part.at(rest))
        return replace(shape, items=(rule,))

    def _object_shape(self, part: Part, members: Json) -> Shape:
        required: Any = members.get("required")
        shape = Shape(
            "object",
            size=_sizes(members, "minProperties", "maxProperties"),
            required=frozenset(required) if required.__class__ is list else frozenset(),
        )
        if "propertyNames" in members:
            shape = replace(shape, names=(part.at(members["propertyNames"]),))
        others = members.get("additionalProperties")
        others, opaque = self._unevaluated(part, members, "unevaluatedProperties", others)
        shape = replace(shape, opaque=opaque)
        named, matching = members.get("properties"), members.get("patternProperties")
        if named is None and not matching and others is None:
            return shape
        rule = MemberRule(
            None if named is None else _parts(part, named),
            _parts(part, matching or {}),
            None if others is None else part.at(others),
        )
        return replace(shape, members=(rule,))

    def _unevaluated(
        self, part: Part, members: Json, keyword: str, rest: Any
    ) -> tuple[Any, tuple[tuple[str, str], ...]]:
        """Return the schema of all other members or items, and what is not understood."""
        if keyword not in members or rest is not None:
            return rest, ()
        is_plain = members.keys().isdisjoint(_APPLIED_IN_PLACE) and "contains" not in members
        if is_plain:
            return members[keyword], ()
        return None, ((self._opaque_key(part, keyword), keyword),)

    def _one_of(
        self, part: Part, members: Json, way: tuple[tuple[int, int], ...]
    ) -> tuple[Shape, ...]:
        branches = [self._shapes(part.at(one), way) for one in _schemas(members, "oneOf")]
        self._budget.spend(len(branches) ** 2 // 2)
        is_exact = all(
            self._are_disjoint(one, other)
            for number, one in enumerate(branches)
            for other in branches[:number]
        )
        found = tuple(one for shapes in branches for one in shapes)
        if is_exact:
            return found
        opaque = ((self._opaque_key(part, "oneOf"), "oneOf"),)
        return tuple(replace(one, opaque=one.opaque + opaque) for one in found)

    def _negated(self, part: Part, members: Json) -> tuple[Shape, ...]:
        """Return what `not`, `if` and dynamic references say."""
        opaque: list[tuple[str, str]] = []
        shapes: tuple[Shape, ...] = ALL_SHAPES
        if "not" in members:
            excluded = _only_types(members["not"])
            if excluded is None:
                opaque.append((self._opaque_key(part, "not"), "not"))
            else:
                shapes = tuple(one for one in ALL_SHAPES if one.kind not in excluded)
        if "if" in members and ("then" in members or "else" in members):
            opaque.append((self._opaque_key(part, "if"), "if"))
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in members:
                opaque.append((self._opaque_key(part, keyword), keyword))
        if not opaque:
            return shapes
        return tuple(replace(one, opaque=tuple(opaque)) for one in shapes)


def _schemas(members: Json, keyword: str) -> list[Any]:
    found = members.get(keyword, [])
    if found.__class__ is not list:
        raise Unreadable(f"`{keyword}` that is no array")
    return found


def _parts(part: Part, schemas: Any) -> dict[str, Part]:
    if schemas.__class__ is not dict:
        raise Unreadable("`properties` that is no object")
    return {name: part.at(one) for name, one in cast("Json", schemas).items()}


def _of_types(types: Any) -> tuple[Shape, ...]:
    names: list[Any] = types if types.__class__ is list else [types]
    unknown = [one for one in names if one not in _KINDS_BY_TYPE]
    if unknown:
        raise Unreadable("`type` that names no type")
    return tuple(
        Shape(kind, multiples=_WHOLE if kind == "number" and kind not in names else frozenset())
        for kind in KINDS
        if kind in {_KINDS_BY_TYPE[one] for one in names}
    )


def _only_types(schema: Any) -> set[str] | None:
    """Return the kinds of a schema that says nothing but types; None if it says more."""
    if schema is False:
        return set()
    said: Iterable[str] = (
        [one for one in cast("Json", schema) if one in ASSERTIONS or one not in _ANNOTATIONS]
        if schema.__class__ is dict
        else ()
    )
    if list(said) != ["type"]:
        return None
    names = schema["type"] if schema["type"].__class__ is list else [schema["type"]]
    # Not an integer: what is left of the numbers is no range.
    return None if "integer" in names else set(names)


_ANNOTATIONS = frozenset({"$comment", "default", "deprecated", "description", "examples", "title"})


def _value_lists(members: Json) -> Iterable[list[Any]]:
    if "const" in members:
        yield [members["const"]]
    if members.get("enum").__class__ is list:
        yield members["enum"]


def _of_values(values: list[Any]) -> tuple[Shape, ...]:
    by_kind: dict[Kind, dict[str, Any]] = {}
    for one in values:
        by_kind.setdefault(kind_of(one), {})[key_of(one)] = one
    return tuple(Shape(kind, values=found) for kind, found in by_kind.items())


def _number_shape(members: Json) -> Shape:
    found = Range(
        _number(members, "minimum"),
        _number(members, "maximum"),
    ).meet(
        Range(
            _number(members, "exclusiveMinimum"),
            _number(members, "exclusiveMaximum"),
            above=True,
            below=True,
        )
    )
    multiple = _number(members, "multipleOf")
    return Shape(
        "number", range=found, multiples=frozenset() if multiple is None else frozenset({multiple})
    )


def _string_shape(members: Json) -> Shape:
    pattern = members.get("pattern")
    return Shape(
        "string",
        size=_sizes(members, "minLength", "maxLength"),
        patterns=frozenset({pattern}) if isinstance(pattern, str) else frozenset(),
    )


def _sizes(members: Json, least: str, most: str) -> Range:
    low = _number(members, least)
    # No bound is the same as none: 0 does not count.
    return Range(low or None, _number(members, most))


def _number(members: Json, keyword: str) -> Fraction | None:
    return exact(members[keyword]) if keyword in members else None
