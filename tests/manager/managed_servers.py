"""Servers of a manager that a test can disconnect, and the manager's events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp_gen import ClientManager, ManagerEvent, Reconnect, Server
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.transports.memory import MemoryTransport, memory_pair

__all__ = ["AT_ONCE", "Told", "Wire", "managing", "named_server"]

AT_ONCE = Reconnect(first_s=0, limit=3)
WAIT_S = 30.0


def named_server(name: str, **options: Any) -> Server:
    """Return a server whose tools, resource and prompt contain its name."""
    server = Server(name, **options)

    @server.tool
    async def who(text: str = "") -> str:
        return f"{name}{text}"

    @server.resource(f"{name}://page")
    async def page() -> str:
        return f"the page of {name}"

    @server.prompt
    def ask(topic: str) -> str:
        return f"{name} on {topic}"

    return server


class Wire:
    """Makes connections to a server of this process; a test can cut and refuse them."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.dials = 0
        self.refusal: Exception | None = None
        self._far: list[MemoryTransport] = []
        self._serving: set[asyncio.Task[None]] = set()

    def __call__(self) -> Duplex:
        self.dials += 1
        if self.refusal is not None:
            raise self.refusal
        ours, theirs = memory_pair()
        self._far.append(theirs)
        task = asyncio.get_running_loop().create_task(self.server.serve(theirs))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return ours

    async def cut(self) -> None:
        """Cut all connections."""
        for one in self._far:
            await one.aclose()
        self._far.clear()


class Told:
    """Records a manager's events; events that were awaited are removed."""

    def __init__(self, manager: ClientManager) -> None:
        self.events: list[ManagerEvent] = []
        self._taken = 0
        self._news = asyncio.Event()
        manager.on_event(self._hear)

    def _hear(self, event: ManagerEvent) -> None:
        self.events.append(event)
        self._news.set()

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Return the kind and the server of each event."""
        return [(one.kind, one.server) for one in self.events]

    async def next(self, *kinds: str) -> ManagerEvent:
        """Return the next event of these kinds, after the last that was awaited."""
        async with asyncio.timeout(WAIT_S):
            while True:
                while self._taken < len(self.events):
                    self._taken += 1
                    if self.events[self._taken - 1].kind in kinds:
                        return self.events[self._taken - 1]
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def managing(
    servers: Mapping[str, Any], **options: Any
) -> AsyncIterator[tuple[ClientManager, Told]]:
    """Start a manager that reconnects without delay, and yield it with its events."""
    manager = ClientManager(servers, **{"reconnect": AT_ONCE, **options})
    told = Told(manager)
    async with manager:
        yield manager, told
