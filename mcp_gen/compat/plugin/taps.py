"""Taps: write down what a client's transport sends and receives, and change nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.compat.transcript import about_of, cut_at
from mcp_gen.compat.wire.sse import SseReader
from mcp_gen.core.errors import McpGenError

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.compat.transcript import Kind, Transcript
    from mcp_gen.core.transport.protocols import Duplex, Lines
    from mcp_gen.transports.http_client.pool import Requests, Response

__all__ = ["TappedRequests", "TappedTransport"]

STREAM = "text/event-stream"
JSON = "application/json"
HIDDEN = ("authorization", "cookie", "proxy-authorization", "set-cookie")
"""Headers whose values are not written down."""
MAX_EVENT_BYTES = 64 * 1024 * 1024
"""Maximum size of an event of a stream, in bytes; of a larger one, the beginning is kept."""


class TappedTransport(RecordingTransport):
    """Wraps a duplex transport of a client.

    Args:
        inner: The transport.
        transcript: Takes all that comes and goes.
    """

    def __init__(self, inner: Duplex, transcript: Transcript) -> None:
        super().__init__(inner)
        self._transcript = transcript

    def send(self, message: bytes) -> None:
        """Write down and send a message."""
        self._transcript.add("client", "message", message)
        self._inner.send(message)

    def receive(self, message: bytes) -> None:
        """Write down a message, and pass it to the receiver."""
        self._transcript.add("server", "message", message)
        self._receiver.receive(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        """Write down the beginning of a message that is too large."""
        about = cut_at(limit_bytes)
        self._transcript.add("server", "message", beginning, about=about)
        return super().oversized(limit_bytes, beginning, end)

    def closed(self, error: BaseException | None) -> None:
        """Write down the end of the connection."""
        self._transcript.add("server", "closed", about=str(error) if error else "")
        super().closed(error)


class TappedRequests:
    """Wraps what sends the HTTP requests of a client; see `Requests`.

    Args:
        inner: Sends the requests.
        transcript: Takes all that comes and goes.
    """

    def __init__(self, inner: Requests, transcript: Transcript) -> None:
        self._inner = inner
        self._transcript = transcript
        self._last = 0

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Response:
        """Write down a request, send it, and write down the head of its response."""
        self._last += 1
        number = self._last
        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        about = f"{method} {urlsplit(url).path or '/'}"
        add = self._transcript.add
        add("client", "request", exchange=number, headers=_shown(sent), about=about)
        if body is not None:
            add("client", "message", body, exchange=number)
        try:
            response = await self._inner.send(method, url, headers, body)
        except McpGenError as error:
            add("server", "ended", exchange=number, about=str(error))
            raise
        got = _shown(response.headers)
        add("server", "response", exchange=number, status=response.status, headers=got)
        return _TappedResponse(response, self._transcript, number)

    async def aclose(self) -> None:
        """Close all connections."""
        self._transcript.add("client", "closed")
        await self._inner.aclose()


class _TappedResponse:
    """Response whose messages are written down as its body is read."""

    def __init__(self, inner: Response, transcript: Transcript, exchange: int) -> None:
        self.status = inner.status
        self.headers = inner.headers
        self._inner = inner
        self._transcript = transcript
        self._exchange = exchange
        self._kind = inner.headers.get("content-type", "").partition(";")[0].strip().lower()
        reads_stream = self._kind == STREAM and inner.status == 200
        self._stream = SseReader(MAX_EVENT_BYTES) if reads_stream else None
        self._body = bytearray()
        self._has_ended = False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body, and write down its messages."""
        try:
            async with aclosing(self._inner.chunks()) as chunks:
                async for chunk in chunks:
                    if self._stream is None:
                        self._body += chunk
                    else:
                        self._read_events(self._stream, chunk)
                    yield chunk
        except McpGenError as error:
            self._end(str(error))
            raise
        # A refusal may have a body of its own.
        if self._kind == JSON and self._body and (self.status == 200 or b'"jsonrpc"' in self._body):
            self._add("message", bytes(self._body))
            self._body.clear()
        self._end("")

    async def aclose(self) -> None:
        """Release the response."""
        self._end("the client did not read on")
        await self._inner.aclose()

    def _read_events(self, stream: SseReader, chunk: bytes) -> None:
        """Write down the events that end in a chunk."""
        for event in stream.feed(chunk):
            about = about_of(event.fields)
            if event.is_cut:
                about += f"\n{cut_at(MAX_EVENT_BYTES)}"
            self._add("message" if event.is_message else "sse", event.data or b"", about)

    def _add(self, kind: Kind, data: bytes, about: str = "") -> None:
        self._transcript.add("server", kind, data, exchange=self._exchange, about=about)

    def _end(self, about: str) -> None:
        if not self._has_ended:
            self._has_ended = True
            sender: Sender = "client" if about.startswith("the client") else "server"
            rest = bytes(self._body) if self._stream is None else self._stream.unfinished
            self._transcript.add(sender, "ended", rest, exchange=self._exchange, about=about)


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers without secrets."""
    return {name: "(hidden)" if name in HIDDEN else value for name, value in headers.items()}
