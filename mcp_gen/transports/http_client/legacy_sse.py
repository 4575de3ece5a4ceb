"""HTTP+SSE client of 2024-11-05: one SSE stream to receive, and a second URL to POST messages to.

Source: https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import (
    AuthError,
    McpGenError,
    ProtocolError,
    SessionLost,
    TransportError,
)
from mcp_gen.core.transport.sse import StreamPosition
from mcp_gen.transports.http_client.endpoint import HeadersFrom, media_type
from mcp_gen.transports.http_client.listening import EVENTS, events_of
from mcp_gen.transports.http_client.posting import PostingTransport
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Lines, PausableTimeout, PostedRequest, Receiver
    from mcp_gen.core.transport.sse import Event
    from mcp_gen.transports.http_client.pool import Response
    from mcp_wire.profile import Profile

__all__ = ["LegacySseTransport"]

POST_HEADERS: Lines = ((b"content-type", b"application/json"),)
GET_HEADERS: Lines = ((b"accept", EVENTS.encode()), (b"cache-control", b"no-store"))


class LegacySseTransport(PostingTransport):
    """HTTP+SSE client for one server. It receives on an SSE stream and POSTs to a second URL.

    The first event of the stream, `endpoint`, names the URL to POST to. That URL must have the same
    origin.

    Args:
        url: The URL of the SSE stream. User and password in it are sent as Basic auth.
        headers: Headers of every request: a mapping, or a function, sync or async, that is called
            before each request and returns one.
        bearer_token: A constant bearer token; None for none.
        client: An AsyncClient of httpx2 or httpx that sends all requests; None for a connection
            pool of the transport's own.
        max_message_bytes: Maximum size of a received message, in bytes.
        connect_timeout_s: Seconds to wait for a connection. Not used with `client`.
        auth: Gives each request its credentials, such as `mcp_gen.auth.OAuth`; None for none.
        endpoint_timeout_s: Seconds to wait for the first event, `endpoint`.

    Raises:
        UsageError: The URL is no http or https URL, a header is invalid, or there are credentials
            beside those of `auth`.
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
        endpoint_timeout_s: float = 10.0,
    ) -> None:
        super().__init__(
            url,
            headers=headers,
            bearer_token=bearer_token,
            client=client,
            max_message_bytes=max_message_bytes,
            connect_timeout_s=connect_timeout_s,
            auth=auth,
        )
        self._endpoint_timeout_s = endpoint_timeout_s
        self._post_to = ""

    async def start(self, receiver: Receiver) -> None:
        """Open the stream and wait for the URL to POST to.

        Raises:
            HttpError: The server refused the stream.
            ProtocolError: The response is no SSE stream, or its first event is not `endpoint`.
            TransportError: The server cannot be reached, names another origin, or sends no
                `endpoint` event in time.
        """
        self._receiver = receiver
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._endpoint_timeout_s) as timeout:
                pausable = _PausableTimeout(timeout, self._endpoint_timeout_s)
                self._outbox.begin(self._read_stream(found, pausable))
                self._post_to = self._endpoint.within(await found)
        except BaseException as error:
            # The transport is not open yet, so `close` would not be called.
            await self._end()
            if isinstance(error, TimeoutError):
                raise TransportError(
                    f"{self._endpoint.shown}: expected the event `endpoint` in "
                    f"{self._endpoint_timeout_s:g} s, got none"
                ) from None
            if isinstance(error, McpGenError) and not isinstance(error, AuthError):
                self._endpoint.name_in(error)
            raise

    def use_revision(self, profile: Profile, *, agreed: bool) -> None:
        """Send all further messages at this revision; its version header once it is `agreed`."""
        name = profile.version_header if agreed else None
        self._version = ((name.lower().encode(), profile.revision.encode()),) if name else ()

    async def listen(self) -> None:
        """Do nothing: all messages arrive on the one stream."""

    async def _read_stream(self, found: asyncio.Future[str], limit: PausableTimeout) -> None:
        cause: BaseException | None = None
        try:
            lines = [*GET_HEADERS, *self._version]
            response = await self._endpoint.send("GET", lines, limit=limit)
            try:
                await self._read(response, found)
            finally:
                await response.aclose()
        except Exception as error:
            cause = error
        if not found.done():
            found.set_exception(cause or SessionLost("the stream ended before it began"))
        else:
            self._disconnected(cause)

    async def _end_session(self) -> None:
        """Do nothing: the session ends with its stream."""

    async def _read(self, response: Response, found: asyncio.Future[str]) -> None:
        if response.status != 200:
            raise (await self._endpoint.refusal(response, "the stream was refused"))[0]
        if media_type(response) != EVENTS:
            raise ProtocolError(f"expected {EVENTS}, got {media_type(response) or 'nothing'}")
        # Every answer comes on this stream: it goes on after one that is too large.
        oversized = None if self._receiver is None else self._receiver.oversized
        place = StreamPosition()
        async with aclosing(events_of(response, place, self._max, oversized)) as events:
            async for event in events:
                self._on_event(event, found)
                await self._outbox.wait_for_room()

    def _on_event(self, event: Event, found: asyncio.Future[str]) -> None:
        if event.name == "endpoint":
            if not found.done():
                found.set_result(event.data.decode("utf-8", "replace").strip())
        elif event.name == "message" and self._receiver is not None:
            if not found.done():
                raise ProtocolError("expected the event `endpoint` first, got a message")
            self._receiver.receive(event.data)

    async def _exchange(self, message: bytes, headers: Lines, asked: PostedRequest) -> None:
        # The response arrives on the SSE stream.
        await self._post(message, headers, asked)

    async def _post_notification(self, message: bytes, headers: Lines) -> None:
        await self._post(message, headers, None)

    async def _post(self, message: bytes, headers: Lines, limit: PausableTimeout | None) -> None:
        lines = [*POST_HEADERS, *self._version, *headers]
        response = await self._endpoint.send("POST", lines, message, self._post_to, limit)
        try:
            if response.status >= 300:
                raise (await self._endpoint.refusal(response, "it was refused"))[0]
        finally:
            await response.aclose()


class _PausableTimeout:
    """The time limit of `start`, which waits for the stream to begin."""

    def __init__(self, timeout: asyncio.Timeout, timeout_s: float) -> None:
        self._timeout = timeout
        self._timeout_s = timeout_s
        self._paused = False

    def pause(self) -> None:
        self._paused = self._timeout.when() is not None and not self._timeout.expired()
        if self._paused:
            self._timeout.reschedule(None)

    def resume(self) -> None:
        if self._paused:
            # `start` is still waiting, or it was cancelled.
            with contextlib.suppress(RuntimeError):
                self._timeout.reschedule(asyncio.get_running_loop().time() + self._timeout_s)
