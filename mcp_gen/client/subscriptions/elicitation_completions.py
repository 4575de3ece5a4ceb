"""Completed URL elicitations (`notifications/elicitation/complete`)."""

from __future__ import annotations

import asyncio

from mcp_gen.core.peer_values import MAX_ID_LENGTH

__all__ = ["ElicitationCompletions"]

MAX_KEPT = 1000
"""Maximum number of completions that are remembered."""


class ElicitationCompletions:
    """Completions of URL elicitations by one server, by elicitation id."""

    def __init__(self) -> None:
        self._done: dict[str, None] = {}
        self._waiting: dict[str, asyncio.Event] = {}

    def complete(self, id: str) -> None:
        """Record a completion; the id may be unknown to this client."""
        if len(id) > MAX_ID_LENGTH:
            return
        self._done[id] = None
        if len(self._done) > MAX_KEPT:
            del self._done[next(iter(self._done))]
        if id in self._waiting:
            self._waiting[id].set()

    async def wait(self, id: str, timeout_s: float) -> bool:
        """Wait for a completion; return False if `timeout_s` passes first."""
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
