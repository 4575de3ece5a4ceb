"""Tap over HTTP: a proxy on loopback that passes requests on to one server, and records them."""

from __future__ import annotations

import asyncio
import itertools
import socket
import zlib
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_gen.compat.wire.sse import SseReader
from mcp_gen.core.errors import McpGenError, UsageError
from mcp_gen.transports.http_client.pool import Pool, origin_of
from mcp_gen.transports.http_server.security import OriginGuard

if TYPE_CHECKING:
    from mcp_gen.compat.recordings.writer import RecordingWriter
    from mcp_gen.core.transport.protocols import Lines
    from mcp_gen.transports.http_client.pool import PooledResponse
    from mcp_gen.transports.http_server.asgi import Receive, Scope, Send

__all__ = ["HttpTap", "loopback_socket", "tap_url"]

CONNECT_TIMEOUT_S = 10.0
GRACE_S = 2
"""Seconds that open requests get at the end."""
MAX_BODY_BYTES = 64 * 1024 * 1024
"""Default of the maximum size of a request, in bytes: it is passed on when it is complete."""
STREAM = "text/event-stream"
FORM = "application/x-www-form-urlencoded"
OF_ONE_HOP = frozenset(
    {
        b"connection",
        b"content-length",
        b"host",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""Headers of one connection: each side of a proxy has its own.

Source: https://www.rfc-editor.org/rfc/rfc9110.html#name-connection
"""
CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Content codings that are decoded for the recording, with their windows for zlib."""


class HttpTap:
    """ASGI app that passes each request on to the origin of a server, and records it.

    Bodies of responses are passed on chunk by chunk as they come. Only `Host` and the headers of
    one connection differ, and URLs of the server in `Location` and in the event `endpoint`: a
    client that followed them would leave the tap.

    Args:
        url: The URL of the server.
        writer: Takes what passes.
        max_body_bytes: Maximum size of a request, in bytes; a larger one is refused with 413.

    Raises:
        UsageError: the URL is no http or https URL.
    """

    def __init__(
        self, url: str, writer: RecordingWriter, *, max_body_bytes: int = MAX_BODY_BYTES
    ) -> None:
        scheme, host, _ = origin_of(url)
        parts = urlsplit(url)
        name = f"[{host}]" if ":" in host else host
        port = "" if parts.port is None else f":{parts.port}"
        self._origin = f"{scheme}://{name}{port}"
        self._writer = writer
        self._max_body_bytes = max_body_bytes
        self._pool = Pool(CONNECT_TIMEOUT_S)
        # The server does not see the Host of the client: pages of any site could reach it.
        self._guard = OriginGuard(None, None)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        headers: Lines = scope["headers"]
        given = dict(headers)
        refused = self._guard.check(scope.get("server"), given.get(b"host"), given.get(b"origin"))
        if refused is not None:
            await _answer(send, refused.status, refused.why)
            return
        body = await self._body(receive)
        if body is None:
            limit = self._max_body_bytes
            await _answer(send, 413, f"the tap takes requests of at most {limit} bytes")
            return
        number = next(self._numbers)
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        target = f"{path}?{query}" if query else path
        shown = _shown(headers)
        self._writer.request(number, scope["method"], target, shown, body)
        if body:
            self._record_body("client", number, shown, body)
        has_body = body or b"content-length" in given or b"transfer-encoding" in given
        lines = [(name, value) for name, value in headers if name not in OF_ONE_HOP]
        url = self._origin + target
        try:
            response = await self._pool.send(
                scope["method"], url, lines, body if has_body else None
            )
        except McpGenError as error:
            self._writer.ended("server", number, str(error))
            await _answer(send, 502, f"the server cannot be reached: {error}")
            return
        own = f"{scope['scheme']}://{given[b'host'].decode('latin-1')}"
        await self._pass_back(number, response, receive, send, own)

    async def aclose(self) -> None:
        """Close the connections to the server."""
        await self._pool.aclose()

    async def _body(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._max_body_bytes:
                return None
            if not message.get("more_body", False):
                return bytes(body)

    async def _pass_back(
        self, number: int, response: PooledResponse, receive: Receive, send: Send, own: str
    ) -> None:
        self._writer.response(number, response.status, response.headers)
        lines = [
            (name, self._own_address(name.lower(), value, own))
            for name, value in response.lines
            if name.lower() not in OF_ONE_HOP
        ]
        length = response.headers.get("content-length")
        if length is not None:
            lines.append((b"content-length", length.encode()))
        await send({"type": "http.response.start", "status": response.status, "headers": lines})
        passing = asyncio.ensure_future(self._pass_body(number, response, send, own))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({passing, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not passing.done():
                self._writer.ended("client", number, "the client disconnected")
        finally:
            gone.cancel()
            passing.cancel()
            await asyncio.gather(passing, gone, return_exceptions=True)
            await response.aclose()

    async def _pass_body(self, number: int, response: PooledResponse, send: Send, own: str) -> None:
        body = _RecordedBody(number, response, self._writer)
        about = ""
        try:
            async with aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    # Before it is passed on: what the client does with it is recorded after it.
                    body.feed(chunk)
                    if b"event: endpoint" in chunk:
                        chunk = chunk.replace(
                            b"data: " + self._origin.encode(), b"data: " + own.encode()
                        )
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except McpGenError as error:
            about = str(error)
        body.end(self._record_body)
        self._writer.ended("server", number, about)
        if about:
            # The client sees a broken connection, as it would without the tap.
            raise ConnectionAbortedError(about)
        await send({"type": "http.response.body", "body": b""})

    def _own_address(self, name: bytes, value: bytes, own: str) -> bytes:
        origin = self._origin.encode()
        if name == b"location" and value.startswith(origin):
            return own.encode() + value.removeprefix(origin)
        return value

    def _record_body(
        self, sender: Any, number: int, headers: Mapping[str, str], body: bytes
    ) -> None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if "json" in kind or body.lstrip()[:1] in (b"{", b"["):
            self._writer.message(sender, body, exchange=number)


class _RecordedBody:
    """Body of a response: its messages are recorded as they pass."""

    def __init__(self, number: int, response: PooledResponse, writer: RecordingWriter) -> None:
        self._number = number
        self._headers = response.headers
        self._writer = writer
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._stream = SseReader(writer.max_message_bytes) if kind == STREAM else None
        coding = response.headers.get("content-encoding", "").strip().lower()
        window = CODINGS.get(coding)
        self._decoder = zlib.decompressobj(window) if window else None
        self._is_readable = self._decoder is not None or coding in ("", "identity")
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        limit = self._writer.max_message_bytes + 1
        if self._decoder is not None and self._is_readable:
            try:
                chunk = self._decoder.decompress(chunk, limit)
            except zlib.error:
                self._is_readable = False
        if not self._is_readable:
            return
        if self._stream is None:
            self._body += chunk[: max(0, limit - len(self._body))]
            return
        for event in self._stream.feed(chunk):
            if event.is_message:
                size_bytes = limit if event.is_cut else None
                self._writer.message(
                    "server",
                    event.data or b"",
                    exchange=self._number,
                    fields=event.fields,
                    size_bytes=size_bytes,
                )
            else:
                self._writer.event(self._number, event.fields, event.data)

    def end(self, record: Any) -> None:
        """Record a body that is no stream."""
        if self._body:
            record("server", self._number, self._headers, bytes(self._body))


@asynccontextmanager
async def tap_url(
    url: str,
    writer: RecordingWriter,
    *,
    port: int = 0,
    max_body_bytes: int = MAX_BODY_BYTES,
    has_signals: bool = False,
) -> AsyncGenerator[tuple[str, asyncio.Task[None]]]:
    """Pass what comes to a port of loopback on to a server, and record it, until the block ends.

    Args:
        url: The URL of the server.
        writer: Takes what passes.
        port: The port; 0 for a free one.
        max_body_bytes: Maximum size of a request, in bytes.
        has_signals: True to end it at SIGINT and SIGTERM as well.

    Yields:
        The URL for clients, and the task that serves them.

    Raises:
        UsageError: the URL is no http or https URL, or the port is taken.
    """
    tap = HttpTap(url, writer, max_body_bytes=max_body_bytes)
    parts = urlsplit(url)
    try:
        bound = loopback_socket(port)
    except OSError as error:
        raise UsageError(f"port {port} cannot be listened on: {error.strerror}") from None
    with bound:
        endpoint = _endpoint(tap, has_signals=has_signals)
        serving = asyncio.create_task(endpoint.serve([bound]))
        try:
            # A signal that comes earlier would not end it in good order.
            await endpoint.is_ready.wait()
            own = f"http://127.0.0.1:{bound.getsockname()[1]}{parts.path or '/'}"
            yield (f"{own}?{parts.query}" if parts.query else own), serving
        finally:
            endpoint.should_exit = True
            await asyncio.gather(serving, return_exceptions=True)
            await tap.aclose()


def loopback_socket(port: int = 0) -> socket.socket:
    """Return a socket that listens on loopback.

    Args:
        port: The port; 0 for a free one.

    Raises:
        OSError: the port is taken.
    """
    # With the protocol: asyncio turns off Nagle's algorithm, which delays the second of two writes
    # by 40 ms, on sockets that have it.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        bound.listen()
    except OSError:
        bound.close()
        raise
    return bound


def _endpoint(app: HttpTap, *, has_signals: bool) -> Any:
    # Loaded for HTTP alone.
    import uvicorn

    class TapEndpoint(uvicorn.Server):
        is_ready = asyncio.Event()
        """Set as soon as signals end it."""

        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            if has_signals:
                with super().capture_signals():
                    self.is_ready.set()
                    yield
            else:
                self.is_ready.set()
                yield

    return TapEndpoint(
        uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=GRACE_S,
        )
    )


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Send, status: int, text: str) -> None:
    body = text.encode()
    lines = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


def _shown(headers: Lines) -> dict[str, str]:
    """Return headers by name in lower case; those of a repeated one are joined by commas."""
    made: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        made[key] = f"{made[key]}, {text}" if key in made else text
    return made
