"""The pages that a user was sent to, and whether the server has said that they are done with."""

from __future__ import annotations

import asyncio

__all__ = ["ElicitationCompletions"]

MAX_KEPT = 1000
"""How many pages are remembered that nobody has asked about yet."""


class ElicitationCompletions:
    """What one server told of pages, by their elicitation ids."""

    def __init__(self) -> None:
        self._done: dict[str, None] = {}
        self._waiting: dict[str, asyncio.Event] = {}

    def complete(self, id: str) -> None:
        """The server says so; it may know of pages that this client has never heard of."""
        self._done[id] = None
        if len(self._done) > MAX_KEPT:
            del self._done[next(iter(self._done))]
        if id in self._waiting:
            self._waiting[id].set()

    async def wait(self, id: str, timeout_s: float) -> bool:
        """Wait until it has said so; False if it did not in time."""
        if id in self._done:
            return True
        event = self._waiting.setdefault(id, asyncio.Event())
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting.pop(id, None)
        return True
