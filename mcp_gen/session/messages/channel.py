"""Request-scoped channels to the client, independent of the transport."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from msgspec import UNSET, Struct

from mcp_gen.core import envelope
from mcp_gen.core.error_groups import flatten
from mcp_gen.core.errors import SessionLost, TransportError
from mcp_gen.core.transport import sse

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from msgspec import Raw

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport.protocols import Reply
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress

__all__ = [
    "NULL_CHANNEL",
    "BaseChannel",
    "Channel",
    "ClientDisconnected",
    "NullChannel",
    "ResponseChannel",
    "is_disconnect",
]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("mcp_gen.server")


class Channel(Protocol):
    """Channel to the client while one of its requests is being answered.

    On a duplex transport the channel is the connection. Over HTTP it is the SSE stream that the
    response ends.
    """

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification.

        Notifications sent in one turn of the event loop leave in one write.

        Args:
            method: Method row of the notification.
            params: Params of the notification; none if left out.
        """
        ...

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, Raw]:
        """Send a request to the client and return its result, not decoded.

        Args:
            method: Method row of the request.
            params: Params of the request.
            timeout_s: Seconds to wait for the response; None waits without limit.
            progress: Callback for progress notifications of this request.

        Returns:
            The JSON of the result.

        Raises:
            McpError: the client answered with an error.
            RequestTimeout: no response within `timeout_s`; the request has been cancelled.
            SessionLost: the connection ended first.
            TransportError: this channel carries no requests to the client.
        """
        ...

    async def drain(self) -> None:
        """Wait while the client reads slower than messages are sent (back-pressure)."""
        ...

    def answers(self, id: RequestId | None) -> bool:
        """Return True if the request with this id is still being answered.

        Nothing may be sent for a request after its response or its cancellation.
        """
        ...

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the task that answers the request with this id; None if it is not known."""
        ...


class ClientDisconnected(SessionLost):
    """The client ended its session while a request to it was open.

    A client may do so at any time: this is not logged as a failure.
    """


def is_disconnect(error: BaseException) -> bool:
    """Return True if the error is a disconnect of the client and nothing else.

    An exception group is a disconnect if each of its leaf errors is one.
    """
    return all(isinstance(one, ClientDisconnected) for one in flatten(error))


class BaseChannel(Struct, eq=False, weakref=True):
    """Base of channels that carry no requests to the client.

    They end with the response to the client's own request.
    """

    _task: asyncio.Task[Any] | None = None
    keep_open: bool = False
    """True if the client keeps the channel open as long as it can (`subscriptions/listen`)."""
    _refusal: ClassVar[str]
    """Error text for requests to the client."""

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Refuse the request: the client has no way to answer it.

        Raises:
            TransportError: always.
        """
        raise TransportError(f"{method.name}: {self._refusal}")

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the task that answers the request; None if it is not known."""
        return self._task


class NullChannel(BaseChannel):
    """Channel that carries nothing but the response.

    Args:
        task: Task that makes the response; None if it is not known.
    """

    _refusal = "this transport carries no requests to the client"

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Drop the notification: delivery of notifications is not guaranteed."""

    async def drain(self) -> None:
        """Return at once: nothing is queued."""

    def answers(self, id: RequestId | None) -> bool:
        """Return True if there is a request: its response ends the channel."""
        return id is not None


NULL_CHANNEL = NullChannel()
"""Null channel for messages without a known task."""


class ResponseChannel(BaseChannel, kw_only=True):
    """Response to one POST, with notifications before it on an SSE stream.

    A client that does not read loses notifications of its request, but never the response. If
    `keep_open` is set, the stream is closed instead: a client that listens for changes must notice
    that it missed one.

    Args:
        reply: HTTP response of the POST.
        task: Task that makes the response; None if it is not known.
    """

    _refusal = "nobody can be asked while this POST is answered"

    reply: Reply

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification on the stream.

        While the client does not read, the notification is dropped, or the stream is closed if it
        is kept open.
        """
        reply = self.reply
        if not reply.full:
            reply.send(sse.event(envelope.notification(method.name, params)))
        elif self.keep_open:
            reply.close_stream()
        else:
            _log.debug("dropped %s: the client does not read", method.name)

    async def drain(self) -> None:
        """Wait while the client reads slower than messages are sent (back-pressure)."""
        await self.reply.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Return True if there is a request and its HTTP response is still open."""
        return id is not None and not self.reply.over
