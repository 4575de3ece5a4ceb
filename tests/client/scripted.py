"""Recorded servers for the client tests: real and scripted ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import msgspec

import mcp_wire
from mcp_gen import Client
from mcp_gen.client.session.session import ClientSession
from mcp_gen.compat.frame_check import FrameChecker
from mcp_gen.compat.recording import Frame, RecordingTransport

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex

__all__ = ["CannedServer", "Recorded", "Reply", "client_violations", "connected", "violations"]

WAIT_S = 30.0

Reply: TypeAlias = Callable[[Any], "dict[str, Any] | None"]
"""Function of a request's params; returns `{"result": …}`, `{"error": …}` or None (no answer)."""


class Serves(Protocol):
    """Protocol of a server for one connection: a Server or a substitute."""

    async def serve(self, transport: Duplex) -> None: ...


class Recorded:
    """Server that records every frame of its conversations."""

    def __init__(self, server: Serves) -> None:
        self._server = server
        self._transport: RecordingTransport | None = None

    @property
    def frames(self) -> list[Frame]:
        """Return the frames of the last connection, both ways."""
        return self._transport.frames if self._transport else []

    def asked(self, method: str) -> list[Any]:
        """Return the client's requests of this method."""
        sent = [msgspec.json.decode(one.data) for one in self.frames if one.sender == "client"]
        return [frame for frame in sent if frame.get("method") == method]

    async def serve(self, transport: Duplex) -> None:
        self._transport = RecordingTransport(transport, side="server")
        await self._server.serve(self._transport)


class CannedServer:
    """Server that answers by `replies` per method, and does not answer other methods."""

    def __init__(self, revision: str, **replies: Any) -> None:
        self.revision = revision
        self.replies: dict[str, Reply] = {**opening(revision), **replies}
        self.came: list[Any] = []
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._transport: Duplex | None = None

    def on(self, method: str, reply: Reply | dict[str, Any]) -> Self:
        """Set the response to a method."""
        self.replies[method] = reply if callable(reply) else lambda params: reply
        return self

    def complete(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return a complete result of the revision."""
        if mcp_wire.profile(self.revision).handshake is None:
            result = {"resultType": "complete", **result}
        return {"result": result}

    async def left(self) -> None:
        """Wait until the client has disconnected."""
        async with asyncio.timeout(WAIT_S):
            await self._ended.wait()

    async def serve(self, transport: Duplex) -> None:
        self._transport = transport
        await transport.start(self)
        await self._ended.wait()
        await transport.aclose()

    def send(self, **members: Any) -> None:
        """Send a message with these members."""
        assert self._transport is not None
        self._transport.send(msgspec.json.encode({"jsonrpc": "2.0", **members}))

    async def hang_up(self) -> None:
        """Disconnect from the client."""
        assert self._transport is not None
        await self._transport.aclose()
        self._ended.set()

    def answer_again(self) -> None:
        """Serve the next connection after `hang_up`."""
        self._ended.clear()

    async def next(self, method: str | None) -> Any:
        """Return the next message of this method (None: a response); earlier ones are skipped."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for place, frame in enumerate(self.came):
                    if frame.get("method") == method:
                        del self.came[: place + 1]
                        return frame
                self._news.clear()
                await self._news.wait()

    def receive(self, message: bytes) -> None:
        frame = msgspec.json.decode(message)
        self.came.append(frame)
        self._news.set()
        reply = self.replies.get(frame.get("method"))
        answer = reply(frame.get("params")) if reply and "id" in frame else None
        if answer is not None:
            self.send(id=frame["id"], **answer)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError("memory has no limit")

    def closed(self, error: BaseException | None) -> None:
        self._ended.set()


def opening(revision: str) -> dict[str, Reply]:
    """Return the replies of a server of one revision to a client's opening."""
    profile = mcp_wire.profile(revision)
    info = {"name": "scripted", "version": "1"}
    if profile.handshake:
        result: dict[str, Any] = {
            "protocolVersion": revision,
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
        return {profile.handshake.name: lambda params: {"result": result}}
    result = {
        "resultType": "complete",
        "supportedVersions": [revision],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {profile.server_info_key: info},
    }
    return {"server/discover": lambda params: {"result": result}}


@asynccontextmanager
async def connected(
    server: Serves, *, revision: str | None = None, **options: Any
) -> AsyncIterator[tuple[ClientSession, Recorded]]:
    """Connect a session to the server; all client frames are checked at the end."""
    recorded = Recorded(server)
    async with Client("test", "1.0.0") as client:
        session = await client.connect(recorded, revision=revision, **options)
        yield session, recorded
    assert client_violations(session.revision, recorded.frames) == []


def client_violations(revision: str, frames: list[Frame]) -> list[str]:
    """Return the violations in the client's frames."""
    return [one for one in violations(revision, frames) if one.startswith("client")]


def violations(revision: str, frames: list[Frame]) -> list[str]:
    """Return all violations; frames before the handshake are of the newest revision."""
    profile = mcp_wire.profile(revision)
    begins = 0
    if profile.handshake:
        begin = f'"method":"{profile.handshake.name}"'.encode()
        begins = next(place for place, frame in enumerate(frames) if begin in frame.data)
    probe, checker = FrameChecker(mcp_wire.profile(mcp_wire.LATEST)), FrameChecker(profile)
    return [
        f"{frame.sender}: {found}"
        for place, frame in enumerate(frames)
        for found in (probe if place < begins else checker).check(frame.data, frame.sender)
    ]
