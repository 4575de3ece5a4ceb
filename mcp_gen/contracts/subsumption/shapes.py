"""Shapes: what one alternative of a schema says about the values of one kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from mcp_gen.contracts.subsumption.document import Part
from mcp_gen.contracts.subsumption.json_values import KINDS, Kind, key_of

__all__ = [
    "ALL_SHAPES",
    "ANY_RANGE",
    "Conjunction",
    "ItemRule",
    "MemberRule",
    "Range",
    "Shape",
    "intersect",
]

Conjunction: TypeAlias = tuple[Part, ...]
"""Schemas that a value has to fit, all of them; none: any value fits."""


class Range(NamedTuple):
    """Interval of numbers or sizes; None is no bound.

    Args:
        low: The lower bound.
        high: The upper bound.
        above: True if the lower bound is not part of it.
        below: True if the upper bound is not part of it.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    above: bool = False
    below: bool = False

    def meet(self, other: Range) -> Range:
        """Return what both have in common."""
        low, above = self.low, self.above
        if other.low is not None and (low is None or (other.low, other.above) > (low, above)):
            low, above = other.low, other.above
        high, below = self.high, self.below
        if other.high is not None and (high is None or (-other.high, other.below) > (-high, below)):
            high, below = other.high, other.below
        return Range(low, high, above, below)

    @property
    def is_empty(self) -> bool:
        """True if nothing is in it."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.above or self.below))

    def holds(self, number: Fraction) -> bool:
        """Return True if a number is in it."""
        return not self.meet(Range(number, number)).is_empty

    def has_low_of(self, other: Range) -> bool:
        """Return True if everything from the lower bound of another one on is in it."""
        return self.low is None or (
            other.low is not None and (other.low, other.above) >= (self.low, self.above)
        )

    def has_high_of(self, other: Range) -> bool:
        """Return True if everything up to the upper bound of another one is in it."""
        return self.high is None or (
            other.high is not None and (-other.high, other.below) >= (-self.high, self.below)
        )


ANY_RANGE = Range()


class ItemRule(NamedTuple):
    """Schemas of the items of an array, of one schema.

    Args:
        first: Schemas of the first items, in order.
        rest: The schema of all further items; None: any.
    """

    first: tuple[Part, ...]
    rest: Part | None

    def at(self, index: int) -> Part | None:
        """Return the schema of one item; None: any."""
        return self.first[index] if index < len(self.first) else self.rest


class MemberRule(NamedTuple):
    """Schemas of the members of an object, of one schema.

    Args:
        named: Schemas by the name of the member; None without `properties`.
        matching: Schemas by a pattern of names.
        others: The schema of all other members; None: the schema does not say.
    """

    named: dict[str, Part] | None
    matching: dict[str, Part]
    others: Part | None


@dataclass(frozen=True)
class Shape:
    """One alternative of a schema, for one kind of values: all of it has to hold.

    Args:
        kind: The kind.
        values: The only values, by key; None: all values of the kind.
        range: Bounds of a number.
        size: Bounds of the length of a string, or of the number of items or members.
        multiples: Numbers of which a number is a multiple; 1 is there for integers.
        patterns: Patterns that a string matches.
        opaque: What is not understood, by key, with the text that says it.
        items: Rules for items.
        is_unique: True if no two items are equal.
        members: Rules for members.
        required: Names that are there.
        names: Schemas of all names.
    """

    kind: Kind
    values: dict[str, Any] | None = None
    range: Range = ANY_RANGE
    size: Range = ANY_RANGE
    multiples: frozenset[Fraction] = frozenset()
    patterns: frozenset[str] = frozenset()
    opaque: tuple[tuple[str, str], ...] = ()
    items: tuple[ItemRule, ...] = ()
    is_unique: bool = False
    members: tuple[MemberRule, ...] = ()
    required: frozenset[str] = frozenset()
    names: Conjunction = ()

    @property
    def is_any(self) -> bool:
        """True if all values of the kind are in it."""
        return self == Shape(self.kind)

    def meet(self, other: Shape) -> Shape:
        """Return what is in both shapes, which are of one kind."""
        values = self.values if other.values is None else other.values
        if self.values is not None and other.values is not None:
            values = {key: one for key, one in self.values.items() if key in other.values}
        return replace(
            self,
            values=values,
            range=self.range.meet(other.range),
            size=self.size.meet(other.size),
            multiples=self.multiples | other.multiples,
            patterns=self.patterns | other.patterns,
            opaque=tuple(dict.fromkeys(self.opaque + other.opaque)),
            items=self.items + other.items,
            is_unique=self.is_unique or other.is_unique,
            members=self.members + other.members,
            required=self.required | other.required,
            names=self.names + other.names,
        )

    def with_values(self, *values: Any) -> Shape:
        """Return the part of the shape that is among some values."""
        return self.meet(Shape(self.kind, values={key_of(one): one for one in values}))


ALL_SHAPES = tuple(Shape(kind) for kind in KINDS)


def intersect(some: tuple[Shape, ...], others: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Return the alternatives of two schemas that both have to hold."""
    if others is ALL_SHAPES:
        return some
    if some is ALL_SHAPES:
        return others
    return tuple(
        one if other.is_any else one.meet(other)
        for one in some
        for other in others
        if one.kind == other.kind
    )
