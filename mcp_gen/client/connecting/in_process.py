"""Connection to a server of this process: memory, and the task that serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from mcp_gen.transports.memory import MemoryTransport

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex, Receiver

__all__ = ["Background", "ConnectableServer", "InProcessTransport"]

Background: TypeAlias = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Runs a coroutine in the background."""


@runtime_checkable
class ConnectableServer(Protocol):
    """A server in this process."""

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects."""
        ...


class InProcessTransport(MemoryTransport):
    """Client end of an in-memory pair, whose other end is served by a task.

    An error before the server has started (its lifespan, its factory) is raised by `start` as it
    is. A later one is raised by the task.

    Args:
        server: The server.
        background: Runs the serving coroutine.
    """

    def __init__(self, server: ConnectableServer, background: Background) -> None:
        super().__init__()
        self._server = server
        self._background = background
        self._serving: asyncio.Task[None] | None = None
        self._served: asyncio.Future[None] | None = None
        """Done when the server has started, or has failed."""

    async def start(self, receiver: Receiver) -> None:
        """Start serving, then delivering messages.

        Raises:
            Exception: what kept the server from serving, such as a LifespanError.
        """
        loop = asyncio.get_running_loop()
        served = self._served = loop.create_future()
        self.peer = _ServedEnd(served)
        self.peer.peer = self
        self._serving = self._background(self._serve(self.peer, served))
        await served
        await super().start(receiver)

    async def aclose(self) -> None:
        """Close both ends. A server that is still starting is cancelled."""
        # The future is cancelled with the `start` that waits for it.
        served = self._served
        if self._serving is not None and served and (served.cancelled() or not served.done()):
            self._serving.cancel()
        await super().aclose()

    async def _serve(self, end: MemoryTransport, served: asyncio.Future[None]) -> None:
        try:
            await self._server.serve(end)
        except asyncio.CancelledError:
            if served.done() and not served.cancelled():
                raise
            served.cancel()
        except Exception as error:
            if served.done():
                raise
            served.set_exception(error)
        if not served.done():
            served.set_result(None)


class _ServedEnd(MemoryTransport):
    """Server end, which says when the server has started."""

    def __init__(self, served: asyncio.Future[None]) -> None:
        super().__init__()
        self._served = served

    async def start(self, receiver: Receiver) -> None:
        await super().start(receiver)
        if not self._served.done():
            self._served.set_result(None)
