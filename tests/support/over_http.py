"""A client's transport over HTTP to a server in this process: one POST per message.

What belongs to no request comes on a stream of its own; a client of 2024-11-05 has nothing else.
Whoever cancels where requests stand for themselves hangs up instead.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

import mcp_wire
from mcp_gen import Server
from mcp_gen.core.transport import Duplex, Receiver
from mcp_gen.transports.http import AsgiApp
from tests.support.asgi import Open, headers_of, open_request, request
from tests.support.frames import Speaker

__all__ = ["http"]

WAIT_S = 10.0


class _Posts:
    """Streamable HTTP, as a duplex transport."""

    def __init__(self, app: AsgiApp, revision: str) -> None:
        self._app = app
        self._speaker = Speaker(revision)
        self._session: dict[str, str] = {}
        self._receiver: Receiver | None = None
        self._waiting: list[bytes] | None = None
        """What waits for the handshake before it; None while none is on."""
        self._open: dict[bytes, Open] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._gone = False

    async def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, message: bytes) -> None:
        if self._waiting is not None:
            self._waiting.append(message)
            return
        frame = _frame(message)
        method, id = frame.get("method"), msgspec.json.encode(frame.get("id"))
        profile = self._speaker.profile
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
        self._later(self._read(opened, id))
        if profile.ready and method == profile.ready.name and profile.get_stream:
            self._later(self._listen())

    async def _read(self, opened: Open, id: bytes) -> None:
        head = await opened.begun()
        try:
            if head is not None and head.headers.get("content-type") == "text/event-stream":
                await self._events(opened)
            elif head is not None:
                await asyncio.wait([opened.task])
                reply = opened.so_far
                if reply is not None:
                    self._begun(reply.headers)
                if reply is not None and reply.body:
                    self._receive(reply.body)
        finally:
            self._open.pop(id, None)
            waiting, self._waiting = self._waiting or [], None
            for message in waiting:
                self.send(message)

    async def _events(self, opened: Open) -> None:
        async for event in opened.stream():
            if event.data:
                found = opened.so_far
                self._begun(found.headers if found else {})
                self._receive(event.data)

    async def _listen(self) -> None:
        headers = {**self._session, "accept": "text/event-stream"}
        opened = open_request(self._app, b"", headers, method="GET")
        self._open[b"GET"] = opened
        await self._events(opened)
        if self._receiver is not None and opened.messages and not self._gone:
            # The server has ended it, and the session with it.
            self._session = {}
            self._receiver.closed(None)

    def _begun(self, headers: Any) -> None:
        name = self._speaker.profile.session_header
        if name and name.lower() in headers and not self._session:
            self._session = {name: headers[name.lower()]}

    def _receive(self, message: bytes) -> None:
        if self._receiver is not None and not self._gone:
            self._receiver.receive(message)

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """What has been sent has been taken."""

    async def close(self) -> None:
        """End the session, and hang up on everything."""
        if self._gone:
            return
        self._gone = True
        if self._session:
            await request(self._app, headers=self._session, method="DELETE")
        for opened in list(self._open.values()):
            opened.hang_up()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=WAIT_S)
        if self._receiver is not None:
            self._receiver.closed(None)


class _Pair:
    """The two endpoints of 2024-11-05, as a duplex transport."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._receiver: Receiver | None = None
        self._stream: Open | None = None
        self._posts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._stream = open_request(self._app, method="GET", path="/sse")
        first = await self._stream.event()
        path, _, query = first.data.decode().partition("?")
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._post(path, query.encode())),
            loop.create_task(self._listen(self._stream, receiver)),
        ]

    def send(self, message: bytes) -> None:
        self._posts.put_nowait(message)

    async def drain(self) -> None:
        """What has been sent will be taken."""

    async def _post(self, path: str, query: bytes) -> None:
        while (message := await self._posts.get()) is not None:
            await request(self._app, message, path=path, query_string=query)

    async def _listen(self, stream: Open, receiver: Receiver) -> None:
        async for event in stream.stream():
            receiver.receive(event.data)
        receiver.closed(None)

    async def close(self) -> None:
        """Hang up."""
        posting, listening = self._tasks
        self._posts.put_nowait(None)
        await posting
        if self._stream is not None:
            self._stream.hang_up()
            await asyncio.wait([listening, self._stream.task], timeout=WAIT_S)


def _frame(message: bytes) -> dict[str, Any]:
    try:
        frame = msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        frame = None
    return frame if isinstance(frame, dict) else {}


def _headers(speaker: Speaker, message: bytes) -> dict[str, str]:
    """The headers that belong to a message, whatever it is."""
    frame = _frame(message)
    if not isinstance(frame.get("params", {}), dict) or not isinstance(frame.get("method"), str):
        frame = {}
    profile, params = speaker.profile, frame.get("params", {})
    found = headers_of(speaker, msgspec.json.encode(frame))
    about = params.get("name", params.get("uri"))
    if profile.name_header and isinstance(about, str):
        found[profile.name_header] = about if about.isascii() else _encoded(about)
    meta = params.get("_meta")
    named = meta.get(profile.protocol_version_key) if isinstance(meta, dict) else None
    if profile.version_header and isinstance(named, str):
        found[profile.version_header] = named
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _encoded(value: str) -> str:
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


@asynccontextmanager
async def http(make: Callable[[], Server], log: list[str], revision: str) -> AsyncIterator[Duplex]:
    """A connection to the server that `make` makes, as a client of the revision has it."""
    paired = mcp_wire.profile(revision).http_transport == "sse_pair"
    app = make().asgi(sse_path="/sse" if paired else None)
    transport: Duplex = _Pair(app) if paired else _Posts(app, revision)
    try:
        yield transport
    finally:
        await transport.close()
        async with asyncio.timeout(WAIT_S):
            await app.close()
        await asyncio.sleep(0)
