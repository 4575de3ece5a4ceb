"""HTTP with two addresses, the client's side: one to hear from, and one to POST messages to.

Source: https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import (
    ProtocolError,
    SessionLost,
    TransportError,
)
from mcp_gen.core.transport.sse import Place
from mcp_gen.transports.http_client.endpoint import HeadersFrom, media_type, refusal
from mcp_gen.transports.http_client.listening import EVENTS, events_of
from mcp_gen.transports.http_client.posting import PostingTransport
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines, PostedRequest, Receiver
    from mcp_gen.core.transport.sse import Event
    from mcp_gen.transports.http_client.pool import Response
    from mcp_wire.profile import Profile

__all__ = ["LegacySseTransport"]

POST_HEADERS: Lines = ((b"content-type", b"application/json"),)
GET_HEADERS: Lines = ((b"accept", EVENTS.encode()), (b"cache-control", b"no-store"))


class LegacySseTransport(PostingTransport):
    """A server whose URL gives a stream of events, the first of which says where to POST.

    Options are those of `HttpTransport`; `endpoint_timeout_s` is how long the first event may take.
    It must name an address of the same origin.
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
        endpoint_timeout_s: float = 10.0,
    ) -> None:
        super().__init__(
            url,
            headers=headers,
            bearer_token=bearer_token,
            client=client,
            max_message_bytes=max_message_bytes,
            connect_timeout_s=connect_timeout_s,
        )
        self._endpoint_timeout_s = endpoint_timeout_s
        self._post_to = ""

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

    def use_revision(self, profile: Profile, *, agreed: bool) -> None:
        """What is sent from now on is of this revision."""
        name = profile.version_header if agreed else None
        self._version = ((name.lower().encode(), profile.revision.encode()),) if name else ()

    async def listen(self) -> None:
        """Nothing: everything that comes has one stream."""

    async def _listen(self, found: asyncio.Future[str]) -> None:
        lost: BaseException | None = None
        try:
            response = await self._endpoint.send("GET", [*GET_HEADERS, *self._version])
            try:
                await self._read(response, found)
            finally:
                await response.aclose()
        except Exception as error:
            lost = error
        if not found.done():
            found.set_exception(lost or SessionLost("the stream ended before it began"))
        else:
            self._disconnected(lost)

    async def _end_session(self) -> None:
        """Nothing: the session ends with its stream."""

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

    async def _exchange(self, message: bytes, headers: Lines, asked: PostedRequest) -> None:
        # The answer comes on the stream.
        await self._post_notification(message, headers)

    async def _post_notification(self, message: bytes, headers: Lines) -> None:
        lines = [*POST_HEADERS, *self._version, *headers]
        response = await self._endpoint.send("POST", lines, message, self._post_to)
        try:
            if response.status >= 300:
                raise (await refusal(response, "the message was refused"))[0]
        finally:
            await response.aclose()
