"""One server of a manager: starting, stopping, and calls that wait for reconnects."""

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
    """One server by name. Only calls raise the server's errors; everything else emits events."""

    # --- start and stop ---

    def start(self) -> None:
        """Start the task that connects and keeps connected, unless disabled or invalid."""
        if self.config is None or self.config.disabled:
            self._set_state("failed" if self.config is None else "disabled")
            self.tried.set()
            if self.config is None:
                self._emit("connect_failed", error=self.error)
                return
        else:
            self._wanted.set()
        self._task = asyncio.get_running_loop().create_task(self._supervise())

    async def stop(self) -> None:
        """Stop the task, and disconnect for good."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self.error = SessionLost(f"{self.name}: the manager has let go of this server")
        self._set_state("failed")
        self.tried.set()
        await self._disconnect()
        await self._close_authorizer()

    async def reconnect(self) -> None:
        """Connect now: also a server that was given up, is disabled, or is connected.

        Returns once the attempt has ended.

        Raises:
            UsageError: the configuration of the server is invalid.
        """
        if self._task is None:
            raise UsageError(str(self.error))
        if self._lost is not None and not self._lost.done():
            await self._disconnect()
            self._break(SessionLost(f"{self.name}: asked to reconnect"))
        # Not before: the attempt that made the connection may have ended meanwhile.
        self.tried.clear()
        self._wanted.set()
        await self.tried.wait()

    # --- calls ---

    async def connected(self, wait_s: float | None = None) -> ClientSession:
        """Return the session; wait for it while the server is connecting or reconnecting.

        Args:
            wait_s: The longest wait in seconds; None, or more than `wait_s` of the manager, takes
                that.

        Raises:
            SessionLost: the server is not connected, or was not within that time; the message says
                why.
        """
        if self.state == "connected" and self.session is not None and not self.session.is_lost:
            return self.session
        limit_s = self._policy.wait_s if wait_s is None else min(wait_s, self._policy.wait_s)
        try:
            async with asyncio.timeout(limit_s):
                return await self._wait_connected()
        except TimeoutError:
            said = f"{self.name}: {self.state} for {limit_s:g} s"
            raise SessionLost(f"{said}: {self.error}" if self.error else said) from self.error

    async def _wait_connected(self) -> ClientSession:
        while True:
            await self._settled.wait()
            session = self.session
            if self.state != "connected" or session is None:
                why = f": {self.error}" if self.error else ""
                raise SessionLost(f"{self.name} is {self.state}{why}") from self.error
            if not session.is_lost:
                return session
            # Lost before the supervisor noticed: let it reconnect.
            self._break(SessionLost("the connection has ended"))

    async def request(
        self, call: Callable[[ClientSession], Awaitable[T]], *, again: bool, wait_s: float | None
    ) -> T:
        """Make a call with the session, and return its result.

        Args:
            call: The call.
            again: True makes it once more if the server disconnects during it.
            wait_s: See `connected`.
        """
        session = await self.connected(wait_s)
        try:
            return await call(session)
        except TransportError as error:
            if isinstance(error, HttpError):
                raise  # the server answered: no reason to reconnect
            if session is self.session:
                self._break(error)
            if not again:
                raise
        return await call(await self.connected(wait_s))

    def on_change(self, kind: str) -> None:
        """Handle a `list_changed` notification."""
        self.lists.invalidate(kind)
        self._emit(_CHANGED[kind])
