"""Proofs that no value fits a schema, or none fits two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.contracts.subsumption.json_values import Unreadable
from mcp_gen.contracts.subsumption.members import item, member

if TYPE_CHECKING:
    from mcp_gen.contracts.subsumption.document import Budget
    from mcp_gen.contracts.subsumption.members import Patterns
    from mcp_gen.contracts.subsumption.reading import Reader
    from mcp_gen.contracts.subsumption.shapes import Conjunction, Shape

__all__ = ["Emptiness"]

MAX_DEPTH = 4
"""Most levels of members that are looked at to tell two objects apart."""


class Emptiness:
    """Proves that schemas have no values; where it cannot, it says that they may have some.

    Args:
        budget: Limits of the work.
        patterns: Matches patterns of names.
    """

    reader: Reader

    def __init__(self, budget: Budget, patterns: Patterns) -> None:
        self._budget = budget
        self._patterns = patterns

    def is_empty(self, shape: Shape, depth: int = 0) -> bool:
        """Return True if it is proven that no value has a shape."""
        if shape.values is not None and not shape.values:
            return True
        if shape.range.is_empty or shape.size.is_empty:
            return True
        if shape.kind == "object":
            return any(
                self._has_no_values(self._member(shape, one), depth) for one in shape.required
            )
        if shape.kind == "array" and shape.size.low:
            return self._has_no_values(item(shape, 0), depth)
        return False

    def _member(self, shape: Shape, name: str) -> Conjunction | None:
        try:
            return member(shape, name, self._patterns, as_sent=False)
        except Unreadable:
            return ()

    def has_no_values(self, all_of: Conjunction | None) -> bool:
        """Return True if it is proven that no value fits schemas; None stands for no schema."""
        return self._has_no_values(all_of, 0)

    def _has_no_values(self, all_of: Conjunction | None, depth: int) -> bool:
        if all_of is None:
            return True
        if not all_of or depth > MAX_DEPTH:
            return False
        self._budget.spend()
        try:
            shapes = self.reader.shapes(all_of)
        except Unreadable:
            return False
        return all(self.is_empty(one, depth + 1) for one in shapes)

    def are_disjoint(self, some: tuple[Shape, ...], others: tuple[Shape, ...]) -> bool:
        """Return True if it is proven that no value has a shape of both."""
        self._budget.spend(len(some) * len(others) // 4)
        return all(
            self.is_empty(one.meet(other))
            for one in some
            for other in others
            if one.kind == other.kind
        )
