"""Closing a client ends everything that it started."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import weakref
from pathlib import Path

import pytest

import mcp_wire
from mcp_gen import Client, RequestTimeout, Server, SessionLost
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.transports.command import CommandTransport
from mcp_gen.transports.memory import memory_pair
from tests.client.scripted import CannedServer
from tests.support.frames import HANDSHAKE, every_revision
from tests.support.processes.living import lives

WAIT_S = 10.0
QUICKSTART = Path(__file__).parents[3] / "examples/quickstart_server.py"


class Serving:
    """Server that records if it still serves."""

    def __init__(self) -> None:
        self._server = Server("serving")
        self.ended = False

    async def serve(self, transport: Duplex) -> None:
        await self._server.serve(transport)
        self.ended = True


@every_revision
async def test_leaving_a_client_ends_the_servers_in_this_process(revision: str) -> None:
    serving = Serving()
    async with Client("test") as client:
        await client.connect(serving, revision=revision)
    assert serving.ended


async def test_a_client_that_is_closed_while_it_connects_gives_up_the_session() -> None:
    client = Client("test")
    ours, _ = memory_pair()
    connecting = asyncio.create_task(client.connect(ours, revision=HANDSHAKE))
    # The request of the handshake is sent, and nobody answers it.
    for _ in range(10):
        await asyncio.sleep(0)
    await client.aclose()
    with pytest.raises(SessionLost):
        await asyncio.wait_for(connecting, WAIT_S)


@every_revision
async def test_an_exception_in_the_body_ends_the_servers_too(revision: str) -> None:
    serving = Serving()

    async def fail() -> None:
        async with Client("test") as client:
            await client.connect(serving, revision=revision)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert serving.ended


@pytest.mark.parametrize("raised", [None, ZeroDivisionError], ids=["normally", "by an exception"])
async def test_leaving_a_client_ends_its_commands(raised: type[Exception] | None) -> None:
    transport = CommandTransport([sys.executable, str(QUICKSTART)])
    process_id = None
    try:
        async with Client("test") as client:
            await client.connect(transport, revision=mcp_wire.LATEST)
            process_id = transport.process_id
            if raised:
                raise raised
    except ZeroDivisionError:
        pass
    assert process_id is not None
    assert not lives(process_id)


async def test_a_command_whose_opening_fails_is_ended_before_the_error_is_raised() -> None:
    script = "import os, sys; print(os.getpid(), file=sys.stderr, flush=True); sys.stdin.read()"
    stderr, theirs = os.pipe()
    transport = CommandTransport([sys.executable, "-S", "-c", script], stderr=theirs)
    async with Client("test") as client:
        with pytest.raises(RequestTimeout):
            await client.connect(transport, revision=HANDSHAKE, timeout_s=0.5)
        os.close(theirs)
        # Its stderr ends when it does; nothing else holds the pipe.
        told = b"".join(iter(lambda: os.read(stderr, 100), b""))
        assert not lives(int(told))
    os.close(stderr)


async def test_a_failed_connection_leaves_the_clients_other_sessions_alone() -> None:
    async with Client("test") as client:
        session = await client.connect(Server("good"))
        with pytest.raises(SessionLost):
            await client.connect([sys.executable, "-S", "-c", "pass"], revision=HANDSHAKE)
        # Any response will do: a server without tools does not have the method.
        assert session.revision == mcp_wire.LATEST
        again = await client.connect(Server("another"))
        assert again.revision == mcp_wire.LATEST


async def test_closing_one_session_leaves_the_others_open() -> None:
    servers = [CannedServer(HANDSHAKE), CannedServer(HANDSHAKE)]
    for server in servers:
        server.on("tools/list", server.complete({"tools": []}))
    async with Client("test") as client:
        one, other = [await client.connect(server, revision=HANDSHAKE) for server in servers]
        await one.aclose()
        assert (await other.list_tools()).tools == []
        with pytest.raises(SessionLost):
            await one.list_tools()


@every_revision
async def test_a_client_that_was_closed_pings_nobody(revision: str) -> None:
    before = asyncio.all_tasks()
    async with Client("test", keep_alive_s=3600) as client:
        await client.connect(Server("pinged"), revision=revision)
        assert len(asyncio.all_tasks() - before) > 1
    assert asyncio.all_tasks() == before


async def test_closing_a_client_twice_does_nothing() -> None:
    async with Client("test") as client:
        await client.connect(Server("server"))
        await client.aclose()


@every_revision
async def test_sessions_that_were_closed_are_not_kept(revision: str) -> None:
    left: list[weakref.ref[object]] = []
    async with Client("test") as client:
        for _ in range(3):
            session = await client.connect(Server("one"), revision=revision)
            left.append(weakref.ref(session))
            await session.aclose()
            del session
        await client.connect(Server("last"), revision=revision)
        await asyncio.sleep(0)
        gc.collect()
        assert [one() for one in left] == [None] * 3
