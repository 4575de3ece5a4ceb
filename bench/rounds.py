"""Several rounds of the rows against bare programs, merged into one report."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec import Struct, structs

from bench.about import About
from bench.sampling import Row

__all__ = ["Bare", "Rounds", "merged", "named"]

_AGAIN = "the same"


class Rounds(Struct, frozen=True, kw_only=True):
    """A row of all rounds: the median of each round, and what they are together."""

    group: str
    row: Row
    """Its name says what `the same` means; its figures are medians of the rounds."""
    met: bool | None
    ratios: list[float]
    """Ratio of ours and bare of each round."""
    ours: list[float]
    """Our figure of each round."""


class Bare(Struct, frozen=True, kw_only=True):
    """All rows against bare programs, with the circumstances of the run."""

    about: About
    rows: list[Rounds]


def named(rows: Sequence[Row]) -> list[Row]:
    """Return rows of one group, each with a name that does not need the one before."""
    found: list[Row] = []
    base = ""
    for row in rows:
        name = row.name
        if name.startswith(_AGAIN):
            name = base + name.removeprefix(_AGAIN)
        else:
            base = name
        found.append(structs.replace(row, name=name))
    return found


def merged(group: str, rounds: Sequence[Sequence[Row]]) -> list[Rounds]:
    """Return the rows of a group, which has the same rows in each round."""
    found: list[Rounds] = []
    for same in zip(*map(named, rounds), strict=True):
        row = structs.replace(
            same[0],
            ours=median(one.ours for one in same),
            bare=median(one.bare for one in same),
            ratio=median(one.ratio for one in same),
            low=median(one.low for one in same),
            high=median(one.high for one in same),
        )
        ratios, ours = [one.ratio for one in same], [one.ours for one in same]
        found.append(Rounds(group=group, row=row, met=row.met, ratios=ratios, ours=ours))
    return found
