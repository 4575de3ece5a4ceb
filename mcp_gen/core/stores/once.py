"""Store of the values of `Context.once`: Protocol and in-memory implementation."""

from __future__ import annotations

import base64
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["MemoryOnceStore", "OnceStore", "new_once_name"]

MAX_KEPT = 1000


class OnceStore(Protocol):
    """Stores the values of `Context.once` between the rounds of a request.

    Its methods are awaited on the server's event loop. Values belong to a principal: nobody else
    gets them by their name. Values that have expired or were evicted are made again.
    """

    @property
    def values_are_json(self) -> bool:
        """True if `get` returns what JSON makes of the values; False if it returns the values."""
        ...

    @property
    def ttl_s(self) -> float:
        """Seconds for which values are stored after they were last put."""
        ...

    async def get(self, name: str | None, principal: str | None = None) -> dict[str, Any]:
        """Return the values of a name.

        Args:
            name: Name that `put` has returned; None for no values.
            principal: The user that the request belongs to; None where users are not authenticated.

        Returns:
            The values; empty if there are none, they have expired or belong to another principal.
        """
        ...

    async def put(
        self, name: str | None, values: dict[str, Any], principal: str | None = None
    ) -> str:
        """Store values for a limited time.

        Args:
            name: Name under which to store them; None for a new random one.
            values: The values by their keys. If `values_are_json`, JSON can encode them.
            principal: The user that the request belongs to; None where users are not authenticated.

        Returns:
            The name.
        """
        ...


def new_once_name() -> str:
    """Return a name that cannot be guessed."""
    return base64.urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode()


class MemoryOnceStore:
    """Stores values in memory, as the Python objects that they are.

    Args:
        ttl_s: Seconds for which values are stored after they were last put.
        clock: Returns seconds of a clock that does not go back, such as `time.monotonic`.
        limit: Maximum number of names, 1000 by default; the one put longest ago is evicted.
    """

    values_are_json = False

    def __init__(self, ttl_s: float, clock: Callable[[], float], limit: int = MAX_KEPT) -> None:
        self.ttl_s = ttl_s
        """Seconds for which values are stored after they were last put."""
        self._clock = clock
        self._limit = limit
        self._values: OrderedDict[tuple[str, str | None], tuple[float, dict[str, Any]]]
        self._values = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    async def get(self, name: str | None, principal: str | None = None) -> dict[str, Any]:
        """Return the values of a name; see `OnceStore.get`."""
        found = self._values.get((name or "", principal))
        return found[1] if found is not None and found[0] > self._clock() else {}

    async def put(
        self, name: str | None, values: dict[str, Any], principal: str | None = None
    ) -> str:
        """Store values under their name, or under a new random one; see `OnceStore.put`."""
        name = name or new_once_name()
        now = self._clock()
        self._values[name, principal] = (now + self.ttl_s, values)
        self._values.move_to_end((name, principal))
        while self._values:
            oldest, (end, _) = next(iter(self._values.items()))
            if end > now and len(self._values) <= self._limit:
                break
            del self._values[oldest]
        return name
