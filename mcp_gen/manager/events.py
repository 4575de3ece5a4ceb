"""What a manager tells of its servers, to whoever listens; and when it tries again."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["EventDispatcher", "Kind", "Listener", "ManagerEvent", "Reconnect"]

Kind: TypeAlias = Literal[
    "connected",
    "connect_failed",
    "reconnecting",
    "reconnected",
    "reconnect_failed",
    "server_removed",
    "tools_changed",
    "prompts_changed",
    "resources_changed",
    "resource_updated",
    "list_failed",
]

_log = logging.getLogger("mcp_gen.client")


@dataclass(frozen=True)
class ManagerEvent:
    """Something happened to a server of a ClientManager.

    `connected` and `connect_failed` are about the first attempt. `reconnecting` comes before each
    further one, with `attempt`, `delay_s` until then, and `error`, which is why; `reconnected` and
    `reconnect_failed` say how that ended. After `tools_changed`, `prompts_changed` and
    `resources_changed` the next call of that list asks anew; after `resource_updated` the next read
    of `uri` does. `list_failed`: a list could not be had; the one that is known is kept.
    """

    kind: Kind
    server: str
    """The server's name, as it was given to the manager."""
    error: Exception | None = None
    attempt: int = 0
    """Which attempt to reconnect this is about, counted from 1."""
    delay_s: float = 0.0
    """How long until that attempt, in seconds."""
    uri: str | None = None


Listener: TypeAlias = Callable[[ManagerEvent], Awaitable[Any] | Any]
"""Called with each event, sync or async. What it raises is logged, and changes nothing else."""


class EventDispatcher:
    """The listeners of one manager."""

    def __init__(self) -> None:
        self._listeners: list[tuple[Listener, frozenset[str]]] = []
        self._running: set[asyncio.Future[Any]] = set()

    def add(self, listener: Listener, kinds: tuple[Kind, ...]) -> None:
        """Tell a listener of events of these kinds, or of all."""
        self._listeners.append((listener, frozenset(kinds)))

    def emit(self, event: ManagerEvent) -> None:
        """Tell of an event: sync listeners at once, async ones in tasks of their own."""
        for listener, kinds in list(self._listeners):
            if kinds and event.kind not in kinds:
                continue
            try:
                answer = listener(event)
            except Exception:
                _log.exception("a listener failed at %s of %s", event.kind, event.server)
                continue
            if inspect.isawaitable(answer):
                task = asyncio.ensure_future(_watched(answer, event))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def wait_delivered(self, wait_s: float) -> None:
        """Wait for the async listeners, and end those that take longer."""
        running = self._running - {asyncio.current_task()}
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=wait_s)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)


async def _watched(answer: Awaitable[Any], event: ManagerEvent) -> None:
    try:
        await answer
    except Exception:
        _log.exception("a listener failed at %s of %s", event.kind, event.server)


@dataclass(frozen=True)
class Reconnect:
    """When a server that went away is tried again, and for how long.

    The first attempt follows after `first_s`, each further one after `factor` times as long, at
    most `max_s`; `jitter` is the part of that which is left to chance, so that many clients do not
    come at once. After `limit` vain attempts in a row the server is given up. One that holds for
    less than `stable_s` is taken up again somewhat later each time.
    """

    first_s: float = 0.2
    factor: float = 2.0
    max_s: float = 30.0
    jitter: float = 0.5
    limit: int = 10
    stable_s: float = 5.0

    def delay_s(self, attempt: int, unstable: int = 0) -> float:
        """How long to wait before an attempt, counted from 1, in seconds.

        `unstable` is how often in a row the server went away soon after it had come.
        """
        # A server that is only restarted often must not be kept waiting for long.
        exponent = min(attempt - 1 + min(unstable, 3), 64)
        whole = min(self.max_s, self.first_s * self.factor**exponent)
        return whole * (1 - self.jitter * random.random())
