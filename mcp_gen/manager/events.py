"""Events of a manager and their listeners; back-off of reconnects."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

__all__ = ["KINDS", "EventDispatcher", "Kind", "Listener", "ManagerEvent", "Reconnect"]

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
    "tool_not_approved",
]
KINDS: tuple[str, ...] = get_args(Kind)

_log = logging.getLogger("mcp_gen.client")


@dataclass(frozen=True)
class ManagerEvent:
    """Event of one server of a ClientManager.

    `connected` and `connect_failed` report the first attempt to connect. `reconnecting` precedes
    each further attempt, with `attempt`, `delay_s` and the `error` that caused it; `reconnected`
    and `reconnect_failed` report the outcome. After `tools_changed`, `prompts_changed` and
    `resources_changed`, the next call for that list fetches it again; after `resource_updated`,
    the next read of `uri` does. `list_failed`: a list could not be fetched, and its last known
    items are kept. `tool_not_approved`: a tool is new, or not as it was locked; `error` says what
    has changed. `server_removed` follows `ClientManager.remove`.

    Args:
        kind: What happened.
        server: The name of the server, as it was given to the manager.
        error: The cause, where there is one.
        attempt: The number of the attempt to reconnect, counted from 1.
        delay_s: Seconds until that attempt.
        uri: With `resource_updated`: the resource.
        tool: With `tool_not_approved`: the server's own name of the tool.
    """

    kind: Kind
    server: str
    error: Exception | None = None
    attempt: int = 0
    delay_s: float = 0.0
    uri: str | None = None
    tool: str | None = None


Listener: TypeAlias = Callable[[ManagerEvent], Awaitable[Any] | Any]
"""Event listener, sync or async. An error that it raises is logged, and has no other effect."""


class EventDispatcher:
    """Listeners of one manager."""

    def __init__(self) -> None:
        self._listeners: list[tuple[Listener, frozenset[str]]] = []
        self._running: set[asyncio.Future[Any]] = set()

    def add(self, listener: Listener, kinds: tuple[Kind, ...]) -> None:
        """Register a listener for events of these kinds; for all if there are none."""
        self._listeners.append((listener, frozenset(kinds)))

    def emit(self, event: ManagerEvent) -> None:
        """Call the listeners: sync ones at once, async ones in tasks of their own."""
        for listener, kinds in list(self._listeners):
            if kinds and event.kind not in kinds:
                continue
            try:
                answer = listener(event)
            except Exception:
                _log.exception("a listener failed at %s of %s", event.kind, event.server)
                continue
            if inspect.isawaitable(answer):
                task = asyncio.ensure_future(_log_errors(answer, event))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def wait_delivered(self, wait_s: float) -> None:
        """Wait up to `wait_s` seconds for async listeners, then cancel the rest."""
        running = self._running - {asyncio.current_task()}
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=wait_s)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)


async def _log_errors(answer: Awaitable[Any], event: ManagerEvent) -> None:
    try:
        await answer
    except Exception:
        _log.exception("a listener failed at %s of %s", event.kind, event.server)


@dataclass(frozen=True)
class Reconnect:
    """Back-off of attempts to reconnect to a server.

    The delay before an attempt is `first_s * factor ** (attempt - 1)`, at most `max_s`, less a
    random part of up to `jitter`. A connection that lasts less than `stable_s` increases the next
    delays, by up to three steps.

    Args:
        first_s: Seconds before the first attempt.
        factor: Growth of the delay from one attempt to the next.
        max_s: The longest delay, in seconds.
        jitter: The random part of the delay, from 0 (none) to 1, so that many clients do not
            reconnect at the same moment.
        limit: Failed attempts in a row after which the server is given up.
        stable_s: Seconds after which a connection counts as stable.
    """

    first_s: float = 0.2
    factor: float = 2.0
    max_s: float = 30.0
    jitter: float = 0.5
    limit: int = 10
    stable_s: float = 5.0

    def delay_s(self, attempt: int, unstable: int = 0) -> float:
        """Return the seconds to wait before an attempt.

        Args:
            attempt: The number of the attempt, counted from 1.
            unstable: The number of connections in a row that lasted less than `stable_s`.
        """
        # At most three steps: a server that is merely restarted often must not wait for long.
        exponent = min(attempt - 1 + min(unstable, 3), 64)
        whole = min(self.max_s, self.first_s * self.factor**exponent)
        return whole * (1 - self.jitter * random.random())
