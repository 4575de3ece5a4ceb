"""Decides if a value has a shape, or fits schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.contracts.subsumption.json_values import exact, key_of, kind_of
from mcp_gen.contracts.subsumption.members import item, member

if TYPE_CHECKING:
    from mcp_gen.contracts.subsumption.document import Budget
    from mcp_gen.contracts.subsumption.members import Patterns
    from mcp_gen.contracts.subsumption.reading import Reader
    from mcp_gen.contracts.subsumption.shapes import Conjunction, Shape

__all__ = ["Membership"]


class Membership:
    """Decides about values that stand in schemas, such as those of `enum`.

    Args:
        budget: Limits of the work.
        patterns: Matches patterns.
        reader: Reads schemas.
    """

    def __init__(self, budget: Budget, patterns: Patterns, reader: Reader) -> None:
        self._budget = budget
        self._patterns = patterns
        self._reader = reader

    def holds(self, shape: Shape, value: Any) -> bool | None:
        """Return True if a value has a shape, False if not, None if it cannot be told."""
        if shape.values is not None:
            self._budget.spend()
            if key_of(value) not in shape.values:
                return False
        if value.__class__ in (int, float) and kind_of(value) == "number":
            number = exact(value)
            if not shape.range.holds(number):
                return False
            if any((number / one).denominator != 1 for one in shape.multiples if one):
                return False
        elif isinstance(value, str):
            if not shape.size.holds(exact(len(value))):
                return False
            if not all(self._patterns.matches(one, value) for one in shape.patterns):
                return False
        elif value.__class__ in (list, dict):
            return self._holds_inside(shape, value)
        return None if shape.opaque else True

    def _holds_inside(self, shape: Shape, value: Any) -> bool | None:
        if not shape.size.holds(exact(len(value))):
            return False
        verdicts: list[bool | None] = [None] if shape.opaque else []
        if value.__class__ is list:
            if shape.is_unique and len({key_of(one) for one in value}) < len(value):
                return False
            verdicts += [self.fits(one, item(shape, place)) for place, one in enumerate(value)]
        else:
            if not shape.required <= value.keys():
                return False
            for name, one in value.items():
                parts = member(shape, name, self._patterns, as_sent=False)
                verdicts += [self.fits(one, parts), self.fits(name, shape.names)]
        return False if False in verdicts else (None if None in verdicts else True)

    def fits(self, value: Any, parts: Conjunction | None) -> bool | None:
        """Return True if a value fits schemas, False if not, None if it cannot be told."""
        if parts is None:
            return False
        self._budget.spend()
        kind = kind_of(value)
        verdicts = [
            self.holds(one, value) for one in self._reader.shapes(parts) if one.kind == kind
        ]
        return True if True in verdicts else (None if None in verdicts else False)
