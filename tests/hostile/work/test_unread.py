"""Memory that a peer costs which does not read what it is sent."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, Server
from mcp_gen.transports.streams import StreamTransport
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.peers.scripted import opening
from tests.transports.test_streams import Streams, both_ends

WAIT_S = 30.0
MANY = 100_000
FEW_MB = 4_000_000
PROFILE = mcp_wire.profile(HANDSHAKE)

Notify = Callable[[Any, int], None]


def progress(session: Any, number: int) -> None:
    params = PROFILE.progress.params(progress_token=number % 3, progress=number)
    session.notify(PROFILE.progress, params)


def log(session: Any, number: int) -> None:
    session.notify(PROFILE.log, PROFILE.log.params(level="info", data=f"message {number}"))


def updated(session: Any, number: int) -> None:
    params = PROFILE.resource_updated.params(uri=f"note://{number % 100}")
    session.notify(PROFILE.resource_updated, params)


def changed(session: Any, number: int) -> None:
    session.notify(PROFILE.tools_changed)


def roots_changed(session: Any, number: int) -> None:
    session.notify(PROFILE.roots_changed)


@asynccontextmanager
async def unread_server() -> AsyncIterator[Any]:
    """Return the session of a server whose client reads nothing after the handshake."""
    async with both_ends() as (ours, theirs):
        server, speaker = Server("loud"), Speaker(HANDSHAKE)
        serving = asyncio.create_task(server.serve(StreamTransport(*ours)))
        await ask(theirs, speaker.initialize(0))
        theirs[1].write(speaker.initialized + b"\n")
        (session,) = server.sessions()
        yield session
        theirs[1].transport.abort()
        await asyncio.wait_for(serving, WAIT_S)


async def ask(streams: Streams, message: bytes) -> Any:
    reader, writer = streams
    writer.write(message + b"\n")
    return msgspec.json.decode(await asyncio.wait_for(reader.readline(), WAIT_S))


@pytest.mark.parametrize("notify", [progress, log, updated, changed])
async def test_notifications_that_no_client_reads_cost_little_memory(notify: Notify) -> None:
    async with unread_server() as session:
        assert await peak_bytes(session, notify) < FEW_MB


@pytest.mark.parametrize("notify", [progress, roots_changed])
async def test_notifications_that_no_server_reads_cost_little_memory(notify: Notify) -> None:
    async with both_ends() as (ours, (reader, writer)), Client("loud") as client:
        connecting = asyncio.create_task(client.connect(StreamTransport(*ours), revision=HANDSHAKE))
        asked = msgspec.json.decode(await asyncio.wait_for(reader.readline(), WAIT_S))
        result = opening(HANDSHAKE)["initialize"](None)
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
        writer.write(msgspec.json.encode(answer) + b"\n")
        await asyncio.wait_for(connecting, WAIT_S)
        (connection,) = client._links
        assert await peak_bytes(connection, notify) < FEW_MB
        writer.transport.abort()


async def peak_bytes(session: Any, notify: Notify) -> int:
    """Return the memory that many notifications take, in several turns of the loop."""
    tracemalloc.start()
    try:
        for number in range(MANY):
            notify(session, number)
            if number % 1_000 == 0:
                await asyncio.sleep(0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
