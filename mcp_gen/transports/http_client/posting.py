"""Base of the HTTP client transports: each message is a POST.

Requests are sent at once; notifications are sent in order.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import AuthError, McpGenError, TransportError
from mcp_gen.transports.http_client.endpoint import HeadersFrom, HttpEndpoint
from mcp_gen.transports.http_client.outbox import Outbox
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Lines, PostedRequest, Receiver
    from mcp_gen.transports.http_client.pool import Requests

__all__ = ["PostingTransport"]

LAST_TIMEOUT_S = 2.0
"""Seconds that closing may take to send queued notifications and to end the session."""


class PostingTransport(ABC):
    """Sends each message to a server as a POST.

    Args:
        url: See `HttpTransport`, as for all arguments.
        headers: Headers of every request, or a function that returns them.
        bearer_token: A constant bearer token.
        client: An AsyncClient of httpx2 or httpx.
        max_message_bytes: Maximum size of a received message, in bytes.
        connect_timeout_s: Seconds to wait for a connection.
        auth: Gives each request its credentials.

    Raises:
        UsageError: The URL is no http or https URL, or a header contains a line break.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        client: Any = None,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        connect_timeout_s: float = 30.0,
        auth: RequestAuthorizer | None = None,
    ) -> None:
        self._endpoint = HttpEndpoint(
            url,
            headers=headers,
            bearer_token=bearer_token,
            client=client,
            connect_timeout_s=connect_timeout_s,
            auth=auth,
        )
        self._max = max_message_bytes
        self._receiver: Receiver | None = None
        self._version: Lines = ()
        self._outbox = Outbox(self._post_notification)
        self._closed = False

    @property
    def principal(self) -> Hashable:
        """Digest of the user's headers, to tell users apart; see `HttpEndpoint.principal`."""
        return self._endpoint.principal

    def intercept(self, wrap: Callable[[Requests], Requests]) -> None:
        """Put something around what sends the HTTP requests, before `start`.

        Args:
            wrap: Takes what sends the requests, and returns what sends them instead.
        """
        self._endpoint.intercept(wrap)

    def post(self, message: bytes, headers: Lines, asked: PostedRequest) -> Callable[[], Any]:
        """Send a request and return the function that cancels it; see `Posts.post`."""
        return self._outbox.begin(self._ask(message, headers, asked)).cancel

    def post_notification(self, message: bytes, headers: Lines) -> None:
        """Queue a notification; notifications arrive in order."""
        self._outbox.add(message, headers)

    @property
    def full(self) -> bool:
        """True if the server accepts messages so slowly that notifications should wait."""
        return self._outbox.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the server has accepted enough for more to be sent."""
        self._outbox.call_when_writable(act)

    def send(self, message: bytes) -> None:
        """Send at once a message that has no response."""
        self._outbox.send(message)

    async def drain(self) -> None:
        """Wait until all notifications have arrived."""
        await self._outbox.drain()

    async def aclose(self) -> None:
        """Send all messages, end the session if there is one, then close all connections."""
        if self._closed:
            return
        self._closed = True
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_TIMEOUT_S):
                    await self._outbox.finish()
                    await self._end_session()
        finally:
            await self._end()
            self._disconnected(None)

    @abstractmethod
    async def _exchange(self, message: bytes, headers: Lines, asked: PostedRequest) -> None:
        """POST a request and deliver its response if the HTTP response contains it."""

    @abstractmethod
    async def _post_notification(self, message: bytes, headers: Lines) -> None:
        """POST a message that has no response."""

    @abstractmethod
    async def _end_session(self) -> None:
        """End the session on the server if it does not end with the connection."""

    async def _end(self) -> None:
        await self._outbox.end()
        await self._endpoint.aclose()

    def _disconnected(self, error: BaseException | None) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.closed(error)

    async def _ask(self, message: bytes, headers: Lines, asked: PostedRequest) -> None:
        try:
            await self._exchange(message, headers, asked)
        except AuthError as error:
            asked.fail(error)
        except McpGenError as error:
            self._endpoint.name_in(error)
            asked.fail(error)
        except Exception as error:
            # For example an error of the user's headers function: it goes to the sender.
            failed = TransportError(f"the request could not be sent: {error}")
            failed.__cause__ = error
            asked.fail(failed)
