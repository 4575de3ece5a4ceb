"""Connection to a server of this process: memory, and the task that serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mcp_gen.transports.memory import MemoryTransport

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex, Receiver

__all__ = ["Background", "ConnectableServer", "InProcessTransport"]

Background: TypeAlias = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Runs a coroutine in the background."""


class ConnectableServer(Protocol):
    """A server in this process."""

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects."""
        ...


class InProcessTransport(MemoryTransport):
    """Client end of an in-memory pair, whose other end is served by a task.

    An error before the server has started (its lifespan, its factory) is raised by `start` as it
    is. A later one is raised by the task. Both ends are of this class, because Python runs methods
    faster that always see the same one.

    Args:
        server: The server.
        background: Runs the serving coroutine.
    """

    def __init__(self, server: ConnectableServer, background: Background) -> None:
        super().__init__()
        self._server = server
        self._background = background
        self._is_served = False
        """True for the end of the server."""
        self._serving: asyncio.Task[None] | None = None
        self._served: asyncio.Future[None] | None = None
        """Done when the server has started, or has failed."""

    async def start(self, receiver: Receiver) -> None:
        """Start serving, then delivering messages.

        Raises:
            Exception: what kept the server from serving, such as a LifespanError.
        """
        if self._is_served:
            await super().start(receiver)
            if self._served is not None and not self._served.done():
                self._served.set_result(None)
            return
        served = self._served = asyncio.get_running_loop().create_future()
        end = self._other_end(served)
        self.peer = end
        self._serving = self._background(self._serve(end, served))
        await served
        await super().start(receiver)

    async def aclose(self) -> None:
        """Close both ends. A server that is still starting is cancelled."""
        # The future is cancelled with the `start` that waits for it.
        served = self._served
        if self._serving is not None and served and (served.cancelled() or not served.done()):
            self._serving.cancel()
        await super().aclose()

    def _other_end(self, served: asyncio.Future[None]) -> InProcessTransport:
        """Return the end of the server, which says when the server has started."""
        end = InProcessTransport(self._server, self._background)
        end._is_served, end._served, end.peer = True, served, self
        return end

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
