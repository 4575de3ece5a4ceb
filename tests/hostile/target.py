"""The server under test for hostile requests, and the HTTP servers that run it."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import uvicorn
from msgspec import Meta

from mcp_gen import Context, Server
from mcp_gen.core.transport.header_params import MARK
from mcp_gen.transports.http_server.asgi import Receive, Scope, Send

__all__ = ["LIMIT_BYTES", "USER", "WAIT_S", "App", "Log", "Target", "running"]

LIMIT_BYTES = 100_000
"""Message size limit of the server, in bytes."""
WAIT_S = 30.0
WITHOUT_SESSIONS = "/stateless"
USER = b"x-user"
"""Header with the principal, in place of an authenticating middleware."""


def marked(kind: Any, name: str) -> Any:
    return Annotated[kind, Meta(extra_json_schema={MARK: name})]


@dataclass
class Name:
    name: str


def make_server() -> Server:
    server = Server("target", "1.0.0", declare=["logging"])

    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    async def find(
        region: marked(str, "Region") = "",
        count: marked(int, "Count") = 0,
        is_open: marked(bool, "Open") = False,
    ) -> str:
        return f"{region} {count} {is_open}"

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("name?", Name)).action

    @server.tool(task="optional")
    async def work() -> str:
        return "done"

    @server.resource("note://a")
    def note() -> str:
        return "a"

    @server.resource("user://{id}/{part}")
    def user(id: str, part: str) -> str:
        return f"{id} {part}"

    @server.prompt
    def greet(name: str) -> str:
        return f"Hello {name}"

    @server.completion("greet", "name")
    def names(value: str) -> list[str]:
        return ["Ada"]

    @server.prompt(name="größe")
    def size() -> str:
        return "How tall?"

    return server


class App:
    """App behind every HTTP server: one endpoint with sessions, one at its own path without."""

    def __init__(self) -> None:
        server = make_server()
        options: dict[str, Any] = {"max_body_bytes": LIMIT_BYTES, "principal": _principal}
        self._with_sessions = server.asgi(legacy_sse_path="/sse", **options)
        self._without = server.asgi(WITHOUT_SESSIONS, stateless=True, **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        without = scope.get("path") == WITHOUT_SESSIONS
        await (self._without if without else self._with_sessions)(scope, receive, send)

    async def aclose(self) -> None:
        await self._with_sessions.aclose()
        await self._without.aclose()


def _principal(scope: Scope) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == USER), None)


class Log(logging.Handler):
    """Collects the log records of the whole process."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def take_failures(self) -> list[str]:
        """Return the records of failures since the last call."""
        records, self.records = self.records, []
        return [
            logging.Formatter().format(record)
            for record in records
            if record.exc_info or record.levelno >= logging.ERROR
        ]


@dataclass(frozen=True)
class Target:
    """A real HTTP server on loopback."""

    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)


@contextmanager
def running(parser: Any) -> Iterator[Target]:
    """Run uvicorn with one of its parsers, in a thread."""
    config = uvicorn.Config(
        App(), http=parser, ws="none", loop="asyncio", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            yield Target(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(WAIT_S)
            assert not thread.is_alive(), "the server has not ended"
