"""Rows of an overlay that say how decoding deviates from a schema, and schemas without some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from codegen.model.overlay import Overlay

Row: TypeAlias = Mapping[str, Any]

LENT: str = "lent"
"""Key of a row that a draft only borrows: it applies there as far as it fits."""

DEVIATIONS: Sequence[str] = (
    "unchecked",
    "reads bound",
    "reads integer",
    "reads constant",
    "reads null",
    "reads unknown key",
    "lenient",
    "open",
    "closed",
    "unknown",
    "pick",
    "inject",
    "const",
    "patch",
    "alias",
)
"""Kinds of rows that may explain a difference, in the order in which one is looked for.

Rows of [[reads]] state a rule each, so each rule is a kind of its own.
"""


@dataclass(frozen=True)
class Rows:
    """The rows that apply to one revision, by kind."""

    tables: Mapping[str, Sequence[Row]]

    @classmethod
    def of(cls, overlay: Overlay, revision: str) -> Rows:
        """Return the rows of an overlay that apply to a revision."""
        tables: dict[str, list[Row]] = {}
        for kind in (*{word.partition(" ")[0] for word in DEVIATIONS}, "extra", "name", "typing"):
            tables[kind] = [
                {**row.values, LENT: True} if row.lent_to == revision else row.values
                for row in overlay.rows(kind, revision)
            ]
        return cls(tables)

    def without(self, deviations: Iterable[str]) -> Rows:
        """Return the rows without those of some kinds of `DEVIATIONS`."""
        tables = dict(self.tables)
        for deviation in deviations:
            kind, _, rule = deviation.partition(" ")
            tables[kind] = [row for row in tables.get(kind, ()) if rule and row["rule"] != rule]
        return Rows(tables)

    def kind(self, kind: str) -> Sequence[Row]:
        return self.tables.get(kind, ())

    def match(self, kind: str, path: str) -> bool:
        """Return True if one of the `paths` of a kind matches this path."""
        patterns = (pattern for row in self.kind(kind) for pattern in row["paths"])
        return any(fnmatchcase(path, pattern) for pattern in patterns)

    def names(self, kind: str) -> set[str]:
        """Return all `names` in the rows of a kind."""
        return {name for row in self.kind(kind) for name in row["names"]}

    def reads(self, rule: str) -> bool:
        """Return True if a [[reads]] row states this rule."""
        return any(row["rule"] == rule for row in self.kind("reads"))
