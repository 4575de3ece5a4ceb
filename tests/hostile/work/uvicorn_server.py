"""Servers of uvicorn in this loop with our protocol classes, and clients that send any bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_gen import ConnectionLimits
from mcp_gen.transports.http_server.uvicorn_protocol import limited_protocol
from tests.support.peers.raw import WAIT_S

__all__ = ["PROTOCOLS", "Parser", "Served", "head", "served", "status_of"]

Parser: TypeAlias = Literal["h11", "httptools"]

PROTOCOLS: dict[Parser, type[asyncio.Protocol]] = {
    "h11": H11Protocol,
    "httptools": HttpToolsProtocol,
}


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer once the body is there; `/hold` never, `/long` with more than a socket takes."""
    if scope["path"] == "/hold":
        await asyncio.Event().wait()
    while (await receive()).get("more_body"):
        pass
    body = b"x" * 50_000_000 if scope["path"] == "/long" else b"ok"
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


class Served:
    """Server of uvicorn that is being served."""

    def __init__(self, server: uvicorn.Server, path: Path | None) -> None:
        self._server = server
        self._path = path

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a new connection."""
        if self._path is not None:
            return await asyncio.open_unix_connection(self._path)
        (port,) = {s.getsockname()[1] for one in self._server.servers for s in one.sockets}
        return await asyncio.open_connection("127.0.0.1", port)

    @property
    def connections(self) -> int:
        """Number of open connections, as uvicorn counts them."""
        return len(self._server.server_state.connections)

    @property
    def busy(self) -> bool:
        """True if a request is being answered."""
        return bool(self._server.server_state.tasks)


@asynccontextmanager
async def served(
    kind: Parser, limits: ConnectionLimits, path: Path | None = None
) -> AsyncGenerator[Served]:
    """Serve an app with a protocol class, on loopback or on a Unix socket."""
    ready = asyncio.Event()

    class Announced(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

    config = uvicorn.Config(
        _answer,
        port=0,
        uds=None if path is None else str(path),
        http=limited_protocol(limits, kind),
        h11_max_incomplete_event_size=limits.max_header_bytes,
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=0,
        timeout_keep_alive=cast("int", limits.idle_timeout_s),
    )
    server = Announced(config)
    # Not `serve`: the test's own signal handlers stay.
    serving = asyncio.get_running_loop().create_task(server._serve())
    try:
        await asyncio.wait_for(ready.wait(), WAIT_S)
        yield Served(server, path)
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, WAIT_S)


def head(size_bytes: int, path: str = "/", *more: str) -> bytes:
    """Return a request head of this size."""
    lines = [f"GET {path} HTTP/1.1", "host: localhost", *more, "x: "]
    known = len("\r\n".join(lines)) + len("\r\n\r\n")
    lines[-1] += "y" * (size_bytes - known)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def status_of(reader: asyncio.StreamReader) -> str:
    """Return the status of the next response, and skip its body; `closed` if there is none."""
    async with asyncio.timeout(WAIT_S):
        try:
            text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = text.partition("content-length: ")[2].partition("\r\n")[0]
            await reader.readexactly(int(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return "closed"
    return text.split(" ")[1]
