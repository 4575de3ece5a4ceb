"""What a server sets up before it serves anybody, and takes down when it has served everybody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from mcp_gen.core.error_groups import describe
from mcp_gen.core.errors import LifespanError

if TYPE_CHECKING:
    from mcp_gen.server.serving.servable import HasLifespan

__all__ = ["Lifespan", "MakeLifespan"]

S = TypeVar("S", bound="HasLifespan")
MakeLifespan: TypeAlias = Callable[[S], AbstractAsyncContextManager[Any]]
"""`lifespan(server)`: an async context manager; what it gives is `ctx.lifespan`."""

_log = logging.getLogger("mcp_gen.server")


class Lifespan(Generic[S]):
    """Runs a server's lifespan while somebody needs it.

    In a task of its own, because what it enters must be left in the task that entered it, and
    whoever needs it first need not be the last.
    """

    def __init__(self, server: S, make: MakeLifespan[S]) -> None:
        self._server = server
        self._make = make
        self._needed = 0
        self._kept = False
        self._running: _Running[S] | None = None

    async def acquire(self) -> None:
        """Need it: enter it if nobody else does. To be followed by `release`, unless this raises.

        Raises:
            LifespanError: it could not be entered.
        """
        if self._running and self._running.is_out_of_reach():
            self._running, self._needed, self._kept = None, 0, False
        self._needed += 1
        try:
            await self._entered()
        except BaseException:
            await self.release()
            raise

    async def _entered(self) -> None:
        while self._running and self._running.ends:
            # What is being left is left before it is entered again.
            await self._running.over()
        if self._running is None or self._running.task.done():
            self._running = _Running(self._server, self._make)
        # Shielded: several may wait for the one start, and one of them may give up.
        await asyncio.shield(self._running.ready)

    async def release(self) -> None:
        """Need it no longer: it is left when nobody does.

        Raises:
            LifespanError: it failed, at its end or before it.
        """
        self._needed -= 1
        running = self._running
        if self._needed or running is None:
            return
        running.end()
        await running.over()
        if self._running is running:
            self._running = None
        running.raise_what_failed()

    async def hold(self) -> None:
        """Need it until `let_go`, however often this is called. Raises what `acquire` raises."""
        if self._kept and self._running and not self._running.is_out_of_reach():
            return
        await self.acquire()
        if self._kept:
            await self.release()
        self._kept = True

    async def release_hold(self) -> None:
        """The end of `keep`."""
        if self._kept:
            self._kept = False
            await self.release()


class _Running(Generic[S]):
    """One time that a lifespan is entered and left."""

    def __init__(self, server: S, make: MakeLifespan[S]) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = server
        self._stop = asyncio.Event()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.task = self._loop.create_task(self._run(make))

    @property
    def ends(self) -> bool:
        """Whether it is being left."""
        return self._stop.is_set() and not self.task.done()

    def is_out_of_reach(self) -> bool:
        """Whether its event loop is gone, which happens where nobody tells of the end."""
        return self._loop.is_closed()

    def end(self) -> None:
        """Leave it, or give up entering it."""
        self._stop.set()
        if not self.ready.done():
            self.task.cancel()

    async def over(self) -> None:
        """Wait until it is left."""
        await asyncio.wait([self.task])

    def raise_what_failed(self) -> None:
        """Raise what kept it from ending well."""
        if self.task.done() and not self.task.cancelled():
            self.task.result()

    async def _run(self, make: MakeLifespan[S]) -> None:
        server = self._server
        try:
            async with make(server) as value:
                server.runtime.lifespan_value = value
                self.ready.set_result(None)
                await self._stop.wait()
        except asyncio.CancelledError:
            self.ready.cancel()
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {describe(error)}"
            if not self.ready.done():
                failed = LifespanError(
                    f"server {server.name!r}: its lifespan did not start: {what}"
                )
                failed.__cause__ = error
                self.ready.set_exception(failed)
                return
            if not self._stop.is_set():
                _log.exception("server %r: its lifespan has ended while it serves", server.name)
                server.end_sessions()
            raise LifespanError(f"server {server.name!r}: its lifespan failed: {what}") from error
        finally:
            server.runtime.lifespan_value = None
