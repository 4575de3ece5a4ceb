"""HTTP servers on loopback for the client tests: ours in this loop, and scripted bytes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import msgspec
import uvicorn

from mcp_gen.compat.recording import Frame
from tests.support.peers.raw import WAIT_S

__all__ = ["Got", "Line", "Script", "Web", "scripted_web", "serving"]


class Got(NamedTuple):
    """Received request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Body as JSON."""
        return msgspec.json.decode(self.body)

    @property
    def asks(self) -> str:
        """MCP method; empty if there is none."""
        found = self.json if self.body else {}
        return str(found.get("method", "")) if isinstance(found, dict) else ""


@dataclass
class Web:
    """Listening server, with its received requests.

    A scripted one counts its connections, also those without a request.
    """

    port: int
    scheme: str = "http"
    got: list[Got] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0

    @property
    def origin(self) -> str:
        """Origin of the server, without a path."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """URL of the MCP endpoint."""
        return f"{self.origin}/mcp"

    def asked(self, method: str) -> list[Got]:
        """Return the requests of one MCP method."""
        return [one for one in self.got if one.asks == method]

    def by(self, http_method: str) -> list[Got]:
        """Return the requests of one HTTP method."""
        return [one for one in self.got if one.method == http_method]

    async def came(self, http_method: str) -> Got:
        """Return the first request of this HTTP method, once it has arrived."""
        async with asyncio.timeout(WAIT_S):
            while not self.by(http_method):
                self.news.clear()
                await self.news.wait()
        return self.by(http_method)[0]

    async def met(self, connections: int) -> None:
        """Wait for this number of connections of a scripted server."""
        async with asyncio.timeout(WAIT_S):
            while self.connections < connections:
                self.news.clear()
                await self.news.wait()

    def frames(self) -> list[Frame]:
        """Return the received messages."""
        return [Frame("client", one.body) for one in self.got if one.body]


@asynccontextmanager
async def serving(app: Any, *, port: int = 0, **options: Any) -> AsyncIterator[Web]:
    """Serve an ASGI app with uvicorn in this loop. Options are uvicorn's."""
    web = Web(port, "https" if "ssl_certfile" in options else "http")

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        place = len(web.got)
        web.got.append(Got(scope["method"], scope["path"], headers, b""))
        web.news.set()

        async def receive_too() -> Any:
            message = await receive()
            if message["type"] == "http.request":
                one = web.got[place]
                web.got[place] = one._replace(body=one.body + message.get("body", b""))
            return message

        await app(scope, receive_too, send)

    config = uvicorn.Config(watched, port=port, log_level="warning", lifespan="on", **options)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    # Not `serve`: it looks around ten times a second, and takes the test's signal handlers.
    await server.startup()
    web.port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await server.lifespan.shutdown()
        for task in list(server.server_state.tasks):
            task.cancel()
        if server.server_state.tasks:
            await asyncio.wait(server.server_state.tasks)
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        # Transports are closed in the next turn, and streams that nobody read in the one after.
        for _ in range(5):
            await asyncio.sleep(0)


Script: TypeAlias = "Callable[[Got, Line], Awaitable[None]]"
"""Function that answers one request of a scripted server; the connection closes afterwards."""


class Line:
    """Connection of a scripted server, after a request was read."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def answer(
        self, status: int, body: bytes = b"", content_type: str = "application/json", **headers: str
    ) -> None:
        """Send a whole response. Header names are spelled with underscores."""
        length = {"content-length": str(len(body))}
        await self.head(status, content_type if body else "", **{**length, **headers})
        await self.raw(body)

    async def head(self, status: int, content_type: str, **headers: str) -> None:
        """Send the head of a response that ends with the connection."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_type:
            named["content-type"] = content_type
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        await self.raw(f"HTTP/1.1 {status} Status\r\nconnection: close\r\n{lines}\r\n".encode())

    async def result(self, got: Got, result: Any, **headers: str) -> None:
        """Return the result of a request, as JSON."""
        message = {"jsonrpc": "2.0", "id": got.json["id"], "result": result}
        await self.answer(200, msgspec.json.encode(message), **headers)

    async def error(self, got: Got, status: int, code: int, data: Any = None) -> None:
        """Return a JSON-RPC error with the id of the request."""
        error = {"code": code, "message": "no", **({"data": data} if data is not None else {})}
        message = {"jsonrpc": "2.0", "id": got.json["id"], "error": error}
        await self.answer(status, msgspec.json.encode(message))

    async def silence(self) -> None:
        """Send nothing until the client disconnects."""
        await asyncio.Event().wait()


@asynccontextmanager
async def scripted_web(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Web]:
    """Serve requests with a test's script, over TLS if its settings are given."""
    web = Web(0, "http" if tls is None else "https")
    tasks: set[asyncio.Task[Any]] = set()
    failed: list[BaseException] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        web.connections += 1
        web.news.set()
        try:
            got = await _read(reader)
            if got is not None:
                web.got.append(got)
                web.news.set()
                await script(got, Line(writer))
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client has hung up, or the test is over
        except BaseException as error:
            failed.append(error)
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for _ in range(3):
            await asyncio.sleep(0)
    assert failed == []


async def _read(reader: asyncio.StreamReader) -> Got | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Got(method, path, headers, body)
