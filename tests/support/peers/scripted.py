"""Scripted server over memory, and a client whose every frame is checked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import msgspec

import mcp_wire
from mcp_gen import Client, ClientSession, Server
from mcp_gen.compat.frame_check import ClosedViolation, FrameChecker
from mcp_gen.compat.recording import Frame, RecordingTransport
from mcp_gen.transports.memory import MemoryTransport, memory_pair
from tests.support.peers.asked import WAIT_S

__all__ = ["MemoryPeer", "connected", "opening", "served", "violations"]

Answers: TypeAlias = "dict[str, Callable[[Any], Any]]"


class MemoryPeer:
    """The far end of a memory pair. `answers` return a result, or a whole frame, from the params.

    A method that is missing there is never answered, nor is one whose answer is None.
    """

    def __init__(self, answers: Answers) -> None:
        self.ours, self._theirs = memory_pair()
        self._answers = answers
        self.asked: list[Any] = []
        self._news = asyncio.Event()

    async def start(self) -> MemoryTransport:
        """Start this end, and return the client's end."""
        await self._theirs.start(self)
        return self.ours

    def say(self, message: bytes) -> None:
        """Send bytes as a message."""
        self._theirs.send(message)

    def answer(self, id: Any, result: Any) -> None:
        """Send the result of a request."""
        self.say(msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result}))

    def send_progress(self, token: Any, progress: float) -> None:
        """Send a progress notification."""
        params = {"progressToken": token, "progress": progress}
        told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        self.say(msgspec.json.encode(told))

    async def hang_up(self) -> None:
        """Disconnect from the client."""
        await self._theirs.aclose()

    async def heard(self, method: str) -> Any:
        """Wait for a message and return it."""
        return await self._came(lambda frame: frame.get("method") == method)

    async def answer_to(self, id: Any) -> Any:
        """Wait for the client's response to a request and return it."""
        return await self._came(lambda frame: "method" not in frame and frame.get("id") == id)

    async def _came(self, wanted: Callable[[Any], bool]) -> Any:
        async with asyncio.timeout(WAIT_S):
            while True:
                for frame in self.asked:
                    if wanted(frame):
                        return frame
                self._news.clear()
                await self._news.wait()

    def receive(self, message: bytes) -> None:
        frame = msgspec.json.decode(message)
        self.asked.append(frame)
        self._news.set()
        make = self._answers.get(frame.get("method"))
        if make is None or "id" not in frame:
            return
        made = make(frame.get("params", {}))
        if made is None:
            return
        whole = made if {"error", "result"} & made.keys() else {"result": made}
        self.say(msgspec.json.encode({"jsonrpc": "2.0", "id": frame["id"], **whole}))

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError("the client sent too much")

    def closed(self, error: BaseException | None) -> None:
        self._news.set()


def opening(revision: str) -> Answers:
    """Return the replies of a server of a revision to a client's opening."""
    capabilities: dict[str, Any] = {"tools": {}}
    if mcp_wire.profile(revision).handshake:
        result = {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "serverInfo": {"name": "scripted", "version": "1"},
        }
        return {"initialize": lambda _: result}
    found = {
        "resultType": "complete",
        "supportedVersions": [revision],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
    }
    return {"server/discover": lambda _: found}


def violations(revision: str, frames: list[Frame]) -> list[ClosedViolation]:
    """Return the violations at `revision`; the probe before it, at another revision, is skipped."""
    checker = FrameChecker(mcp_wire.profile(revision))
    probe = mcp_wire.profile(mcp_wire.LATEST).discover
    probed: set[Any] = set()
    found: list[ClosedViolation] = []
    for frame in frames:
        value = msgspec.json.decode(frame.data)
        if mcp_wire.profile(revision).handshake and probe and value.get("method") == probe.name:
            probed.add(value["id"])
        if value.get("id") not in probed:
            found += checker.check(frame.data, frame.sender)
    return found


@asynccontextmanager
async def connected(
    server: MemoryPeer, revision: str, *, pinned: bool = True, right: bool = True
) -> AsyncIterator[ClientSession]:
    """Connect a session to a scripted server; its own frames are checked, too, if `right`."""
    transport = RecordingTransport(await server.start())
    async with Client("test", "1.0.0") as client:
        yield await client.connect(transport, revision=revision if pinned else None)
    wrong = violations(revision, transport.frames)
    mine = [frame for frame in transport.frames if frame.sender == "client"]
    assert (wrong if right else violations(revision, mine)) == []


@asynccontextmanager
async def served(
    server: Server, revision: str | None = mcp_wire.LATEST, **options: Any
) -> AsyncIterator[ClientSession]:
    """Connect a session to a real server in this process; all frames are checked, both ways.

    `options` are those of the client.
    """
    ours, theirs = memory_pair()
    serving = asyncio.get_running_loop().create_task(server.serve(theirs))
    transport = RecordingTransport(ours)
    try:
        async with Client("test", "1.0.0", **options) as client:
            session = await client.connect(transport, revision=revision)
            yield session
        assert violations(session.revision, transport.frames) == []
    finally:
        await transport.aclose()
        async with asyncio.timeout(WAIT_S):
            await serving
