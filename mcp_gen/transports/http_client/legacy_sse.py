"""HTTP with two addresses, the client's side: one to hear from, and one to POST messages to.

Source: https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import (
    McpGenError,
    ProtocolError,
    SessionLost,
    TransportError,
)
from mcp_gen.core.transport.sse import Place
from mcp_gen.transports.http_client.endpoint import HeadersFrom, HttpEndpoint, media_type, refusal
from mcp_gen.transports.http_client.listening import EVENTS, events_of
from mcp_gen.transports.http_client.outbox import Outbox
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcp_gen.core.transport.protocols import Asked, Lines, Receiver
    from mcp_gen.core.transport.sse import Event
    from mcp_gen.transports.http_client.pool import Response
    from mcp_wire.profile import Profile

__all__ = ["SseTransport"]

POST_HEADERS: Lines = ((b"content-type", b"application/json"),)
GET_HEADERS: Lines = ((b"accept", EVENTS.encode()), (b"cache-control", b"no-store"))
LAST_TIMEOUT_S = 2.0


class SseTransport:
    """A server whose URL gives a stream of events, the first of which says where to POST.

    Options are those of `HttpTransport`; `endpoint_timeout_s` is how long the first event may take.
    It must name an address of the same origin.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: HeadersFrom | None = None,
        bearer: str | None = None,
        client: Any = None,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        connect_timeout_s: float = 30.0,
        endpoint_timeout_s: float = 10.0,
    ) -> None:
        self._endpoint = HttpEndpoint(
            url, headers=headers, bearer=bearer, client=client, connect_timeout_s=connect_timeout_s
        )
        self._endpoint_timeout_s = endpoint_timeout_s
        self._max = max_message_bytes
        self._post_to = ""
        self._version: Lines = ()
        self._receiver: Receiver | None = None
        self._outbox = Outbox(self._tell)
        self._closed = False

    @property
    def principal(self) -> Hashable:
        """Whom requests are made for now, as far as the user's headers say."""
        return self._endpoint.principal

    async def start(self, receiver: Receiver) -> None:
        """Open the stream, and wait for the address.

        Raises:
            HttpError: there is no such stream.
            ProtocolError: it is none of events, or does not begin with the address.
            TransportError: the server cannot be reached, names another origin, or stays silent.
        """
        self._receiver = receiver
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._outbox.begin(self._listen(found))
        try:
            async with asyncio.timeout(self._endpoint_timeout_s):
                self._post_to = self._endpoint.within(await found)
        except BaseException as error:
            # Nobody else has anything to close yet.
            await self._end()
            if isinstance(error, TimeoutError):
                raise TransportError(
                    f"expected the event `endpoint` in {self._endpoint_timeout_s:g} s, got none"
                ) from None
            raise

    def speak(self, profile: Profile, *, agreed: bool) -> None:
        """What is sent from now on is of this revision."""
        name = profile.version_header if agreed else None
        self._version = ((name.lower().encode(), profile.revision.encode()),) if name else ()

    async def listen(self) -> None:
        """Nothing: everything that comes has one stream."""

    def post(self, message: bytes, headers: Lines, asked: Asked) -> Callable[[], Any]:
        """Send a request, whose answer comes on the stream; gives what drops it."""
        return self._outbox.begin(self._ask(message, headers, asked)).cancel

    def tell(self, message: bytes, headers: Lines) -> None:
        """Send a notification, behind those before it."""
        self._outbox.tell(message, headers)

    def send(self, message: bytes) -> None:
        """Send what gets no answer, at once."""
        self._outbox.send(message)

    async def drain(self) -> None:
        """Wait until what was told has arrived."""
        await self._outbox.drain()

    async def close(self) -> None:
        """Send what is queued, then hang up."""
        if self._closed:
            return
        self._closed = True
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_TIMEOUT_S):
                    await self.drain()
        finally:
            await self._end()
            self._hang_up(None)

    async def _end(self) -> None:
        await self._outbox.end()
        await self._endpoint.close()

    async def _listen(self, found: asyncio.Future[str]) -> None:
        lost: BaseException | None = None
        try:
            response = await self._endpoint.send("GET", [*GET_HEADERS, *self._version])
            try:
                await self._read(response, found)
            finally:
                await response.close()
        except Exception as error:
            lost = error
        if not found.done():
            found.set_exception(lost or SessionLost("the stream ended before it began"))
        else:
            self._hang_up(lost)

    def _hang_up(self, error: BaseException | None) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.closed(error)

    async def _read(self, response: Response, found: asyncio.Future[str]) -> None:
        if response.status != 200:
            raise (await refusal(response, "the stream was refused"))[0]
        if media_type(response) != EVENTS:
            raise ProtocolError(f"expected {EVENTS}, got {media_type(response) or 'nothing'}")
        async with aclosing(events_of(response, Place(), self._max)) as events:
            async for event in events:
                self._take(event, found)

    def _take(self, event: Event, found: asyncio.Future[str]) -> None:
        if event.name == "endpoint":
            if not found.done():
                found.set_result(event.data.decode("utf-8", "replace").strip())
        elif event.name == "message" and self._receiver is not None:
            if not found.done():
                raise ProtocolError("expected the event `endpoint` first, got a message")
            self._receiver.receive(event.data)

    async def _ask(self, message: bytes, headers: Lines, asked: Asked) -> None:
        try:
            await self._tell(message, headers)
        except McpGenError as error:
            asked.fail(error)
        except Exception as error:
            failed = TransportError(f"the request could not be sent: {error}")
            failed.__cause__ = error
            asked.fail(failed)

    async def _tell(self, message: bytes, headers: Lines) -> None:
        lines = [*POST_HEADERS, *self._version, *headers]
        response = await self._endpoint.send("POST", lines, message, self._post_to)
        try:
            if response.status >= 300:
                raise (await refusal(response, "the message was refused"))[0]
        finally:
            await response.close()
