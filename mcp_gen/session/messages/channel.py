"""Where messages to the client go that belong to one request, whatever carries them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.error_groups import flatten
from mcp_gen.core.errors import SessionLost, TransportError
from mcp_gen.core.transport import sse

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from msgspec import Raw

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport.protocols import Reply
    from mcp_wire.callers import OnProgress
    from mcp_wire.method import Method

__all__ = [
    "NULL_CHANNEL",
    "BaseChannel",
    "Channel",
    "ClientDisconnected",
    "NullChannel",
    "ResponseChannel",
    "channel_of",
    "is_disconnect",
]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("mcp_gen.server")


class Channel(Protocol):
    """The way to the client while a request of its is being answered.

    On a duplex transport it is the connection; over HTTP it is the stream that the answer ends.
    """

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification; what has been sent so in one turn of the loop goes out together."""
        ...

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, Raw]:
        """Send a request and return its result undecoded; see `Link.request`."""
        ...

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        ...

    def answers(self, id: RequestId | None) -> bool:
        """Whether this request is still being answered: nothing may be sent for it afterwards."""
        ...

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """The task in which this request is being answered, if that is known here."""
        ...


class ClientDisconnected(SessionLost):
    """The client that was asked has ended its session: that is its right, and no failure here."""


def is_disconnect(error: BaseException) -> bool:
    """Whether nothing is wrong but that the client has gone; also where it was asked much."""
    return all(isinstance(one, ClientDisconnected) for one in flatten(error))


class BaseChannel:
    """Base of channels over which the client cannot be asked: the answer ends them."""

    __slots__ = ("__weakref__", "_task", "keep_open")

    _task: asyncio.Task[Any] | None
    keep_open: bool
    """True if the client wants the channel for as long as it can have it."""
    _refusal: ClassVar[str]
    """Reason given where the client would have to be asked."""

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Refuse: the client has no way to answer."""
        raise TransportError(f"{method.name}: {self._refusal}")

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the task that answers the request, if it is known here."""
        return self._task


class NullChannel(BaseChannel):
    """An exchange that can carry nothing but the answer; `task` is the one that makes it."""

    __slots__ = ()
    _refusal = "this transport carries no requests to the client"

    def __init__(self, task: asyncio.Task[Any] | None = None) -> None:
        self._task = task
        self.keep_open = False

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Forget it: nobody is promised a notification."""

    async def drain(self) -> None:
        """Nothing is waiting."""

    def answers(self, id: RequestId | None) -> bool:
        """Whether this request is still being answered."""
        return id is not None


NULL_CHANNEL = NullChannel()


class ResponseChannel(BaseChannel):
    """The answer to one POST, where notifications come before it: then it is a stream.

    A client that does not read loses notifications of its request, but never its answer. What is
    `lasting` is cut off instead: whoever listens for changes must not miss one unawares.
    """

    __slots__ = ("_reply",)
    _refusal = "nobody can be asked while this POST is answered"

    def __init__(self, reply: Reply, task: asyncio.Task[Any] | None) -> None:
        self._reply = reply
        self._task = task
        self.keep_open = False

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification."""
        reply = self._reply
        if not reply.full:
            reply.send(sse.event(envelope.notification(method.name, params)))
        elif self.keep_open:
            reply.close_stream()
        else:
            _log.debug("dropped %s: the client does not read", method.name)

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        await self._reply.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Whether this request is still being answered."""
        return id is not None and not self._reply.over


def channel_of(reply: Reply, task: asyncio.Task[Any] | None) -> NullChannel | ResponseChannel:
    """The outlet of a request whose POST is answered so, in a task."""
    return ResponseChannel(reply, task) if reply.can_stream else NullChannel(task)
