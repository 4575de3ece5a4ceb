"""Base of the HTTP client transports: each message is a POST.

Requests are sent at once; what gets no answer is sent in order.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import McpGenError, TransportError
from mcp_gen.transports.http_client.endpoint import HeadersFrom, HttpEndpoint
from mcp_gen.transports.http_client.outbox import Outbox
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcp_gen.core.transport.protocols import Lines, PostedRequest, Receiver

__all__ = ["PostingTransport"]

LAST_TIMEOUT_S = 2.0
"""How long the end may take: what is still to be told, and that the session is over."""


class PostingTransport(ABC):
    """Sends each message to a server as a POST. Options are those of `HttpTransport`."""

    def __init__(
        self,
        url: str,
        *,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        client: Any = None,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        connect_timeout_s: float = 30.0,
    ) -> None:
        self._endpoint = HttpEndpoint(
            url,
            headers=headers,
            bearer_token=bearer_token,
            client=client,
            connect_timeout_s=connect_timeout_s,
        )
        self._max = max_message_bytes
        self._receiver: Receiver | None = None
        self._version: Lines = ()
        self._outbox = Outbox(self._post_notification)
        self._closed = False

    @property
    def principal(self) -> Hashable:
        """Whom requests are made for now, as far as the user's headers say."""
        return self._endpoint.principal

    def post(self, message: bytes, headers: Lines, asked: PostedRequest) -> Callable[[], Any]:
        """Send a request and return the function that cancels it."""
        return self._outbox.begin(self._ask(message, headers, asked)).cancel

    def post_notification(self, message: bytes, headers: Lines) -> None:
        """Send a notification after those before it."""
        self._outbox.add(message, headers)

    def send(self, message: bytes) -> None:
        """Send at once a message that gets no answer."""
        self._outbox.send(message)

    async def drain(self) -> None:
        """Wait until all notifications have arrived."""
        await self._outbox.drain()

    async def aclose(self) -> None:
        """Send what is queued, end the session if there is one, then disconnect."""
        if self._closed:
            return
        self._closed = True
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_TIMEOUT_S):
                    await self.drain()
                    await self._end_session()
        finally:
            await self._end()
            self._disconnected(None)

    @abstractmethod
    async def _exchange(self, message: bytes, headers: Lines, asked: PostedRequest) -> None:
        """POST a request and deliver its answer, if the response carries it."""

    @abstractmethod
    async def _post_notification(self, message: bytes, headers: Lines) -> None:
        """POST a message that gets no answer."""

    @abstractmethod
    async def _end_session(self) -> None:
        """End the session on the server, where it does not end with the connection."""

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
        except McpGenError as error:
            asked.fail(error)
        except Exception as error:
            # Such as what a function for headers raises: it is the caller's.
            failed = TransportError(f"the request could not be sent: {error}")
            failed.__cause__ = error
            asked.fail(failed)
