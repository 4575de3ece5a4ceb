"""HTTP/1.1 connection under httpcore2's interface; httptools (llhttp) parses its answers."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import suppress
from typing import Any, cast

import httpcore2

from mcp_gen.transports.http_client.sockets import SocketBackend, SocketStream

__all__ = ["ParsedConnection"]

MAX_HEAD_BYTES = 100 * 1024
"""Maximum size of the head of an answer, and of what is no body: trailers, extensions of chunks."""
_READ_BYTES = 64 * 1024
_SWITCHING_PROTOCOLS = 101
# https://www.rfc-editor.org/rfc/rfc9110.html#name-fields
_HEAD = re.compile(
    rb"[A-Za-z-]+ [\x21-\x7e]+ HTTP/1\.1\r\n"
    rb"(?:[A-Za-z0-9!#$%&'*+.^_`|~-]+: [\t\x20-\x7e\x80-\xff]*\r\n)*"
)


class ParsedConnection(httpcore2.AsyncConnectionInterface):
    """One connection to an origin, for one request at a time.

    Args:
        origin: Scheme, host and port.
        backend: Opens the connection, with the first request.
        connect_timeout_s: Seconds to wait for the connection, and again for TLS.
        keep_s: Seconds after which an idle connection has expired.
        ssl_context: The TLS settings; None without TLS.
    """

    def __init__(
        self,
        origin: httpcore2.Origin,
        backend: SocketBackend,
        *,
        connect_timeout_s: float,
        keep_s: float,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        # Loaded with the first connection: it comes with the extra `fast`.
        import httptools

        self._origin = origin
        self._backend = backend
        self._connect_timeout_s = connect_timeout_s
        self._keep_s = keep_s
        self._ssl_context = ssl_context
        self._stream: SocketStream | None = None
        self._expires_at = 0.0
        self._idle = self._closed = False
        self._answer = _ParsedAnswer()
        self._parser: Any = httptools.HttpResponseParser(self._answer)
        self._answer.parser = self._parser

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send the request, and return once the head of its answer has arrived.

        Raises:
            httpcore2.ConnectError: The server cannot be reached.
            httpcore2.LocalProtocolError: A header line is invalid.
            httpcore2.RemoteProtocolError: The answer is not valid HTTP, too large, or ends early.
        """
        lines = map(b"%b: %b\r\n".__mod__, request.headers)
        head = b"%b %b HTTP/1.1\r\n%b" % (request.method, request.url.target, b"".join(lines))
        # A value with a line break may look like two lines that are valid.
        if not _HEAD.fullmatch(head) or head.count(b"\r\n") != len(request.headers) + 1:
            raise httpcore2.LocalProtocolError("a header is invalid")
        parts = [head, b"\r\n"]
        async for part in cast("AsyncIterable[bytes]", request.stream):
            parts.append(part)
        self._idle = False
        answer = self._answer
        try:
            stream = self._stream
            if stream is None:
                stream = await self._connect()
            answer.reset(has_body=request.method != b"HEAD")
            # The server may have responded before it disconnected.
            with suppress(httpcore2.WriteError):
                await stream.write(b"".join(parts))
            while not answer.has_head:
                self.feed(await stream.read(_READ_BYTES))
        except BaseException:
            await self.aclose()
            raise
        return httpcore2.Response(
            answer.status, headers=answer.headers, content=_Body(self, stream, answer)
        )

    async def _connect(self) -> SocketStream:
        host, timeout_s = self._origin.host.decode("ascii"), self._connect_timeout_s
        stream = await self._backend.connect_tcp(host, self._origin.port, timeout_s)
        self._stream = stream
        if self._ssl_context is not None:
            await stream.start_tls(self._ssl_context, host, timeout_s)
        return stream

    def feed(self, data: bytes) -> None:
        """Parse what has arrived.

        Raises:
            httpcore2.RemoteProtocolError: It is not valid HTTP, has too much that is no body, or
                ends early.
        """
        answer = self._answer
        if not data:
            answer.end()
            return
        try:
            self._parser.feed_data(data)
        except Exception as error:
            # What follows an answer that is complete is no part of it.
            if not answer.is_whole:
                raise httpcore2.RemoteProtocolError(str(error)) from None
            answer.is_last = True
        # What was received and is no body is limited.
        if answer.parts or answer.is_whole:
            answer.overhead_bytes = 0
            return
        answer.overhead_bytes += len(data)
        if answer.overhead_bytes > MAX_HEAD_BYTES:
            raise httpcore2.RemoteProtocolError(
                f"expected a head of at most {MAX_HEAD_BYTES} bytes, got more"
            )

    def release(self) -> None:
        """Let the connection be used again, unless it was closed meanwhile."""
        self._idle = not self._closed
        self._expires_at = time.monotonic() + self._keep_s

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        """Return True if it is the origin of this connection."""
        return origin == self._origin

    def is_available(self) -> bool:
        """Return True if a request can be sent."""
        return self._idle

    def is_idle(self) -> bool:
        """Return True if the last answer was read to its end."""
        return self._idle

    def is_closed(self) -> bool:
        """Return True if the connection is closed."""
        return self._closed

    def has_expired(self) -> bool:
        """Return True if it was idle for long, or the server has closed it."""
        stream = self._stream
        return stream is None or time.monotonic() > self._expires_at or stream.is_readable

    def info(self) -> str:
        """Return the origin and the state."""
        return f"{self._origin}, {'closed' if self._closed else 'idle' if self._idle else 'in use'}"

    async def aclose(self) -> None:
        """Close the connection at once."""
        if self._closed:
            return
        self._closed, self._idle = True, False
        # The parser has a reference to the answer, and the answer to the parser.
        self._answer.parser = None
        if self._stream is not None:
            await self._stream.aclose()


class _ParsedAnswer:
    """State of one answer, filled by the parser."""

    def __init__(self) -> None:
        self.parser: Any = None
        self.reset()

    def reset(self, *, has_body: bool = True) -> None:
        """Forget the answer before.

        Args:
            has_body: False if the request was a HEAD: the parser does not know of requests.
        """
        self._has_body = has_body
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        self.has_head = self.is_whole = self.is_last = False
        self._is_interim = False
        self._ends_with_connection = True
        self.overhead_bytes = 0

    def end(self) -> None:
        """Note the end of the connection.

        Raises:
            httpcore2.RemoteProtocolError: The answer is not complete.
        """
        self.is_last = True
        if not self.has_head:
            raise httpcore2.RemoteProtocolError("Server disconnected without sending a response.")
        if not self._ends_with_connection:
            raise httpcore2.RemoteProtocolError("Server disconnected within its response.")
        self.is_whole = True

    # --- called by httptools ---

    def on_message_begin(self) -> None:
        if self.is_whole:
            # Nobody has asked for another answer.
            self.is_last = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.has_head:
            return  # a trailer
        self.headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        if self.has_head:
            return
        status = self.parser.get_status_code()
        if 100 <= status < 200 and status != _SWITCHING_PROTOCOLS:
            self._is_interim = True
            return
        self.status, self.has_head = status, True
        for name, _ in self.headers:
            if name.lower() in (b"content-length", b"transfer-encoding"):
                self._ends_with_connection = False
        if not self._has_body:
            self.is_whole = self.is_last = True

    def on_body(self, data: bytes) -> None:
        if not self.is_whole:
            self.parts.append(data)

    def on_message_complete(self) -> None:
        if self._is_interim:
            self._is_interim = False
            self.overhead_bytes = 0
            self.headers = []
        elif not self.is_whole:
            self.is_whole = True
            if not self.parser.should_keep_alive() or self.status == _SWITCHING_PROTOCOLS:
                self.is_last = True


class _Body:
    """The body of an answer, of the kind that httpcore2's responses have."""

    def __init__(
        self, connection: ParsedConnection, stream: SocketStream, answer: _ParsedAnswer
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._answer = answer
        self._closed = False

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        answer = self._answer
        while not self._closed:
            if answer.parts:
                parts, answer.parts = answer.parts, []
                yield parts[0] if len(parts) == 1 else b"".join(parts)
            elif answer.is_whole:
                return
            else:
                self._connection.feed(await self._stream.read(_READ_BYTES))

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        answer = self._answer
        if answer.is_whole and not answer.is_last:
            self._connection.release()
        else:
            await self._connection.aclose()
