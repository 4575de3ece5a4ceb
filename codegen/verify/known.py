"""Differences of the pydantic surface that are known and not named by a row of the overlay.

The table is as small as it can be: an entry goes when the surface no longer differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from codegen.verify.surfaces import Outcome


@dataclass(frozen=True)
class Known:
    """One kind of difference, with its reason and how it is told from others."""

    name: str
    reason: str
    fits: Callable[[Outcome], bool]


_BOUNDS = ("greater_than", "less_than", "too_long", "too_short")


def _is_bound(outcome: Outcome) -> bool:
    return outcome.problem.startswith(_BOUNDS)


KNOWN: Sequence[Known] = (Known("bound", "models check the bounds of the schema", _is_bound),)


def known_difference(surface: str, outcome: Outcome) -> str:
    """Return the name of the entry that explains an outcome, or nothing."""
    if surface != "pydantic":
        return ""
    return next((one.name for one in KNOWN if one.fits(outcome)), "")
