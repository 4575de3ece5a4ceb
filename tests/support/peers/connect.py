"""Servers for tests of the wire, here or in another process, with a connected client.

    async with talk(make_server, revision, over="stdio") as client:
        result = await client.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})

The server's frames are watched: see tests/support/checks/watch.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_wire
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.server.serving.api import ServingApi
from mcp_gen.transports.memory import memory_pair
from mcp_wire.profile import Profile
from tests.support.http.client_transport import http, posting
from tests.support.peers.asked import WAIT_S, Answer, declared
from tests.support.peers.conversation import Conversation
from tests.support.processes.process import process

__all__ = ["Connect", "Make", "talk", "talk_to"]

Make: TypeAlias = Callable[[], ServingApi]
"""Function that makes the server, or a bridge to one.

Over stdio it runs in another process, so it is in a module.
"""


@asynccontextmanager
async def talk(
    make: Make,
    revision: str,
    *,
    over: str = "memory",
    answers: Mapping[str, Answer] | None = None,
    capabilities: dict[str, Any] | None = None,
    log_level: str | None = None,
    opened: bool = True,
) -> AsyncIterator[Conversation]:
    """Open a conversation with a new server, which must have ended after the client's disconnect.

    `answers` are the handlers of server requests by method; their capabilities are declared, unless
    `capabilities` are given.
    """
    log: list[str] = []
    async with (
        _OVER[over](make, log, revision) as transport,
        _conversing(revision, transport, answers, capabilities, log_level, opened) as client,
    ):
        client.log = log
        yield client


@asynccontextmanager
async def talk_to(
    app: Any,
    revision: str,
    *,
    principal: str | None = None,
    answers: Mapping[str, Answer] | None = None,
    capabilities: dict[str, Any] | None = None,
) -> AsyncIterator[Conversation]:
    """Open a conversation of a principal with an ASGI app, which outlives the disconnect."""

    async def authenticated(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "mcp_gen.principal": principal}, receive, send)

    async with (
        posting(authenticated, revision) as transport,
        _conversing(revision, transport, answers, capabilities, None, True) as client,
    ):
        yield client


@asynccontextmanager
async def _conversing(
    revision: str,
    transport: Duplex,
    answers: Mapping[str, Answer] | None,
    capabilities: dict[str, Any] | None,
    log_level: str | None,
    opened: bool,
) -> AsyncIterator[Conversation]:
    answers = answers or {}
    if capabilities is None:
        capabilities = declared(revision, answers)
    client = Conversation(revision, transport, answers, capabilities, log_level)
    await transport.start(client)
    try:
        if opened:
            await client.open()
        yield client
    finally:
        await client.end()


@asynccontextmanager
async def _memory(make: Make, log: list[str], revision: str) -> AsyncIterator[Duplex]:
    ours, theirs = memory_pair()
    server = make()
    serving = asyncio.get_running_loop().create_task(server.serve(theirs))
    try:
        yield ours
    finally:
        await ours.aclose()
        async with asyncio.timeout(WAIT_S):
            await serving
            # Tasks that its tools left running are for other connections, and there are none.
            await server.aclose()


def _stdio(make: Make, log: list[str], revision: str) -> AbstractAsyncContextManager[Duplex]:
    return process(make, log)


_OVER: dict[str, Callable[[Make, list[str], str], AbstractAsyncContextManager[Duplex]]] = {
    "memory": _memory,
    "stdio": _stdio,
    "http": http,
}


@dataclass(frozen=True)
class Connect:
    """Parameter `connect` of a spec test: opens a client over one transport."""

    over: str
    revision: str

    def __str__(self) -> str:
        return f"{self.over}-{self.revision}"

    @property
    def profile(self) -> Profile:
        """Facts of the cell's revision."""
        return mcp_wire.profile(self.revision)

    def __call__(
        self, make: Make, revision: str | None = None, **options: Any
    ) -> AbstractAsyncContextManager[Conversation]:
        """Open a conversation with the server that `make` makes; see `talk`."""
        return talk(make, revision or self.revision, over=self.over, **options)
