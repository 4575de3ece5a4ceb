"""Runs the lifespan of a server while at least one user needs it."""

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
"""`lifespan(server)` returns an async context manager, whose value is `ctx.lifespan`."""

_log = logging.getLogger("mcp_gen.server")


class Lifespan(Generic[S]):
    """Runs the lifespan of a server, counted by its users.

    It runs in a task of its own, because a context manager must be exited in the task that entered
    it, and the first user need not be the last.

    Args:
        server: Server that the lifespan belongs to.
        make: Function that returns the async context manager.
    """

    def __init__(self, server: S, make: MakeLifespan[S]) -> None:
        self._server = server
        self._make = make
        self._users = 0
        self._is_held = False
        self._running: _Running[S] | None = None

    async def acquire(self) -> None:
        """Enter the lifespan for the first user; pair with `release`, unless this raises.

        Raises:
            LifespanError: the lifespan could not be entered.
        """
        if self._running and self._running.is_loop_closed():
            self._running, self._users, self._is_held = None, 0, False
        self._users += 1
        try:
            await self._wait_entered()
        except BaseException:
            await self.release()
            raise

    async def _wait_entered(self) -> None:
        while self._running and self._running.is_ending:
            # Let the last run end before the next one starts.
            await self._running.wait_ended()
        if self._running is None or self._running.task.done():
            self._running = _Running(self._server, self._make)
        # Shielded: one of several waiting users may be cancelled.
        await asyncio.shield(self._running.ready)

    async def release(self) -> None:
        """Exit the lifespan after its last user.

        Raises:
            LifespanError: the lifespan failed, at its end or before it.
        """
        self._users -= 1
        running = self._running
        if self._users or running is None:
            return
        running.end()
        await running.wait_ended()
        if self._running is running:
            self._running = None
        running.raise_failure()

    async def hold(self) -> None:
        """Acquire the lifespan until `release_hold`; further calls do nothing new.

        Raises:
            LifespanError: the lifespan could not be entered.
        """
        if self._is_held and self._running and not self._running.is_loop_closed():
            return
        await self.acquire()
        if self._is_held:
            await self.release()
        self._is_held = True

    async def release_hold(self) -> None:
        """Release what `hold` acquired; does nothing without it."""
        if self._is_held:
            self._is_held = False
            await self.release()


class _Running(Generic[S]):
    """One run of a lifespan, from its start to its end."""

    def __init__(self, server: S, make: MakeLifespan[S]) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = server
        self._stop = asyncio.Event()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.task = self._loop.create_task(self._run(make))

    @property
    def is_ending(self) -> bool:
        """True while the lifespan is being exited."""
        return self._stop.is_set() and not self.task.done()

    def is_loop_closed(self) -> bool:
        """Return True if the event loop of the lifespan is closed, as after an unannounced end."""
        return self._loop.is_closed()

    def end(self) -> None:
        """Exit the lifespan, or cancel its start."""
        self._stop.set()
        if not self.ready.done():
            self.task.cancel()

    async def wait_ended(self) -> None:
        """Wait until the lifespan has ended."""
        await asyncio.wait([self.task])

    def raise_failure(self) -> None:
        """Raise the error that the lifespan ended with."""
        if self.task.done() and not self.task.cancelled():
            self.task.result()

    async def _run(self, make: MakeLifespan[S]) -> None:
        server = self._server
        try:
            async with make(server) as value:
                server.runtime.lifespan_value = value
                self.ready.set_result(None)
                await self._stop.wait()
        except asyncio.CancelledError as error:
            self._fail_start("it was cancelled", error)
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {describe(error)}"
            if self._fail_start(what, error):
                return
            if not self._stop.is_set():
                _log.exception("server %r: its lifespan has ended while it serves", server.name)
                server.end_sessions()
            raise LifespanError(f"server {server.name!r}: its lifespan failed: {what}") from error
        finally:
            server.runtime.lifespan_value = None

    def _fail_start(self, what: str, error: BaseException) -> bool:
        """Fail the users that wait for the start; return False if the lifespan has started."""
        if self.ready.done():
            return False
        name = self._server.name
        failed = LifespanError(f"server {name!r}: its lifespan did not start: {what}")
        failed.__cause__ = error
        self.ready.set_exception(failed)
        # Marked as retrieved: the users may have given up.
        self.ready.exception()
        return True
