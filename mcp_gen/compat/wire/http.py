"""Wire over HTTP: each message is a POST, and anything else can be sent as well."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import msgspec

from mcp_gen.compat.json_values import is_array, is_object
from mcp_gen.compat.transcript import about_of, cut_at, fields_of
from mcp_gen.compat.wire.sse import SseReader
from mcp_gen.core.errors import McpGenError, TransportError
from mcp_gen.transports.http_client.pool import Pool, origin_of

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.compat.transcript import Transcript, WireEvent
    from mcp_gen.transports.http_client.pool import Requests, Response

__all__ = ["HttpWire", "SsePairWire", "endpoint_said", "is_endpoint"]

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Maximum size of a body, or of one event of a stream, in bytes."""
MAX_WIRE_BYTES = 64 * 1024 * 1024
"""Maximum number of bytes that one wire reads; then every exchange ends."""
MAX_EXCHANGE_S = 300.0
"""Longest time of an exchange, in seconds."""
CONNECT_TIMEOUT_S = 10.0
ENDPOINT_TIMEOUT_S = 5.0
"""Longest wait for the event that says where messages go, in seconds."""
MAX_REDIRECTS = 3
REDIRECTS = (307, 308)
"""Statuses of redirects at which a POST stays a POST."""
STREAM = "text/event-stream"
JSON = "application/json"


class _End(NamedTuple):
    """End of an exchange: who ended it, bytes that are no message, and why."""

    sender: Sender
    rest: bytes = b""
    about: str = ""


class HttpWire:
    """Wire to one endpoint: a message is the body of a POST. See `Wire`.

    Each exchange runs in a task. Redirects within the same origin are followed.

    Args:
        url: The endpoint. User and password in it are sent as Basic credentials.
        transcript: Takes all that comes and goes.
        headers: Headers of every request, such as credentials: the transcript does not show them.
        max_exchange_s: Longest time of an exchange, in seconds; a stream is read so long.

    Raises:
        UsageError: the URL is no http or https URL.
    """

    def __init__(
        self,
        url: str,
        transcript: Transcript,
        *,
        headers: Mapping[str, str] | None = None,
        max_exchange_s: float = MAX_EXCHANGE_S,
    ) -> None:
        origin_of(url)
        parts = urlsplit(url)
        self.url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
        self.transcript = transcript
        self._unseen = _lower(headers or {})
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            basic = base64.b64encode(credentials.encode()).decode()
            self._unseen["authorization"] = f"Basic {basic}"
        self._max_exchange_s = max_exchange_s
        self.requests: Requests = Pool(CONNECT_TIMEOUT_S)
        """Sends the requests; another one may take its place before the first."""
        self._exchanges: dict[int, asyncio.Task[_End]] = {}
        self._last = 0
        self._read_bytes = 0
        self._is_closed = False

    @property
    def has_credentials(self) -> bool:
        """True if every request shows credentials of the user."""
        return "authorization" in self._unseen

    def withhold(self, *names: str) -> None:
        """Leave out headers that every request had so far.

        Args:
            names: Their names, in lower case.
        """
        for name in names:
            self._unseen.pop(name, None)

    # --- what goes out ---

    async def open(self) -> None:
        """Do nothing: the first request opens the connection."""

    async def send(self, message: bytes, headers: Mapping[str, str] | None = None) -> int:
        """Send bytes as the body of a POST; return the number of the exchange.

        Args:
            message: The body.
            headers: Headers beside those of HTTP, in their place where they have the same name; an
                empty one is left out.
        """
        return await self.exchange("POST", message, headers)

    async def exchange(
        self,
        method: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        path: str | None = None,
    ) -> int:
        """Send any request; return the number of the exchange before there is a response.

        Args:
            method: The HTTP method.
            body: The body; None for none.
            headers: Headers; see `send`.
            path: Another path of the server, or a URL; None for that of the endpoint.
        """
        self._last += 1
        number = self._last
        url = self.url if path is None else urljoin(self.url, path)
        given = headers or {}
        sent = {**self._defaults(method, body), **_lower(given)}
        sent = {name: value for name, value in sent.items() if value}
        # Names are sent as they are spelled: servers are to take them in any case.
        spelled = {name.lower(): name for name in given}
        lines = {spelled.get(name, name): value for name, value in sent.items()}
        about = f"{method} {urlsplit(url).path or '/'}"
        self.transcript.add("client", "request", exchange=number, headers=sent, about=about)
        if body is not None:
            self.transcript.add("client", "message", body, exchange=number)
        running = self._run(number, method, url, lines, body)
        task = asyncio.get_running_loop().create_task(running)
        self._exchanges[number] = task
        task.add_done_callback(lambda done: self._end(number, done))
        return number

    def hang_up(self, exchange: int) -> None:
        """Disconnect in the middle of an exchange; nothing if it has ended."""
        task = self._exchanges.get(exchange)
        if task is not None:
            task.cancel()

    async def response(self, exchange: int, within_s: float) -> WireEvent | None:
        """Return the head of a response.

        Args:
            exchange: The number of the exchange.
            within_s: Longest wait, in seconds.

        Returns:
            The event; that of the end if there was no response; None if none comes in time.
        """
        return await self.transcript.first(
            lambda event: event.exchange == exchange and event.kind in ("response", "ended"),
            within_s,
        )

    async def ended(self, exchange: int, within_s: float) -> WireEvent | None:
        """Return the end of a response; None if it does not come in time."""
        return await self.transcript.first(
            lambda event: event.exchange == exchange and event.kind == "ended", within_s
        )

    async def aclose(self) -> None:
        """End every exchange, and close the connections."""
        if self._is_closed:
            return
        self._is_closed = True
        running = list(self._exchanges.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self.requests.aclose()

    def _defaults(self, method: str, body: bytes | None) -> dict[str, str]:
        found = {"accept": STREAM if method == "GET" else f"{JSON}, {STREAM}"}
        if body is not None:
            found["content-type"] = JSON
        return found

    # --- what comes back ---

    async def _run(
        self, number: int, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> _End:
        try:
            async with asyncio.timeout(self._max_exchange_s):
                response = await self._ask(method, url, headers, body)
                return _End("server", await self._read(number, response))
        except McpGenError as error:
            return _End("server", about=str(error))
        except TimeoutError:
            return _End("client", about=f"it took more than {self._max_exchange_s:g} s")

    def _end(self, number: int, task: asyncio.Task[_End]) -> None:
        # A task that is cancelled before its first step has done nothing by itself.
        end = _End("client", about="the client hung up") if task.cancelled() else task.result()
        del self._exchanges[number]
        self.transcript.add(end.sender, "ended", end.rest, exchange=number, about=end.about)

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        lines = [
            (name.encode("latin-1"), value.encode("utf-8"))
            for name, value in {**headers, **self._unseen}.items()
        ]
        origin = origin_of(url)
        for _ in range(MAX_REDIRECTS):
            response = await self.requests.send(method, url, lines, body)
            target = urljoin(url, response.headers.get("location", ""))
            if response.status not in REDIRECTS or origin_of(target) != origin:
                return response
            await response.aclose()
            if url == self.url:
                self.url = target
            url = target
        raise TransportError(f"more than {MAX_REDIRECTS} redirects")

    async def _read(self, number: int, response: Response) -> bytes:
        """Write down a response; return a body that holds no message."""
        headers = dict(response.headers)
        self.transcript.add(
            "server", "response", exchange=number, status=response.status, headers=headers
        )
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if kind == STREAM and response.status == 200:
                return await self._read_stream(number, response)
            return await self._read_body(number, response, kind)
        finally:
            # Nothing is left to do for a response that is cut off here.
            with contextlib.suppress(McpGenError):
                await response.aclose()

    async def _read_stream(self, number: int, response: Response) -> bytes:
        reader = SseReader(MAX_BODY_BYTES)
        async for chunk in response.chunks():
            self._count(chunk)
            for event in reader.feed(chunk):
                about = about_of(event.fields)
                if event.is_cut:
                    about += f"\n{cut_at(MAX_BODY_BYTES)}"
                self.transcript.add(
                    "server",
                    "message" if event.is_message else "sse",
                    event.data or b"",
                    exchange=number,
                    about=about,
                )
        return reader.unfinished

    async def _read_body(self, number: int, response: Response, kind: str) -> bytes:
        body = bytearray()
        about = ""
        async for chunk in response.chunks():
            self._count(chunk)
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                about = cut_at(MAX_BODY_BYTES)
                break
        data = bytes(body)
        if not data or not ((response.status == 200 and kind == JSON) or _is_json_rpc(data)):
            return data
        self.transcript.add("server", "message", data, exchange=number, about=about)
        return b""

    def _count(self, chunk: bytes) -> None:
        self._read_bytes += len(chunk)
        if self._read_bytes > MAX_WIRE_BYTES or self.transcript.is_full:
            raise TransportError("the server sends more than is read of it")


class SsePairWire(HttpWire):
    """Wire to a stream of events, and to the address that its first event names for messages.

    The arguments are those of `HttpWire`; the URL is that of the stream.

    Args:
        find: Finds the URL of the stream, if the given one is only near to it; None: it is that.
    """

    stream: int = 0
    """Number of the exchange with the stream; 0 before it is open."""
    _messages_at: str | None = None

    def __init__(
        self,
        url: str,
        transcript: Transcript,
        *,
        headers: Mapping[str, str] | None = None,
        find: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        super().__init__(url, transcript, headers=headers)
        self._find = find

    async def open(self) -> None:
        """Open the stream, and wait until it says where messages go.

        Raises:
            TransportError: it does not say so, or there is none.
        """
        await self.locate()
        self.stream = await self.exchange("GET")
        self.transcript.listen(self._heard)

        def opens(event: WireEvent) -> bool:
            if event.exchange != self.stream or event.sender == "client":
                return False
            return event.kind == "ended" or is_endpoint(event)

        found = await self.transcript.first(opens, ENDPOINT_TIMEOUT_S)
        if found is None or not is_endpoint(found):
            raise TransportError(self._missing(found))
        target = urljoin(self.url, endpoint_said(found))
        if origin_of(target) != origin_of(self.url):
            raise TransportError("the address for messages is at another origin")
        self._messages_at = target

    async def locate(self) -> None:
        """Find the URL of the stream, if the given one is only near to it.

        Raises:
            TransportError: no stream was found.
        """
        if self._find is not None:
            self.url = await self._find()

    async def send(self, message: bytes, headers: Mapping[str, str] | None = None) -> int:
        """Send bytes as the body of a POST to the address for messages; see `HttpWire.send`."""
        return await self.exchange("POST", message, headers, self._messages_at)

    def _heard(self, event: WireEvent) -> None:
        if event.kind == "ended" and event.exchange == self.stream and event.sender == "server":
            self.transcript.add("server", "closed", about=event.about)

    def _missing(self, ended: WireEvent | None) -> str:
        expected = "expected a stream that begins with the event `endpoint`"
        if ended is None:
            return f"{expected}: it did not come in {ENDPOINT_TIMEOUT_S:g} s"
        for event in self.transcript.events:
            if event.kind == "response" and event.exchange == self.stream:
                return f"{expected}, got status {event.status}"
        return ended.about or expected


def is_endpoint(event: WireEvent) -> bool:
    """Return True if an event of a stream says where messages go."""
    return event.kind == "sse" and fields_of(event.about).get("event") == "endpoint"


def endpoint_said(event: WireEvent) -> str:
    """Return the URI of an event that says where messages go, also if it is quoted."""
    return event.data.decode("utf-8", "replace").strip().strip('"')


def _is_json_rpc(data: bytes) -> bool:
    """Return True if a body looks like a message: others may come with a refusal."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return is_array(value) or (is_object(value) and "jsonrpc" in value)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
