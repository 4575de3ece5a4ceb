"""Findings of a comparison: where one schema says less than another, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

__all__ = ["ITEM", "OTHERS", "FindingKind", "SchemaFinding", "Step"]

FindingKind: TypeAlias = Literal[
    "excluded",
    "kind",
    "multiple",
    "names",
    "not compared",
    "opaque",
    "pattern",
    "range",
    "required",
    "size",
    "unique",
    "values",
]
"""Kind of a difference; `excluded` is a member or an item that may not be there."""

ITEM = "[*]"
"""Step to any further item."""
OTHERS = ".*"
"""Step to any member that is not named."""
Step: TypeAlias = str | int
"""Step of a path: the name of a member, the number of an item, ITEM or OTHERS."""


@dataclass(frozen=True)
class SchemaFinding:
    """One place where a value of the one schema is no value of the other, or may be none.

    Args:
        kind: What differs.
        is_certain: True if there is such a value; False if it cannot be told.
        says: What the other schema demands there, or why it cannot be compared.
        path: The place, as steps from the root.
        example: Values to try at that place.
        witness: A whole value that shows it, if one was found: it fits the one schema, and not the
            other.
    """

    kind: FindingKind
    is_certain: bool
    says: str = ""
    path: tuple[Step, ...] = ()
    example: tuple[Any, ...] = ()
    witness: tuple[Any, ...] = ()

    def below(self, step: Step) -> SchemaFinding:
        """Return the same finding, seen from one level above."""
        return replace(self, path=(step, *self.path))

    def unsure(self) -> SchemaFinding:
        """Return the same finding as one that cannot be told."""
        return replace(self, is_certain=False) if self.is_certain else self

    @property
    def where(self) -> str:
        """The place as a JSON path below the root: `.a[0]`; empty for the root."""
        return "".join(map(_shown, self.path))


def _shown(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return step if step in (ITEM, OTHERS) else f".{step}"
