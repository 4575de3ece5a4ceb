"""One server of a manager, as the manager uses it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from mcp_gen.core.errors import HttpError, SessionLost, TransportError, UsageError
from mcp_gen.manager.events import Kind
from mcp_gen.manager.supervisor import ConnectionSupervisor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_gen.client.session.session import ClientSession

__all__ = ["ManagedServer"]

T = TypeVar("T")

_CHANGED: Mapping[str, Kind] = {
    "tools": "tools_changed",
    "prompts": "prompts_changed",
    "resources": "resources_changed",
}


class ManagedServer(ConnectionSupervisor):
    """A server by its name. Nothing here raises for what the server does, but calls to it."""

    # --- beginning and ending ---

    def start(self) -> None:
        """Connect, and stay connected, in a task of its own."""
        if self.config is None or self.config.disabled:
            self._to("failed" if self.config is None else "disabled")
            self.tried.set()
            if self.config is None:
                self._emit("connect_failed", error=self.error)
                return
        else:
            self._wanted.set()
        self._task = asyncio.get_running_loop().create_task(self._supervise())

    async def stop(self) -> None:
        """Disconnect for good."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self.error = SessionLost(f"{self.name}: the manager has let go of this server")
        self._to("failed")
        self.tried.set()
        await self._disconnect()

    async def reconnect(self) -> None:
        """Try again now: one that was given up, is disabled, or is connected."""
        if self._task is None:
            raise UsageError(str(self.error))
        self.tried.clear()
        if self._lost is not None and not self._lost.done():
            await self._disconnect()
            self._break(SessionLost(f"{self.name}: asked to reconnect"))
        self._wanted.set()
        await self.tried.wait()

    # --- using it ---

    async def connected(self, wait_s: float | None = None) -> ClientSession:
        """The session, once there is one.

        Raises:
            SessionLost: there is none, or there was none within `wait_s`; the message says why.
        """
        if self.state == "connected" and self.session is not None and not self.session.is_lost:
            return self.session
        limit_s = self._policy.wait_s if wait_s is None else min(wait_s, self._policy.wait_s)
        try:
            async with asyncio.timeout(limit_s):
                return await self._once_connected()
        except TimeoutError:
            said = f"{self.name}: {self.state} for {limit_s:g} s"
            raise SessionLost(f"{said}: {self.error}" if self.error else said) from self.error

    async def _once_connected(self) -> ClientSession:
        while True:
            await self._settled.wait()
            session = self.session
            if self.state != "connected" or session is None:
                why = f": {self.error}" if self.error else ""
                raise SessionLost(f"{self.name} is {self.state}{why}") from self.error
            if not session.is_lost:
                return session
            # Found out before the supervisor did: it takes over in its next turn.
            self._break(SessionLost("the connection has ended"))

    async def ask(
        self, call: Callable[[ClientSession], Awaitable[T]], *, again: bool, wait_s: float | None
    ) -> T:
        """What the call gives. With `again` it is made once more if the server goes away at it."""
        session = await self.connected(wait_s)
        try:
            return await call(session)
        except TransportError as error:
            if isinstance(error, HttpError):
                raise  # it is there, and says no
            if session is self.session:
                self._break(error)
            if not again:
                raise
        return await call(await self.connected(wait_s))

    def on_change(self, kind: str) -> None:
        """It told that there are others of a kind."""
        self.lists.invalidate(kind)
        self._emit(_CHANGED[kind])
