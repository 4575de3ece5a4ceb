"""Ids of nodes, and the hooks that run with each heartbeat."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable

__all__ = ["HookRunner", "new_node_id"]

log = logging.getLogger("mcp_gen.cluster")

NODE_ID_BYTES = 9


def new_node_id() -> str:
    """Return a random id: letters, digits, `-` and `_`."""
    return secrets.token_urlsafe(NODE_ID_BYTES)


class HookRunner:
    """Hooks of the heartbeat; they run at once, so that what they write shares a pipeline."""

    def __init__(self) -> None:
        self._hooks: list[Callable[[], Awaitable[None]]] = []

    def add(self, hook: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Register a hook and return a function that removes it."""
        self._hooks.append(hook)

        def remove() -> None:
            if hook in self._hooks:
                self._hooks.remove(hook)

        return remove

    async def run(self) -> None:
        """Await all hooks. An error of a hook is logged."""
        hooks = tuple(self._hooks)
        results = await asyncio.gather(*(hook() for hook in hooks), return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                log.warning("cluster: a hook of the heartbeat failed: %s", result)
