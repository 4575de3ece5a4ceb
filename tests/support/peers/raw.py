"""Client that sends any bytes to a server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec

from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.transports.memory import memory_pair
from tests.support.frames import Speaker, server_violations

__all__ = ["RawClient", "Serves", "talking"]

WAIT_S = 30.0


class Serves(Protocol):
    """Protocol of a server for one client: a Server or a substitute."""

    async def serve(self, transport: Duplex) -> None: ...


class RawClient:
    """Receiver of a recorded connection that queues the frames."""

    def __init__(self, transport: RecordingTransport, speaker: Speaker) -> None:
        self.speaker = speaker
        self.transport = transport
        self.came: list[Any] = []
        self._news = asyncio.Event()
        self.hung_up = False

    def send(self, *messages: bytes) -> None:
        """Send messages as they are."""
        for message in messages:
            self.transport.send(message)

    async def next(self) -> Any:
        """Return the next unread frame."""
        return await self.take(lambda frame: True)

    async def answer(self, id: Any) -> Any:
        """Return the response to a request; earlier frames are skipped."""
        return await self.take(lambda frame: type(frame) is dict and _same(frame.get("id"), id))

    async def ask(self, message: bytes) -> Any:
        """Send a request and return its response."""
        self.send(message)
        return await self.answer(msgspec.json.decode(message)["id"])

    async def take(self, wanted: Any) -> Any:
        """Return the next unread frame that is wanted."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for place, frame in enumerate(self.came):
                    if wanted(frame):
                        return self.came.pop(place)
                self._news.clear()
                await self._news.wait()

    # --- receiver callbacks ---

    def receive(self, message: bytes) -> None:
        self.came.append(msgspec.json.decode(message))
        self._news.set()

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError(f"the server sent more than {limit_bytes} bytes")

    def closed(self, error: BaseException | None) -> None:
        self.hung_up = True
        self._news.set()


@asynccontextmanager
async def talking(
    server: Serves, revision: str, *, opened: bool = True, custom: bool = False
) -> AsyncIterator[RawClient]:
    """Connect a raw client to the server, after the handshake if there is one.

    At the end the server must have stopped, and every frame it sent is checked; for `custom` see
    `server_violations`.
    """
    ours, theirs = memory_pair()
    serving = asyncio.get_running_loop().create_task(server.serve(theirs))
    client = RawClient(RecordingTransport(ours), Speaker(revision))
    await client.transport.start(client)
    try:
        if opened and client.speaker.opening:
            client.send(*client.speaker.opening)
            await client.answer(0)
        yield client
    finally:
        await client.transport.aclose()
        async with asyncio.timeout(WAIT_S):
            await serving
    kernel: Any = getattr(getattr(server, "runtime", server), "kernel", None)
    extensions = kernel.extensions if kernel else None
    frames = client.transport.frames
    assert server_violations(revision, frames, custom=custom, extensions=extensions) == []


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other
