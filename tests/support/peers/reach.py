"""Clients for spec tests: one body over memory, a command's pipes and HTTP.

    async def test_a_call_is_answered(reach: Reach) -> None:
        async with reach(make_server()) as reached:
            await reached.session.call_tool("echo", {"text": "a"})
            (call,) = reached.asked("tools/call")

The server is one of ours or a scripted one, and stays in this process: over stdio the command is a
relay to it. The client's frames are watched, as everywhere.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import mcp_wire
from mcp_gen import Client, ClientSession, Server
from mcp_gen.transports.streams import StreamTransport
from mcp_wire.profile import Profile
from tests.client.scripted import Recorded
from tests.support.http.loopback import Web, serving
from tests.support.http.scripted_endpoint import Serves, posted
from tests.support.peers.asked import WAIT_S

__all__ = ["Reach", "Reached"]

RELAY = str(Path(__file__).parents[1] / "processes/relay.py")


@dataclass
class Reached:
    """Connected client, with its sent messages."""

    client: Client
    target: Any
    sent_bytes: Callable[[], list[bytes]]
    kept: _Kept | None = None
    at: Web | None = None
    sessions: list[ClientSession] = field(default_factory=list)

    @property
    def session(self) -> ClientSession:
        """First session of the client."""
        return self.sessions[0]

    @property
    def web(self) -> Web:
        """Requests received over HTTP."""
        assert self.at
        return self.at

    @property
    def connections(self) -> int:
        """Number of connections over memory and pipes."""
        assert self.kept
        return self.kept.connections

    @property
    def sent(self) -> list[Any]:
        """Return the messages that the client has sent."""
        return [msgspec.json.decode(one) for one in self.sent_bytes()]

    def asked(self, method: str) -> list[Any]:
        """Return the client's requests of one method."""
        return [one for one in self.sent if one.get("method") == method]

    def answers(self) -> list[Any]:
        """Return the client's responses."""
        return [one for one in self.sent if "method" not in one]

    async def connect(self, revision: str | None, **options: Any) -> ClientSession:
        """Open one more session with the same server."""
        session = await self.client.connect(self.target, revision=revision, **options)
        self.sessions.append(session)
        return session


@dataclass(frozen=True)
class Reach:
    """Parameter `reach` of a client's spec test: a transport to servers, at a revision."""

    over: str
    revision: str

    def __str__(self) -> str:
        return f"{self.over}-{self.revision}"

    @property
    def profile(self) -> Profile:
        """Facts of the cell's revision."""
        return mcp_wire.profile(self.revision)

    @asynccontextmanager
    async def __call__(
        self,
        server: Serves,
        client: Client | None = None,
        *,
        pinned: bool = True,
        opened: bool = True,
        speaks: str | None = None,
        **options: Any,
    ) -> AsyncIterator[Reached]:
        """Connect a client to the server, unless `opened` is false.

        `speaks` is the revision of a scripted server if it differs from the client's.
        """
        async with (
            _OVER[self.over](server, speaks or self.revision) as reached,
            client or reached.client as using,
        ):
            reached.client = using
            if opened:
                await reached.connect(self.revision if pinned else None, **options)
            yield reached


@asynccontextmanager
async def _memory(server: Serves, revision: str) -> AsyncIterator[Reached]:
    recorded = _Kept(server)
    yield Reached(Client("test", "1.0.0"), recorded, lambda: recorded.sent, recorded)


@asynccontextmanager
async def _stdio(server: Serves, revision: str) -> AsyncIterator[Reached]:
    recorded = _Kept(server)
    tasks: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        await recorded.serve(StreamTransport(reader, writer))

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/s"
        listening = await asyncio.start_unix_server(serve, path)
        try:
            command = [sys.executable, "-IS", RELAY, path]
            yield Reached(Client("test", "1.0.0"), command, lambda: recorded.sent, recorded)
        finally:
            listening.close()
            async with asyncio.timeout(WAIT_S):
                await asyncio.gather(*tasks)


@asynccontextmanager
async def _http(server: Serves, revision: str) -> AsyncIterator[Reached]:
    paired = mcp_wire.profile(revision).http_transport == "sse_pair"
    far: AbstractAsyncContextManager[Any] = (
        serving(server.asgi(legacy_sse_path="/sse" if paired else None))
        if isinstance(server, Server)
        else posted(server, revision)
    )
    async with far as web:
        url = f"{web.origin}/sse" if paired else web.url

        def sent() -> list[bytes]:
            # A POST to the SSE path only probes for Streamable HTTP.
            return [one.body for one in web.got if one.body and one.path != "/sse"]

        yield Reached(Client("test", "1.0.0"), url, sent, at=web)


class _Kept(Recorded):
    """Server whose connections are all recorded."""

    def __init__(self, server: Serves) -> None:
        super().__init__(server)
        self._before: list[bytes] = []
        self.connections = 0

    @property
    def sent(self) -> list[bytes]:
        """Return the messages that clients have sent, over all connections."""
        return [*self._before, *(one.data for one in self.frames if one.sender == "client")]

    async def serve(self, transport: Any) -> None:
        self._before = self.sent
        self.connections += 1
        await super().serve(transport)


_OVER = {"memory": _memory, "stdio": _stdio, "http": _http}
