"""A limit on what one peer can cause, and how a test reaches it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["TAKEN", "Limit", "Reach"]

TAKEN = "taken"

Reach: TypeAlias = Callable[[int], Awaitable[str]]
"""Does as much as asked, against a limit of `Limit.at`.

Returns `TAKEN`, or how it was refused: the error code, the HTTP status, or a word.
"""


@dataclass(frozen=True)
class Limit:
    """A limit on what one peer can cause.

    Args:
        name: What is limited, as in `URIs of one listen`.
        at: The most that is taken; the tests set the option to it.
        far: An amount far above it.
        refusal: What `reach` returns above the limit.
        reach: Does as much as asked and tells the outcome.
    """

    name: str
    at: int
    far: int
    refusal: str
    reach: Reach
