"""Differences of the pydantic surface that are known and not named by a row of the overlay.

The table is as small as it can be: an entry goes when the surface no longer differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from codegen.verify.surfaces import Outcome


@dataclass(frozen=True)
class Seen:
    """Outcome of an instance on the surface, where the schema as it is read has another."""

    definition: str
    outcome: Outcome
    has_unknown_key: Callable[[], bool]
    """Tells whether the instance has a key that the schema does not name."""


@dataclass(frozen=True)
class Known:
    """One kind of difference, with its reason and how it is told from others."""

    name: str
    reason: str
    fits: Callable[[Seen], bool]


_BOUNDS = ("greater_than", "less_than", "too_long", "too_short")


def _is_bound(seen: Seen) -> bool:
    return seen.outcome.problem.startswith(_BOUNDS)


def _is_unknown_key(seen: Seen) -> bool:
    return ": no key `" in seen.outcome.problem and seen.has_unknown_key()


def _is_lax_scalar(seen: Seen) -> bool:
    return seen.definition in ("ProgressToken", "RequestId") and not seen.outcome.problem


KNOWN: Sequence[Known] = (
    Known("bound", "models check the bounds of the schema", _is_bound),
    Known(
        "unknown key",
        "models keep unknown keys, and `from_pydantic` refuses what a wire type cannot hold",
        _is_unknown_key,
    ),
    Known(
        "lax scalar",
        "models alone are strict: a scalar outside of one takes `true` and 1.0 for an integer",
        _is_lax_scalar,
    ),
)


def known_difference(surface: str, seen: Seen) -> str:
    """Return the name of the entry that explains a difference, or nothing."""
    if surface != "pydantic":
        return ""
    return next((one.name for one in KNOWN if one.fits(seen)), "")
