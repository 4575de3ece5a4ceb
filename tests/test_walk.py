"""The walk of a `tools/call`: how many functions and rooms a warm call passes, from bytes to bytes.

A later change may raise a figure of the table, with its reason beside it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pytest

from mcp_gen import Client, Server
from mcp_gen.core.transport.protocols import Receiver
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_gen.transports.http_server.asgi import lifespan
from mcp_gen.transports.lines import LineReader, LineWriter
from mcp_gen.transports.stdio import StdioTransport, _ReadProtocol
from tests.support.checks.walk import Walk, traced
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import begin, headers_of, request
from tests.support.http.loopback import serving

pytestmark = [
    pytest.mark.unchecked("checks of what a server says would be counted too"),
    pytest.mark.skipif(
        sys.version_info[:2] != (3, 11),
        reason="counted on 3.11: later versions inline comprehensions, and so count fewer frames",
    ),
]

PAGE = Path(__file__).parents[1] / "docs/benchmarks/README.md"
WAIT_S = 30.0
WARM_CALLS = 3
TRACED_CALLS = 5

Call: TypeAlias = Callable[[], Awaitable[Any]]
"""Makes one call of `add` and returns its result."""


class Limits(NamedTuple):
    """The most that one call may pass."""

    frames: int
    rooms: int
    changes: int


def adding() -> Server:
    server = Server("walked")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


# --- the routes of a server ---


@asynccontextmanager
async def over_asgi(revision: str) -> AsyncIterator[Call]:
    """POSTs to the app, by scope, receive and send."""
    app: AsgiApp = adding().asgi()
    speaker = Speaker(revision)
    session = await begin(app, speaker)
    if session:
        assert (await request(app, speaker.initialized, session)).status == 202
    message = speaker.call(1, "add", a=1, b=2)
    headers = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **session,
        **headers_of(speaker, message),
    }
    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "server": ("localhost", 80),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
    body: Any = {"type": "http.request", "body": message}

    async def call() -> Any:
        sent: list[Any] = []

        async def receive() -> Any:
            return body

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)
        assert sent[0]["status"] == 200
        return sent[1]["body"]

    try:
        yield call
    finally:
        await app.aclose()


class Lines(StdioTransport):
    """The transport over stdin and stdout, without the descriptors: the test has both ends."""

    def __init__(self) -> None:
        super().__init__()
        self._came = asyncio.Queue[bytes]()
        self._protocol: _ReadProtocol | None = None

    async def start(self, receiver: Receiver) -> None:
        self._writer = LineWriter(asyncio.get_running_loop())
        self._protocol = _ReadProtocol(receiver, self._writer, self._max, receiver.closed)
        self._writer.attach(self)

    def write(self, data: bytes) -> None:
        self._came.put_nowait(data)

    def feed(self, message: bytes) -> None:
        assert self._protocol is not None
        # Outside of any task, as the event loop does it.
        asyncio.get_running_loop().call_soon(self._protocol.data_received, message + b"\n")

    async def ask(self, message: bytes) -> bytes:
        self.feed(message)
        async with asyncio.timeout(WAIT_S):
            return await self._came.get()

    def hang_up(self) -> None:
        assert self._protocol is not None
        self._protocol.connection_lost(None)


@asynccontextmanager
async def over_lines(revision: str) -> AsyncIterator[Call]:
    """Lines of a stdio connection."""
    transport, speaker = Lines(), Speaker(revision)
    serving = asyncio.create_task(adding().serve(transport))
    await asyncio.sleep(0)
    if speaker.opening:
        await transport.ask(speaker.initialize(0))
        transport.feed(speaker.initialized)
    message = speaker.call(1, "add", a=1, b=2)
    try:
        yield lambda: transport.ask(message)
    finally:
        transport.hang_up()
        await serving


# --- the routes of a client ---


@asynccontextmanager
async def by_client(revision: str) -> AsyncIterator[Call]:
    """A client over HTTP; no function of the server counts."""
    profile = Speaker(revision).profile
    info = {"name": "far", "version": "1"}
    common = {"resultType": "complete"} if profile.handshake is None else {}
    cached = {"ttlMs": 0, "cacheScope": "private"} if profile.cache_hints else {}
    tool = {"name": "add", "inputSchema": {"type": "object"}}
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": revision,
            "capabilities": {"tools": {}},
            "serverInfo": info,
        },
        "server/discover": {
            "supportedVersions": [revision],
            "capabilities": {"tools": {}},
            **common,
            **cached,
        },
        "tools/list": {"tools": [tool], **common, **cached},
        "tools/call": {"content": [{"type": "text", "text": "3"}], **common},
    }

    name = profile.session_header
    session = [(name.lower().encode(), b"kept")] if name else []

    async def far(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, _nothing, _nothing)
            return
        frame: Any = msgspec.json.decode((await receive())["body"] or b"{}")
        status, body = 202 if scope["method"] == "POST" else 405, b""
        if frame.get("method") in results:
            answer = {"jsonrpc": "2.0", "id": frame["id"], "result": results[frame["method"]]}
            status, body = 200, msgspec.json.encode(answer)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *session,
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async with serving(far) as web, Client("walker") as client:
        server = await client.connect(web.url, revision=revision)

        async def call() -> Any:
            return await server.call_tool("add", {"a": 1, "b": 2})

        yield call


async def _nothing() -> None:
    """Nothing to start, nothing to stop."""


# --- the table ---

Route: TypeAlias = Callable[[str], AbstractAsyncContextManager[Call]]

# One frame of each server's route is `check_bounds`: no schema bound is broken by what is sent.
ROUTES: dict[str, tuple[Route, str, Limits]] = {
    "HTTP without sessions": (over_asgi, PER_REQUEST, Limits(29, 8, 19)),
    "HTTP session": (over_asgi, HANDSHAKE, Limits(37, 10, 22)),
    "stdio with a handshake": (over_lines, HANDSHAKE, Limits(26, 7, 16)),
    "stdio without a handshake": (over_lines, PER_REQUEST, Limits(32, 7, 18)),
    "client over HTTP with a handshake": (by_client, HANDSHAKE, Limits(34, 8, 17)),
    "client over HTTP without a handshake": (by_client, PER_REQUEST, Limits(36, 9, 19)),
}

WIRE = ("transports/http_client/sockets.py", "transports/http_client/answers.py")
"""Files under httpcore2's interfaces, also called by httptools: part of the library's walk."""
MOST_WITH_WIRE = 57
"""The most frames of a client's call, those of `WIRE` too: three of them are headers."""


async def walk_of(call: Call, without: tuple[str, ...] = WIRE) -> Walk:
    """The shortest walk of some warm calls: timers of the runtime may run during others."""
    for _ in range(WARM_CALLS):
        await call()
    walks: list[Walk] = []
    for _ in range(TRACED_CALLS):
        with traced() as walk:
            await call()
        walks.append(walk.without(*without))
    return min(walks, key=len)


@pytest.mark.parametrize("name", ROUTES)
async def test_a_tool_call_passes_few_functions_and_rooms(name: str) -> None:
    route, revision, limits = ROUTES[name]
    async with route(revision) as call:
        walk = await walk_of(call)
    found = Limits(walk.frames, walk.rooms, walk.changes)
    assert all(map(int.__le__, found, limits)), f"{name}: {limits}\n{walk}"


def test_the_page_of_benchmarks_tells_the_frames_of_each_route() -> None:
    _, _, table = PAGE.read_text("utf-8").partition("## Frames of a call")
    rows = re.findall(r"^\| (.+?) \| ≤ (\d+) \| (\d+) \|$", table, re.MULTILINE)
    assert {name: int(frames) for name, _, frames in rows} == {
        name: limits.frames for name, (_, _, limits) in ROUTES.items()
    }
    assert [name for name, goal, frames in rows if int(frames) > int(goal)] == []


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_the_wire_of_a_client_adds_few_functions(revision: str) -> None:
    async with by_client(revision) as call:
        walk = await walk_of(call, without=())
    assert walk.frames <= MOST_WITH_WIRE, str(walk)


async def test_a_function_added_to_the_walk_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with over_lines(HANDSHAKE) as call:
        before = await walk_of(call)
    feed = LineReader.feed

    def feed_twice(reader: LineReader, data: bytes) -> None:
        LineReader._buffer(reader, b"")
        feed(reader, data)

    monkeypatch.setattr(LineReader, "feed", feed_twice)
    async with over_lines(HANDSHAKE) as call:
        after = await walk_of(call)
    assert after.frames == before.frames + 1


async def test_a_coroutine_counts_once_however_often_it_resumes() -> None:
    writer = LineWriter(asyncio.get_running_loop())
    writer.pause_writing()
    asyncio.get_running_loop().call_later(0.01, writer.resume_writing)
    with traced() as walk:
        await writer.drain()
    assert [step.function for step in walk].count("transports/lines.py: LineWriter.drain") == 1
