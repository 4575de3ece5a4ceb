"""Channel that tags messages with their task (`io.modelcontextprotocol/related-task`)."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from mcp_gen.core.errors import RequestTimeout, SessionLost

if TYPE_CHECKING:
    from msgspec import Raw

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress

__all__ = ["TaskChannel"]

P = TypeVar("P")
R = TypeVar("R")


class TaskChannel:
    """Channel of a task handler, independent of the request that created the task.

    Messages go to an open `tasks/result` request, the newest first, or else to the session that
    requested the task last. Requests wait until the client is reachable, and are sent again if the
    channel is lost before the response. Notifications are dropped while it is unreachable.

    Args:
        task: The task.
        related_meta: Members that are added to `_meta` of every message.
    """

    def __init__(self, task: RunningTask, related_meta: dict[str, Any]) -> None:
        self._task = task
        self._related_meta = related_meta
        self._channels: list[Channel] = []
        self._change: asyncio.Future[None] | None = None

    # --- channels to the client ---

    def open(self, channel: Channel) -> None:
        """Attach the channel of a `tasks/result` request."""
        self._channels.append(channel)
        self.check()

    def close(self, channel: Channel) -> None:
        """Detach the channel of a request."""
        self._channels.remove(channel)

    def check(self) -> None:
        """Check again if the client is reachable."""
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    def _current_channel(self) -> Channel | None:
        for channel in reversed(self._channels):
            if _is_open(channel):
                return channel
        session = self._task.session
        return session.channel if session is not None and session.reachable else None

    async def _wait_for_change(self) -> None:
        if self._change is None or self._change.done():
            self._change = self._task.loop.create_future()
        await asyncio.shield(self._change)

    async def _wait_for_channel(self) -> Channel:
        while (channel := self._current_channel()) is None:
            await self._wait_for_change()
        return channel

    async def _wait_for_loss(self, channel: Channel) -> None:
        while _is_open(channel) or self._current_channel() is None:
            await self._wait_for_change()

    # --- Channel ---

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification; drop it if the client is unreachable."""
        channel = self._current_channel()
        if channel is not None:
            channel.notify(method, self._tagged(method.params() if params is UNSET else params))

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Send a request and return its result undecoded; see `DuplexConnection.request`.

        Args:
            method: Method row of the request.
            params: Params; the related-task metadata is added to their `_meta`.
            timeout_s: Seconds from this call on, including the wait for a channel; None or infinity
                for no timeout.
            progress: Progress callback.

        Raises:
            RequestTimeout: No response in time.
            McpError: The client answered with an error.
            SessionLost: The connection failed, but its channel is still open.
        """
        limit_s = None if timeout_s is None or math.isinf(timeout_s) else timeout_s
        async with self._task.pending_input():
            limit = asyncio.timeout(limit_s)
            try:
                async with limit:
                    return await self._request_tagged(method, self._tagged(params), progress)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise RequestTimeout(f"{method.name}: no answer within {limit_s:g} s") from None

    async def _request_tagged(
        self, method: Method[P, R], params: P, progress: OnProgress | None
    ) -> Raw:
        while True:
            channel = await self._wait_for_channel()
            sent = asyncio.ensure_future(channel.request(method, params, progress=progress))
            lost = asyncio.ensure_future(self._wait_for_loss(channel))
            try:
                await asyncio.wait({sent, lost}, return_when=asyncio.FIRST_COMPLETED)
                if sent.done():
                    return await sent
            except SessionLost:
                if _is_open(channel):
                    raise
            finally:
                for one in (sent, lost):
                    one.cancel()
                await asyncio.wait({sent, lost})

    def _tagged(self, params: Any) -> Any:
        return replace(params, meta={**(params.meta or {}), **self._related_meta})

    async def drain(self) -> None:
        """Wait for back-pressure: until the client has read enough."""
        channel = self._current_channel()
        if channel is not None:
            await channel.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Return True until the task has ended."""
        return not self._task.record.is_final

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the asyncio task of the handler."""
        return self._task.handler


def _is_open(channel: Any) -> bool:
    """Return True if a channel reaches the client; channels that do not say are open."""
    return bool(getattr(channel, "reachable", True))
