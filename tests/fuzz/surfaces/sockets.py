"""Surface: the app behind uvicorn on a loopback socket, with each of its HTTP parsers in turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from random import Random
from typing import Any

import uvicorn

from mcp_gen import Server
from tests.fuzz.findings import Block, Findings
from tests.fuzz.making.requests import HttpRequest
from tests.fuzz.surfaces.exchange import Events
from tests.fuzz.surfaces.http import WebLine, make_app
from tests.fuzz.target import make_server
from tests.soak.figures import live_kb

__all__ = ["SocketExchange", "Sockets"]

HOST = "127.0.0.1"
PARSERS = ("httptools", "h11")
ODD_WAIT_S = 0.2
"""Seconds to wait for a response to a request that says wrongly how long it is."""
FRAMING = (b"content-length", b"transfer-encoding", b"")


class SocketExchange:
    """One request over a connection of its own, from its first byte to the end of its response."""

    def __init__(
        self, port: int, request: HttpRequest, came: Callable[[SocketExchange, bytes], None]
    ) -> None:
        self.request = request
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.faults: list[str] = []
        self.answers = 0
        self.is_stream = False
        self.gave_up = False
        self._came = came
        self._random = Random(repr(request.headers))
        self._port = port
        self._is_odd = bool(request.leaves) or any(name in FRAMING for name, _ in request.headers)
        self._writer: asyncio.StreamWriter | None = None
        self._left = False
        self.task = asyncio.get_running_loop().create_task(self._run())

    def leave(self) -> None:
        """Disconnect."""
        self._left = True
        if self._writer is not None:
            self._writer.transport.abort()

    async def _run(self) -> None:
        reader, writer = await asyncio.open_connection(HOST, self._port)
        self._writer = writer
        try:
            with suppress(ConnectionError):
                for part in self._parts():
                    writer.write(part)
                    await writer.drain()
                if self.request.leaves == "body":
                    return
                limit = ODD_WAIT_S if self._is_odd else None
                try:
                    async with asyncio.timeout(limit):
                        await self._read(reader)
                except TimeoutError:
                    self.gave_up = True
        except (asyncio.IncompleteReadError, ValueError, IndexError) as error:
            if not self._left and not self._is_odd:
                self.faults.append(f"the response is no HTTP: {error!r}")
        finally:
            writer.transport.abort()
        if not self.status and not self._is_odd and not self._left:
            self.faults.append("the request got no response")

    def _parts(self) -> list[bytes]:
        """Return the bytes of the request, cut as a client may cut them."""
        request, random = self.request, self._random
        path = request.path.encode("latin-1", "replace")
        if request.query:
            path += b"?" + request.query
        lines = [b"%b: %b\r\n" % line for line in request.headers]
        pieces = request.pieces
        if random.random() < 0.2 and request.body:
            lines.append(b"transfer-encoding: chunked\r\n")
            pieces = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece]
            pieces.append(b"0\r\n\r\n")
        elif request.body or request.method in ("POST", "PUT", "PATCH"):
            lines.append(b"content-length: %d\r\n" % len(request.body))
        first = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), path)
        head = first + b"".join(lines) + b"connection: close\r\n\r\n"
        at = random.randrange(len(head)) if random.random() < 0.2 else 0
        whole = [head[:at], head[at:], *pieces] if at else [head + b"".join(pieces)]
        return whole[:-1] if request.leaves == "body" and len(whole) > 1 else whole

    async def _read(self, reader: asyncio.StreamReader) -> None:
        lines: list[bytes] = []
        while self.status < 200:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head[:-4].split(b"\r\n")
            self.status = int(first.split(b" ", 2)[1])
        pairs = (line.partition(b":") for line in lines)
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}
        self.is_stream = self.headers.get(b"content-type") == b"text/event-stream"
        if self.request.method == "HEAD":
            return
        events, body = Events(), b""
        async for data in self._body(reader):
            if not self.is_stream:
                body += data
                continue
            for one in events.feed(data):
                self._hear(one)
        if body:
            self._hear(body)

    def _hear(self, data: bytes) -> None:
        self.answers += 1
        self._came(self, data)

    async def _body(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        if self.headers.get(b"transfer-encoding") == b"chunked":
            while size := int(await reader.readuntil(b"\r\n"), 16):
                yield await reader.readexactly(size)
                await reader.readexactly(2)
        elif b"content-length" in self.headers:
            yield await reader.readexactly(int(self.headers[b"content-length"]))
        else:
            while data := await reader.read(65536):
                yield data


@asynccontextmanager
async def _listening(app: Any, parser: Any) -> AsyncGenerator[int, None]:
    """Serve an app with uvicorn in this loop; the value is its port."""
    config = uvicorn.Config(
        app, host=HOST, port=0, http=parser, ws="none", lifespan="on", log_config=None
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    # Not `serve`, which takes the signal handlers of the process.
    await server.startup()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        await server.lifespan.shutdown()
        for task in list(server.server_state.tasks):
            task.cancel()
        await asyncio.sleep(0)


class Sockets:
    """The app behind uvicorn, once per HTTP parser; each block is a session with one of them."""

    def __init__(self, server: Server | None = None) -> None:
        self._server = server or make_server()
        self._ports: list[int] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Sockets:
        for parser in PARSERS:
            listening = _listening(make_app(self._server), parser)
            self._ports.append(await self._stack.enter_async_context(listening))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def live_kb(self) -> int | None:
        return live_kb()

    async def run(self, block: Block, findings: Findings) -> None:
        port = self._ports[block.indexes[0] // 250 % len(self._ports)]
        line = WebLine(block.revision, partial(SocketExchange, port))
        line.knows(b"")
        try:
            await line.talk(block, findings, lambda: asyncio.sleep(0))
        finally:
            await line.close()
