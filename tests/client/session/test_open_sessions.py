"""The open sessions of a client, and the end of one."""

from __future__ import annotations

import asyncio
import sys

import pytest

from mcp_gen import Client, Server, SessionLost
from tests.client.scripted import CannedServer
from tests.support.frames import HANDSHAKE, every_revision

WAIT_S = 10.0
EXITS = f"""
import json, sys
frame = json.loads(input())
info = {{"name": "old", "version": "1"}}
result = {{"protocolVersion": {HANDSHAKE!r}, "capabilities": {{}}, "serverInfo": info}}
print(json.dumps({{"jsonrpc": "2.0", "id": frame["id"], "result": result}}), flush=True)
input()
print("out of paper", file=sys.stderr)
sys.exit(3)
"""


@every_revision
async def test_a_client_lists_its_open_sessions_in_their_order(revision: str) -> None:
    async with Client("test") as client:
        first = await client.connect(Server("a"), revision=revision)
        second = await client.connect(Server("b"), revision=revision)
        assert client.sessions() == [first, second]
        await first.aclose()
        assert client.sessions() == [second]


async def test_a_client_that_is_closed_has_no_open_sessions() -> None:
    async with Client("test") as client:
        await client.connect(Server("a"))
    assert client.sessions() == []


@every_revision
async def test_a_session_whose_server_hung_up_is_open_again_once_it_has_reconnected(
    revision: str,
) -> None:
    server = CannedServer(revision)
    async with Client("test") as client:
        session = await client.connect(server, revision=revision)
        await server.hang_up()
        with pytest.raises(SessionLost):
            await session.wait_closed()
        assert client.sessions() == []
        server.answer_again()
        await session.reconnect()
        assert client.sessions() == [session]
        await server.hang_up()


async def test_a_session_knows_its_client() -> None:
    async with Client("test") as client:
        session = await client.connect(Server("a"))
        assert session.client is client
        assert session.client.name == "test"


@every_revision
async def test_waiting_for_the_end_returns_when_the_session_is_closed_here(revision: str) -> None:
    async with Client("test") as client:
        session = await client.connect(Server("a"), revision=revision)
        waiting = asyncio.create_task(session.wait_closed())
        await asyncio.sleep(0)
        assert not waiting.done()
        await session.aclose()
        await asyncio.wait_for(waiting, WAIT_S)


async def test_waiting_for_the_end_of_a_session_that_has_ended_returns_at_once() -> None:
    async with Client("test") as client:
        session = await client.connect(Server("a"))
        await session.aclose()
        await asyncio.wait_for(session.wait_closed(), WAIT_S)


async def test_waiting_for_the_end_raises_how_the_command_ended() -> None:
    async with Client("test") as client:
        words = [sys.executable, "-S", "-c", EXITS]
        session = await client.connect(words, revision=HANDSHAKE, env="inherit")
        with pytest.raises(SessionLost) as caught:
            await asyncio.wait_for(session.wait_closed(), WAIT_S)
    assert (caught.value.exit_status, "out of paper" in caught.value.stderr) == (3, True)


async def test_closing_after_the_loss_does_not_hide_why_the_session_ended() -> None:
    server = CannedServer(HANDSHAKE)
    async with Client("test") as client:
        session = await client.connect(server, revision=HANDSHAKE)
        await server.hang_up()
        with pytest.raises(SessionLost, match="hung up"):
            await session.wait_closed()
        await session.aclose()
        with pytest.raises(SessionLost, match="hung up"):
            await session.wait_closed()
