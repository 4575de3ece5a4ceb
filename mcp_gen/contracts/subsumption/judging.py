"""Judges if each value of one schema is a value of another: a proof, or the places that differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mcp_gen.contracts.subsumption.document import Document, Part, TooMuchWork, meaning
from mcp_gen.contracts.subsumption.emptiness import Emptiness
from mcp_gen.contracts.subsumption.findings import ITEM, OTHERS, SchemaFinding, Step
from mcp_gen.contracts.subsumption.json_values import Unreadable, key_of
from mcp_gen.contracts.subsumption.members import (
    Patterns,
    is_closed,
    item,
    member,
    other_members,
)
from mcp_gen.contracts.subsumption.membership import Membership
from mcp_gen.contracts.subsumption.plain_facets import plain_findings, whole_range
from mcp_gen.contracts.subsumption.reading import Reader
from mcp_gen.contracts.subsumption.shapes import (
    ANY_RANGE,
    Conjunction,
    MemberRule,
    Range,
    Shape,
)

if TYPE_CHECKING:
    from mcp_gen.contracts.subsumption.document import Budget

__all__ = ["Judge"]

MAX_FINDINGS = 20
"""Most places that are reported for one pair of schemas."""
MAX_SPLIT = 64
"""Most values of a member by which an object is split into cases."""

MAX_INTEGERS = 32
"""Most integers of a range that are tried one by one."""
_HARMLESS = frozenset({"contentEncoding", "contentMediaType", "contentSchema", "format"})
"""Keywords that no schema excludes all values of a kind with."""

_Pair = tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]


class Judge:
    """Compares schemas: proves that each value that fits the narrow ones fits the wide ones.

    A pair that is met again while it is compared is taken to hold, as values end somewhere: so
    recursive schemas are compared. Nothing stays taken for granted if the pair then does not hold.

    Args:
        budget: Limits of the work.
        as_sent: True if the narrow schemas are those of a sender, who sends what they declare.
    """

    def __init__(self, budget: Budget, *, as_sent: bool) -> None:
        self._budget = budget
        self.as_sent = as_sent
        self.patterns = Patterns()
        self.emptiness = Emptiness(budget, self.patterns)
        self.reader = self.emptiness.reader = Reader(budget, self.emptiness.are_disjoint)
        self.membership = Membership(budget, self.patterns, self.reader)
        self._assumed: dict[_Pair, None] = {}
        """Pairs that hold, or that are being compared; in the order in which they were met."""
        self._differ: dict[_Pair, list[SchemaFinding]] = {}
        self._kept: list[Part] = []
        self._depth = 0

    def renew(self, steps: int) -> None:
        """Give the judge another budget, to make examples with what it has read."""
        self._budget.left = steps

    def compare(self, narrow: Conjunction, wide: Conjunction) -> list[SchemaFinding]:
        """Return where values of the narrow schemas are no values of the wide ones; none if never.

        Raises:
            TooMuchWork: the budget is used up.
        """
        if all(one.schema is True or one.schema == {} for one in wide):
            return []
        pair = (frozenset(one.key for one in narrow), frozenset(one.key for one in wide))
        if pair in self._assumed or pair[1] <= pair[0]:
            return []
        if pair in self._differ:
            return self._differ[pair]
        self._budget.spend()
        self._budget.check_depth(self._depth)
        met = len(self._assumed)
        self._assumed[pair] = None
        self._depth += 1
        try:
            found = self._found(narrow, wide)
        finally:
            self._depth -= 1
        if found and not any(one.is_certain for one in found) and self._mean_the_same(narrow, wide):
            found = []
        if found:
            # What was proven on the way may rest on this pair.
            while len(self._assumed) > met:
                self._assumed.popitem()
            self._differ[pair] = found
        return found

    def _mean_the_same(self, narrow: Conjunction, wide: Conjunction) -> bool:
        try:
            said = {meaning(one, self._budget) for one in narrow}
            return all(meaning(one, self._budget) in said for one in wide)
        except TooMuchWork:
            raise
        except Unreadable:
            return False

    def _found(self, narrow: Conjunction, wide: Conjunction) -> list[SchemaFinding]:
        try:
            some, others = self.reader.shapes(narrow), self.reader.shapes(wide)
        except TooMuchWork:
            raise
        except Unreadable as error:
            return [SchemaFinding("not compared", is_certain=False, says=str(error))]
        found: dict[tuple[Any, ...], SchemaFinding] = {}
        for one in some:
            if self.emptiness.is_empty(one):
                continue
            for finding in self._of_shape(one, others):
                known = found.get((finding.kind, finding.path, finding.says))
                if known is None or finding.is_certain:
                    found[finding.kind, finding.path, finding.says] = finding
            if len(found) >= MAX_FINDINGS:
                break
        return list(found.values())[:MAX_FINDINGS]

    # --- one shape against alternatives ---

    def _of_shape(self, one: Shape, wide: Iterable[Shape]) -> list[SchemaFinding]:
        """Return where values of a shape have none of the wide shapes."""
        among = [other for other in wide if other.kind == one.kind]
        if not among:
            certain = all(keyword in _HARMLESS for _, keyword in one.opaque)
            return [SchemaFinding("kind", certain, _kind_name(one), example=_example_of(one))]
        if any(other.is_any for other in among):
            return []
        try:
            values = self._finite(one)
            if values is not None:
                return self._of_values(one, values, among)
            return self._of_endless(one, among)
        except TooMuchWork:
            raise
        except Unreadable as error:
            return [SchemaFinding("not compared", is_certain=False, says=str(error))]

    def _of_endless(self, one: Shape, among: list[Shape]) -> list[SchemaFinding]:
        by_other: list[list[SchemaFinding]] = []
        for other in among:
            self._budget.spend()
            found = self._of_pair(one, other)
            if not found:
                return []
            by_other.append(found)
        if len(among) == 1:
            return by_other[0]
        cases = self._cases(one)
        if cases:
            return [found for case in cases for found in self._of_endless_case(case, among)]
        near = [
            found
            for other, found in zip(among, by_other, strict=True)
            if not self.emptiness.is_empty(one.meet(other))
        ]
        if len(near) == 1:
            return near[0]
        if not near:
            return min(by_other, key=len)
        nearest = min(near, key=len)
        # A value may be in another alternative: only an example can show that it is in none.
        return [found.unsure() for found in nearest]

    def _of_endless_case(self, case: Shape, among: list[Shape]) -> list[SchemaFinding]:
        if self.emptiness.is_empty(case):
            return []
        near = [other for other in among if not self.emptiness.is_empty(case.meet(other))]
        if not near:
            return self._without_any(case)
        best: list[SchemaFinding] | None = None
        for other in near:
            found = self._of_pair(case, other)
            if not found:
                return []
            if best is None or len(found) < len(best):
                best = found
        assert best is not None
        return best if len(near) == 1 else [found.unsure() for found in best]

    def _without_any(self, case: Shape) -> list[SchemaFinding]:
        """Return the finding that no alternative takes a case."""
        name, part = next(iter((case.members[-1].named or {}).items()))
        value = part.schema["const"]
        found = SchemaFinding("values", not case.opaque, _listed([value]), example=(value,))
        return [found.below(name)]

    def _cases(self, one: Shape) -> list[Shape]:
        """Split an object by the values of a member that must be there; empty if there is none."""
        for name in sorted(one.required):
            parts = member(one, name, self.patterns, as_sent=False)
            values = self._values_of(parts or ())
            if values is not None and 1 < len(values) <= MAX_SPLIT:
                return [self._case(one, name, value) for value in values]
        return []

    def _case(self, one: Shape, name: str, value: Any) -> Shape:
        part = Part(document := Document({"const": value}), document.root)
        self._kept.append(part)
        return one.meet(Shape("object", members=(MemberRule({name: part}, {}, None),)))

    def _values_of(self, parts: Conjunction) -> list[Any] | None:
        """Return the only values that fit schemas; None if there are too many."""
        made: list[Any] = []
        for shape in self.reader.shapes(parts):
            values = self._finite(shape)
            if values is None:
                return None
            made += values
        return made

    # --- finite shapes ---

    def _finite(self, one: Shape) -> list[Any] | None:
        """Return the only values of a shape; None if there are too many."""
        if one.values is not None:
            alone = replace(one, values=None)
            return [
                value
                for value in one.values.values()
                if self.membership.holds(alone, value) is not False
            ]
        if one.kind == "number" and 1 in one.multiples:
            low, high, *_ = whole_range(one)
            if low is not None and high is not None and high - low < MAX_INTEGERS:
                alone = replace(one, range=ANY_RANGE)
                numbers = range(int(low), int(high) + 1)
                return [
                    value for value in numbers if self.membership.holds(alone, value) is not False
                ]
        if one.kind == "null":
            return [None]
        if one.kind == "boolean":
            return [False, True]
        return None

    def _of_values(self, one: Shape, values: list[Any], among: list[Shape]) -> list[SchemaFinding]:
        self._budget.spend(len(values) // 16)
        # What is not understood is the same for both.
        among = [
            replace(other, opaque=tuple(has for has in other.opaque if has not in one.opaque))
            for other in among
        ]
        gone: list[Any] = []
        unsure: list[Any] = []
        for value in values:
            verdicts = [self.membership.holds(other, value) for other in among]
            if True not in verdicts:
                (unsure if None in verdicts else gone).append(value)
        found: list[SchemaFinding] = []
        if gone:
            certain = not one.opaque
            found.append(SchemaFinding("values", certain, _listed(gone), example=tuple(gone[:3])))
        if unsure:
            found.append(SchemaFinding("values", False, _listed(unsure), example=tuple(unsure[:3])))
        return found

    # --- one shape against another ---

    def _of_pair(self, one: Shape, other: Shape) -> list[SchemaFinding]:
        """Return where values of a shape do not have another one."""
        found = plain_findings(replace(one, size=self._size(one)), other, self.patterns)
        labels = dict(one.opaque)
        for key, keyword in other.opaque:
            if key not in labels:
                found.append(SchemaFinding("opaque", is_certain=False, says=f"`{keyword}`"))
        if one.kind == "object":
            found += self._of_members(one, other)
        elif one.kind == "array":
            found += self._of_items(one, other)
        # What is not understood may rule out the values that differ.
        return [finding.unsure() for finding in found] if one.opaque else found

    def _size(self, one: Shape) -> Range:
        """Return the bounds of the size of a shape, with those that its members or items set."""
        if one.kind == "array":
            ends = [
                len(rule.first) for rule in one.items if rule.rest and rule.rest.schema is False
            ]
            return one.size.meet(Range(high=Fraction(min(ends)) if ends else None))
        if one.kind != "object":
            return one.size
        low = Fraction(len(one.required)) if one.required else None
        is_open = other_members(one, as_sent=self.as_sent) is not None or _matching(one)
        if is_open and not (self.as_sent and is_closed(one)):
            return one.size.meet(Range(low))
        return one.size.meet(Range(low, Fraction(len(_names(one)))))

    def _of_items(self, one: Shape, other: Shape) -> list[SchemaFinding]:
        found: list[SchemaFinding] = []
        first = max((len(rule.first) for rule in (*one.items, *other.items)), default=0)
        self._budget.spend(first)
        for place in range(first + 1):
            some = item(one, place)
            if some is None or self.emptiness.has_no_values(some):
                break  # there are no items from here on
            step: Step = place if place < first else ITEM
            found += self._of_child(some, item(other, place), step)
        return found

    def _of_members(self, one: Shape, other: Shape) -> list[SchemaFinding]:
        found: list[SchemaFinding] = [
            SchemaFinding("required", is_certain=True, path=(name,))
            for name in sorted(other.required - one.required)
        ]
        names = sorted(_names(one) | _names(other))
        self._budget.spend(len(names))
        for name in names:
            some = self._present(one, name)
            if some is not None:
                wide = member(other, name, self.patterns, as_sent=False)
                found += self._of_child(some, wide, name)
        if len(found) >= MAX_FINDINGS:
            return found
        return found + self._of_others(one, other) + self._of_names(one, other, names)

    def _present(self, one: Shape, name: str) -> Conjunction | None:
        """Return the schemas of a member that may be there; None if it cannot."""
        some = member(one, name, self.patterns, as_sent=self.as_sent)
        if some is None or self.emptiness.has_no_values(some):
            return None
        if one.names and self.membership.fits(name, one.names) is False:
            return None
        room = one.size.high is None or len(one.required | {name}) <= one.size.high
        return some if room else None

    def _of_child(
        self, some: Conjunction, wide: Conjunction | None, step: Step
    ) -> list[SchemaFinding]:
        if wide is None:
            return [SchemaFinding("excluded", is_certain=True, path=(step,))]
        return [found.below(step) for found in self.compare(some, wide)]

    def _of_others(self, one: Shape, other: Shape) -> list[SchemaFinding]:
        """Compare members that have no name in either schema."""
        found: list[SchemaFinding] = []
        mine = _matching(one)
        rest = other_members(one, as_sent=self.as_sent)
        if rest is not None and self.emptiness.has_no_values(rest):
            rest = None
        for rule in other.members:
            wide = None if rule.others is None else (rule.others,)
            # Names that match a pattern of both are compared by it; others may match any of these.
            unknown = [(part,) for pattern, part in rule.matching.items() if pattern not in mine]
            for pattern, some in mine.items():
                rest_of_rule = (wide,) if wide and pattern not in rule.matching else ()
                if pattern in rule.matching:
                    found += self._of_child(some, (rule.matching[pattern],), OTHERS)
                for also in (*unknown, *rest_of_rule):
                    found += [one.unsure() for one in self._of_other(some, also)]
            if rest is not None:
                found += self._of_other(rest, wide or ())
                for also in unknown:
                    found += [one.unsure() for one in self._of_other(rest, also)]
        return found

    def _of_other(self, some: Conjunction, wide: Conjunction) -> list[SchemaFinding]:
        is_none = any(one.schema is False for one in wide)
        return self._of_child(some, None if is_none else wide, OTHERS)

    def _of_names(self, one: Shape, other: Shape, names: list[str]) -> list[SchemaFinding]:
        if not other.names:
            return []
        found: list[SchemaFinding] = []
        for name in names:
            some = self._present(one, name)
            verdict = None if some is None else self.membership.fits(name, other.names)
            if some is not None and verdict is not True:
                found.append(SchemaFinding("names", verdict is False, path=(name,)))
        is_open = other_members(one, as_sent=self.as_sent) is not None or _matching(one)
        if is_open and not (self.as_sent and is_closed(one)):
            text = Part(document := Document({"type": "string"}), document.root)
            self._kept.append(text)
            differ = self.compare((text, *one.names), other.names)
            found += [SchemaFinding("names", False, path=(OTHERS,)) for _ in differ[:1]]
        return found


def _matching(shape: Shape) -> dict[str, Conjunction]:
    """Return the schemas of members by pattern, in each rule that has it."""
    found: dict[str, Conjunction] = {}
    for rule in shape.members:
        for pattern, part in rule.matching.items():
            found[pattern] = (*found.get(pattern, ()), part)
    return found


def _names(shape: Shape) -> set[str]:
    named = {name for rule in shape.members for name in rule.named or ()}
    return named | shape.required


def _kind_name(shape: Shape) -> str:
    return "integer" if shape.kind == "number" and 1 in shape.multiples else shape.kind


def _listed(values: list[Any]) -> str:
    shown = ", ".join(key_of(one) for one in values[:5])
    return f"{shown} and {len(values) - 5} more" if len(values) > 5 else shown


def _example_of(shape: Shape) -> tuple[Any, ...]:
    return tuple(shape.values.values())[:3] if shape.values else ()
