"""Client transport over HTTP to a server in this process: one POST per message.

Messages without a request come on the GET stream; a client of 2024-11-05 has one stream alone. At
revisions without sessions a cancellation is a disconnect. Every response must be valid HTTP, and
every received message is watched.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec

import mcp_wire
from mcp_gen.core.transport.protocols import Duplex, Receiver
from mcp_gen.server.serving.api import ServingApi
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_wire.extensions.tasks import EXTENSION as TASKS
from tests.support.checks.watch import Watched, watch
from tests.support.frames import Speaker
from tests.support.http.asgi import Open, Reply, headers_of, open_request, request

__all__ = ["http", "posting"]

WAIT_S = 30.0
EVENTS = "text/event-stream"


class _Tasks:
    """Background tasks, which must all have succeeded at the end."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work))

    async def end(self) -> None:
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*self._tasks)


class _Posts:
    """Streamable HTTP as a duplex transport."""

    def __init__(self, app: AsgiApp, revision: str) -> None:
        self._app = app
        self._speaker = Speaker(revision)
        self._session: dict[str, str] = {}
        self._receiver: Receiver | None = None
        self._waiting: list[bytes] | None = None
        """Messages that wait for the handshake; None if none is open."""
        self._open: dict[bytes, Open] = {}
        self.tasks = _Tasks()
        self._gone = False

    async def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, message: bytes) -> None:
        if self._waiting is not None:
            self._waiting.append(message)
            return
        frame, profile = _frame(message), self._speaker.profile
        method, id = frame.get("method"), msgspec.json.encode(frame.get("id"))
        if profile.stream_drop_cancels and profile.cancelled and method == profile.cancelled.name:
            params = frame.get("params") or {}
            meant = self._open.get(msgspec.json.encode(params.get("requestId")))
            if meant is not None:
                meant.hang_up()
            return
        if profile.handshake and method == profile.handshake.name and not self._session:
            self._waiting = []
        headers = {**self._session, **_headers(self._speaker, message)}
        opened = open_request(self._app, message, headers)
        if "id" in frame and method:
            self._open[id] = opened
        self.tasks.begin(self._read(opened, id))
        if profile.initialized and method == profile.initialized.name and profile.get_stream:
            headers = {**self._session, "accept": EVENTS}
            self._open[b"GET"] = open_request(self._app, b"", headers, method="GET")
            self.tasks.begin(self._listen(self._open[b"GET"]))

    async def _read(self, opened: Open, id: bytes) -> None:
        try:
            head = await opened.begun()
            if head is not None and head.headers.get("content-type") == EVENTS:
                await self._events(opened)
            if not opened.hung_up:
                self._answered(await opened.whole())
        finally:
            self._open.pop(id, None)
            waiting, self._waiting = self._waiting or [], None
            for message in waiting:
                self.send(message)

    def _answered(self, reply: Reply) -> None:
        """Handle a complete response."""
        self._begun(reply)
        kind = reply.headers.get("content-type")
        assert reply.status == 200 or kind != EVENTS, f"a stream has status {reply.status}"
        assert (reply.status == 202) == (not reply.body), f"{reply.status} with {reply.body!r}"
        if kind != EVENTS and reply.body:
            assert kind == "application/json"
            self._receive(reply.body)

    async def _events(self, opened: Open) -> None:
        async for event in opened.stream():
            if event.data:
                found = opened.so_far
                assert found
                self._begun(found)
                self._receive(event.data)

    async def _listen(self, opened: Open) -> None:
        head = await opened.begun()
        assert head is None or head.status == 200, f"a GET has status {head.status}"
        await self._events(opened)
        if self._receiver is not None and not opened.hung_up:
            # The server has ended it, and the session with it.
            self._session = {}
            self._receiver.closed(None)

    def _begun(self, reply: Reply) -> None:
        name = self._speaker.profile.session_header
        if name and name.lower() in reply.headers and not self._session:
            self._session = {name: reply.headers[name.lower()]}

    def _receive(self, message: bytes) -> None:
        if self._receiver is not None and not self._gone:
            self._receiver.receive(message)

    async def drain(self) -> None:
        """Return at once: sent messages have been taken."""

    async def aclose(self) -> None:
        """End the session, and disconnect everything."""
        if self._gone:
            return
        self._gone = True
        for opened in list(self._open.values()):
            opened.hang_up()
        if self._session:
            ended = await request(self._app, headers=self._session, method="DELETE")
            assert ended.status == 204, f"the end of a session has status {ended.status}"
        await self.tasks.end()
        if self._receiver is not None:
            self._receiver.closed(None)


class _Pair:
    """The two endpoints of 2024-11-05 as a duplex transport."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._stream: Open | None = None
        self._posts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._all_posted = asyncio.Event()
        self.tasks = _Tasks()

    async def start(self, receiver: Receiver) -> None:
        self._stream = open_request(self._app, method="GET", path="/sse")
        first = await self._stream.event()
        assert first.name == "endpoint"
        path, _, query = first.data.decode().partition("?")
        self.tasks.begin(self._post(path, query.encode()))
        self.tasks.begin(self._listen(self._stream, receiver))

    def send(self, message: bytes) -> None:
        self._posts.put_nowait(message)

    async def drain(self) -> None:
        """Return at once: sent messages will be taken."""

    async def _post(self, path: str, query: bytes) -> None:
        status = 202
        while (message := await self._posts.get()) is not None:
            taken = await request(self._app, message, path=path, query_string=query)
            # After a disconnect there is no receiver any more.
            assert taken.status in {status, 404}, f"a POST has status {taken.status}"
            status = taken.status
        self._all_posted.set()

    async def _listen(self, stream: Open, receiver: Receiver) -> None:
        async for event in stream.stream():
            assert event.name == "message"
            receiver.receive(event.data)
        receiver.closed(None)

    async def aclose(self) -> None:
        """Disconnect. The server would notice later; its own end does not wait for that."""
        self._posts.put_nowait(None)
        async with asyncio.timeout(WAIT_S):
            await self._all_posted.wait()
        if self._stream is not None:
            self._stream.hang_up()


def _frame(message: bytes) -> dict[str, Any]:
    try:
        frame = msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        frame = None
    return frame if isinstance(frame, dict) else {}


def _headers(speaker: Speaker, message: bytes) -> dict[str, str]:
    """Return the headers of a message of any kind."""
    frame = _frame(message)
    if not isinstance(frame.get("params", {}), dict) or not isinstance(frame.get("method"), str):
        frame = {}
    profile, params = speaker.profile, frame.get("params", {})
    found: dict[str, Any] = headers_of(speaker, msgspec.json.encode(frame))
    method = str(frame.get("method"))
    about = params.get(profile.name_params.get(method) or TASKS.name_params.get(method))
    if profile.name_header and isinstance(about, str):
        plain = about.isascii() and about.isprintable() and about == about.strip()
        found[profile.name_header] = about if plain else _encoded(about)
    meta = params.get("_meta")
    named = meta.get(profile.protocol_version_key) if isinstance(meta, dict) else None
    if profile.version_header and isinstance(named, str):
        found[profile.version_header] = named
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _encoded(value: str) -> str:
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


@asynccontextmanager
async def http(
    make: Callable[[], ServingApi], log: list[str], revision: str
) -> AsyncIterator[Duplex]:
    """Connect to the server that `make` makes, with the HTTP transport of the client's revision."""
    paired = mcp_wire.profile(revision).http_transport == "sse_pair"
    app = make().asgi(legacy_sse_path="/sse" if paired else None)
    async with posting(app, revision, end=app.aclose) as transport:
        yield transport


@asynccontextmanager
async def posting(
    app: Any, revision: str, end: Callable[[], Awaitable[None]] | None = None
) -> AsyncIterator[Duplex]:
    """Connect to an ASGI app, with the client's HTTP transport; `end` ends the app."""
    paired = mcp_wire.profile(revision).http_transport == "sse_pair"
    transport = _Pair(app) if paired else _Posts(app, revision)
    try:
        yield Watched(transport, watch(), side="client")
    finally:
        await transport.aclose()
        if end is not None:
            async with asyncio.timeout(WAIT_S):
                await end()
        await transport.tasks.end()
        await asyncio.sleep(0)
