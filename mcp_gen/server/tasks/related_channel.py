"""The way to the client from a task whose messages say which task they belong to."""

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
    from mcp_wire.callers import OnProgress
    from mcp_wire.method import Method

__all__ = ["TaskChannel"]

P = TypeVar("P")
R = TypeVar("R")


class TaskChannel:
    """The outlet of a task's handler: wherever its client listens at the moment.

    That is the answer to a request for the result, as long as one is open, and else the session in
    which somebody asked for the task last. What is asked waits until there is a way, and is asked
    again where its way is gone before there is an answer; what is told is lost where nobody
    listens.
    """

    def __init__(self, task: RunningTask, related: dict[str, Any]) -> None:
        self._task = task
        self._related = related
        """What `_meta` of every message has."""
        self._channels: list[Channel] = []
        self._news: asyncio.Future[None] | None = None

    # --- the ways to the client ---

    def open(self, way: Channel) -> None:
        """Somebody waits for the result."""
        self._channels.append(way)
        self.check()

    def close(self, way: Channel) -> None:
        """Nobody waits there any more."""
        self._channels.remove(way)

    def check(self) -> None:
        """There may be a way where there was none."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _current_channel(self) -> Channel | None:
        for way in reversed(self._channels):
            if _is_open(way):
                return way
        session = self._task.session
        return session.channel if session is not None and session.reachable else None

    async def _changes(self) -> None:
        if self._news is None or self._news.done():
            self._news = self._task.loop.create_future()
        await asyncio.shield(self._news)

    async def _found(self) -> Channel:
        while (way := self._current_channel()) is None:
            await self._changes()
        return way

    async def _gone(self, way: Channel) -> None:
        while _is_open(way) or self._current_channel() is None:
            await self._changes()

    # --- the outlet ---

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification, if somebody listens."""
        way = self._current_channel()
        if way is not None:
            way.notify(method, self._tagged(method.params() if params is UNSET else params))

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Send a request and return its result undecoded; see `Link.request`.

        The time begins when it is asked, not when somebody listens.
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
            way = await self._found()
            sent = asyncio.ensure_future(way.request(method, params, progress=progress))
            gone = asyncio.ensure_future(self._gone(way))
            try:
                await asyncio.wait({sent, gone}, return_when=asyncio.FIRST_COMPLETED)
                if sent.done():
                    return await sent
            except SessionLost:
                if _is_open(way):
                    raise
            finally:
                for one in (sent, gone):
                    one.cancel()
                await asyncio.wait({sent, gone})

    def _tagged(self, params: Any) -> Any:
        return replace(params, meta={**(params.meta or {}), **self._related})

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        way = self._current_channel()
        if way is not None:
            await way.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Whether the task goes on."""
        return not self._task.record.over

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Where its handler runs."""
        return self._task.handler


def _is_open(way: Any) -> bool:
    """Whether what is sent there reaches the client; outlets that do not say so are open."""
    return bool(getattr(way, "reachable", True))
