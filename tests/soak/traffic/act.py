"""Acts: the single steps of soak clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp_wire.profile import Profile

__all__ = ["Act"]


@dataclass(frozen=True)
class Act:
    """Act of a client, with its weight and its revisions."""

    does: Callable[[Any], Awaitable[None]]
    weight: int = 1
    fits: Callable[[Profile], object] = lambda profile: True

    @property
    def name(self) -> str:
        """Name of the act in reports."""
        return self.does.__name__.replace("_", " ")
