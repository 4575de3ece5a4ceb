"""HTTP requests to an ASGI app in this process, with handmade scopes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from mcp_gen.compat.recording import Frame
from mcp_gen.transports.http_server.app import AsgiApp, Message
from mcp_wire.extensions.tasks import EXTENSION as TASKS
from tests.support.frames import Speaker, server_violations
from tests.support.peers.raw import WAIT_S

__all__ = [
    "Event",
    "Open",
    "Reply",
    "WebClient",
    "begin",
    "end",
    "headers_of",
    "open_request",
    "request",
    "surfing",
]


@dataclass(frozen=True)
class Reply:
    """Response of the app."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Body as JSON."""
        return msgspec.json.decode(self.body)

    @property
    def events(self) -> list[Event]:
        """Events of a body that is an SSE stream."""
        assert self.headers["content-type"] == "text/event-stream"
        return events_of(self.body)


class Event(NamedTuple):
    """Server-sent event."""

    data: bytes = b""
    id: str | None = None
    retry: int | None = None
    name: str | None = None

    @property
    def json(self) -> Any:
        """Data as JSON."""
        return msgspec.json.decode(self.data)


def events_of(stream: bytes) -> list[Event]:
    """Return the whole events in a stream, without comments."""
    found: list[Event] = []
    for block in stream.split(b"\n\n")[:-1]:
        fields: dict[str, Any] = {}
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            text = value.removeprefix(b" ")
            if name == b"data":
                assert "data" not in fields, "one message is one line"
                fields["data"] = text
            elif name == b"event":
                fields["name"] = text.decode()
            elif name == b"id":
                fields["id"] = text.decode()
            elif name == b"retry":
                fields["retry"] = int(text)
            else:
                assert not name, f"no field of an event: {line!r}"
        if fields:
            found.append(Event(**fields))
    return found


class Open:
    """Request whose response is still open."""

    def __init__(self, app: AsgiApp, scope: Message, coming: list[Message]) -> None:
        self._coming = coming
        self._hung_up = asyncio.Event()
        self._watched = asyncio.Event()
        self._news = asyncio.Event()
        self._taken = 0
        self.reading = asyncio.Event()
        """Event that is cleared by a client that does not read: then nothing can be sent."""
        self.reading.set()
        self.sent: list[Message] = []
        self.task = asyncio.get_running_loop().create_task(app(scope, self._receive, self._send))
        self.task.add_done_callback(lambda _: self._news.set())

    async def _receive(self) -> Message:
        if self._coming:
            return self._coming.pop(0)
        self._watched.set()
        await self._hung_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.reading.wait()
        if not self._hung_up.is_set():
            self.sent.append(message)
            self._news.set()

    @property
    def hung_up(self) -> bool:
        """True if the client has disconnected."""
        return self._hung_up.is_set()

    def hang_up(self) -> None:
        """Disconnect; a client that did not read is disconnected as well."""
        self._hung_up.set()
        self.reading.set()

    async def ended(self) -> None:
        """Wait until the server has finished the request."""
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait([self.task])

    async def watched(self) -> None:
        """Wait until the server watches for a disconnect of this client."""
        async with asyncio.timeout(WAIT_S):
            await self._watched.wait()

    @property
    def so_far(self) -> Reply | None:
        """Response so far; None without a head."""
        if not self.sent:
            return None
        start, *parts = self.sent
        assert start["type"] == "http.response.start"
        assert all(part["type"] == "http.response.body" for part in parts)
        headers: dict[str, str] = {}
        for name, value in start["headers"]:
            # Lines of one name are a list, such as challenges of two schemes.
            before = f"{headers[name.decode()]}, " if name.decode() in headers else ""
            headers[name.decode()] = before + value.decode()
        return Reply(start["status"], headers, b"".join(part["body"] for part in parts))

    async def begun(self) -> Reply | None:
        """Return the response once it has a head; None if it ends without one."""
        while not self.sent and not self.task.done():
            self._news.clear()
            await self._news.wait()
        return self.so_far

    async def head(self) -> Reply:
        """Return the response once it has a head."""
        await self._until(lambda: bool(self.sent))
        found = self.so_far
        assert found
        return found

    async def comments(self, number: int) -> None:
        """Wait for this number of heartbeats."""
        await self._until(lambda: bool(self.sent) and self._body().count(b":\n\n") >= number)

    def _body(self) -> bytes:
        found = self.so_far
        return found.body if found else b""

    async def event(self) -> Event:
        """Return the next unread event."""

        def there() -> bool:
            return len(self._events()) > self._taken

        await self._until(there)
        events = self._events()
        assert len(events) > self._taken, f"the stream ended: {events}"
        self._taken += 1
        return events[self._taken - 1]

    async def stream(self) -> AsyncIterator[Event]:
        """Yield every event from now on, until the stream ends."""
        while True:
            while len(events := self._events()) > self._taken:
                self._taken += 1
                yield events[self._taken - 1]
            if self.task.done():
                return
            self._news.clear()
            await self._news.wait()

    async def frame(self) -> Any:
        """Return the next message of the stream; events with an id alone are skipped."""
        while True:
            event = await self.event()
            if event.data:
                return event.json

    @property
    def messages(self) -> list[Event]:
        """Return the events with a message so far."""
        return [event for event in self._events() if event.data]

    def _events(self) -> list[Event]:
        found = self.so_far
        if found is None or found.headers.get("content-type") != "text/event-stream":
            return []
        return found.events

    async def _until(self, there: Any) -> None:
        async with asyncio.timeout(WAIT_S):
            while not there() and not self.task.done():
                self._news.clear()
                await self._news.wait()

    async def whole(self) -> Reply:
        """Return the whole response."""
        async with asyncio.timeout(WAIT_S):
            await self.task
        found = self.so_far
        assert found
        assert not self.sent[-1].get("more_body"), "the answer has no end"
        assert all(part.get("more_body") for part in self.sent[1:-1])
        if "content-length" in found.headers:
            assert found.headers["content-length"] == str(len(found.body))
        else:
            assert found.headers["content-type"] == "text/event-stream"
        return found


def open_request(
    app: AsgiApp,
    body: bytes | Sequence[bytes] = b"",
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    path: str = "/mcp",
    root_path: str = "",
    hangs_up: bool = False,
    headers_as: Sequence[tuple[bytes, bytes]] | None = None,
    **scope: Any,
) -> Open:
    """Send a request in these pieces. With `hangs_up` the client disconnects before the end."""
    pieces = [body] if isinstance(body, bytes) else list(body)
    coming: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": hangs_up or i + 1 < len(pieces)}
        for i, piece in enumerate(pieces)
    ]
    if hangs_up:
        coming.append({"type": "http.disconnect"})
    whole = {
        "type": "http",
        "method": method,
        "path": path,
        "root_path": root_path,
        "query_string": b"",
        "headers": headers_as
        or [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in (headers or {}).items()
        ],
        **scope,
    }
    return Open(app, whole, coming)


async def request(app: AsgiApp, *given: Any, **named: Any) -> Reply:
    """Send a request, see `open_request`, and return the whole response."""
    opened = open_request(app, *given, **named)
    try:
        return await opened.whole()
    except asyncio.CancelledError:
        opened.task.cancel()
        await asyncio.wait([opened.task], timeout=WAIT_S)
        raise


def headers_of(speaker: Speaker, message: bytes) -> dict[str, str]:
    """Return the headers that mirror a message, at revisions that have them."""
    profile, frame = speaker.profile, msgspec.json.decode(message)
    method, params = frame.get("method"), frame.get("params", {})
    names = (profile.version_header, profile.method_header, profile.name_header)
    mirrored = profile.name_params.get(method) or TASKS.name_params.get(method)
    values = (speaker.revision, method, params.get(mirrored))
    return {name: value for name, value in zip(names, values, strict=True) if name and value}


async def begin(
    app: AsgiApp, speaker: Speaker, headers: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Open a session and return its headers; none at revisions without sessions."""
    if speaker.profile.handshake is None:
        return {}
    name = str(speaker.profile.session_header)
    reply = await request(app, speaker.initialize(0), headers)
    return {name: reply.headers[name.lower()]}


async def end(app: AsgiApp, session: Mapping[str, str]) -> Reply:
    """End a session, as its client would."""
    return await request(app, headers=session, method="DELETE")


class WebClient:
    """Client of one revision, in its session if there is one; every frame is recorded."""

    def __init__(self, app: AsgiApp, speaker: Speaker) -> None:
        self.app = app
        self.speaker = speaker
        self.session: dict[str, str] = {}
        self._opened: list[tuple[bytes, Open]] = []

    def post(self, message: bytes, **headers: str) -> Open:
        """Send a message; header names have underscores, and replace the default ones."""
        more = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        kept = {**self.session, **headers_of(self.speaker, message)}
        sent = {name: value for name, value in kept.items() if name.lower() not in more} | more
        return self._keep(message, open_request(self.app, message, sent))

    def post_array(self, message: bytes) -> Open:
        """Send a batch of messages."""
        version = self.speaker.profile.version_header
        sent = {**self.session, **({version: self.speaker.revision} if version else {})}
        return self._keep(message, open_request(self.app, message, sent))

    async def ask_array(self, message: bytes) -> Reply:
        """Send a batch and return the whole response."""
        return await self.post_array(message).whole()

    def get(self, **headers: str) -> Open:
        """Open the stream for messages that belong to no request."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"accept": "text/event-stream", **self.session, **more}
        return self._keep(b"", open_request(self.app, b"", sent, method="GET"))

    async def ask(self, message: bytes, **headers: str) -> Reply:
        """Send a message and return the whole response."""
        return await self.post(message, **headers).whole()

    async def answer(self, asked: Any, result: Any) -> None:
        """Answer a request of the server."""
        message = msgspec.json.encode({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        reply = await self.ask(message)
        assert (reply.status, reply.body) == (202, b"")

    def _keep(self, message: bytes, opened: Open) -> Open:
        self._opened.append((message, opened))
        return opened

    async def aclose(self) -> None:
        """Disconnect from every open request, and wait until the server has ended it."""
        for _, opened in self._opened:
            opened.hang_up()
            if not opened.task.done():
                await asyncio.wait([opened.task], timeout=WAIT_S)
            assert opened.task.done()

    def frames(self) -> list[Frame]:
        """Return all frames, requests before their responses."""
        said = [Frame("client", message) for message, _ in self._opened if message]
        seen: set[str] = set()
        for _, opened in self._opened:
            found = opened.so_far
            if found and found.headers.get("content-type") == "text/event-stream":
                # A resumed message is the same message, not another one.
                new = [one for one in found.events if one.data and one.id not in seen]
                seen |= {one.id for one in new if one.id}
                said += [Frame("server", one.data) for one in new]
            elif found and found.body:
                said.append(Frame("server", found.body))
        return said


@asynccontextmanager
async def surfing(app: AsgiApp, revision: str) -> AsyncIterator[WebClient]:
    """Open a client of an app, after the handshake if there is one.

    At the end nothing may be open, and every frame of the server is checked.
    """
    client = WebClient(app, Speaker(revision))
    client.session = await begin(app, client.speaker)
    try:
        if client.session:
            assert (await client.ask(client.speaker.initialized)).status == 202
        yield client
    finally:
        await client.aclose()
        if client.session:
            await end(app, client.session)
        await asyncio.sleep(0)
    assert server_violations(revision, client.frames()) == []
