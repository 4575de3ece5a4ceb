"""`session_opened` and `session_closed` run exactly once per connection, at every revision."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, McpError, Server, SessionLost, TransportError
from mcp_gen.transports.command import CommandTransport
from mcp_gen.transports.memory import MemoryTransport, memory_pair
from tests.support.frames import Speaker, every_revision, with_handshake
from tests.support.peers.raw import WAIT_S, talking

SCRIPT = Path(__file__).parents[2] / "support/processes/stdio_server.py"


class Sessions:
    """Records the session hooks of one side, in order."""

    def __init__(self, hooks: Any) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.opened, self.closed = asyncio.Event(), asyncio.Event()
        hooks.session_opened(self._opened)
        hooks.session_closed(self._closed)

    def _opened(self, session: Any) -> None:
        self.heard.append(("opened", session))
        self.opened.set()

    async def _closed(self, session: Any) -> None:
        await asyncio.sleep(0)
        self.heard.append(("closed", session))
        self.closed.set()

    def was_one(self) -> bool:
        kinds = [kind for kind, _ in self.heard]
        return kinds == ["opened", "closed"] and self.heard[0][1] is self.heard[1][1]


class Breaks(MemoryTransport):
    """Transport that fails instead of closing."""

    async def aclose(self) -> None:
        await super().aclose()
        raise TransportError("broken")


def a_server() -> Server:
    server = Server("sessions")

    @server.tool
    async def echo(text: str) -> str:
        return text

    return server


@every_revision
async def test_both_sides_hear_of_one_session(revision: str) -> None:
    server = a_server()
    async with Client("sessions") as client:
        theirs, ours = Sessions(server.hooks), Sessions(client.hooks)
        session = await client.connect(server, revision=revision)
        for _ in range(3):
            await session.call_tool("echo", {"text": "a"})
        assert ours.heard == [("opened", session)]
        assert [kind for kind, _ in theirs.heard] == ["opened"]
        await session.aclose()
        await session.aclose()
    assert ours.was_one()
    assert theirs.was_one()


@every_revision
async def test_each_connection_is_a_session_of_its_own(revision: str) -> None:
    server = a_server()
    theirs = Sessions(server.hooks)
    async with Client("sessions") as client:
        for _ in range(3):
            session = await client.connect(server, revision=revision)
            await session.list_tools()
    opened = [id(session) for kind, session in theirs.heard if kind == "opened"]
    closed = [id(session) for kind, session in theirs.heard if kind == "closed"]
    assert len(set(opened)) == 3
    assert sorted(opened) == sorted(closed)


@every_revision
async def test_a_connection_on_which_nothing_was_agreed_is_no_session(revision: str) -> None:
    server = a_server()
    theirs = Sessions(server.hooks)
    async with talking(server, revision, opened=False) as client:
        await client.ask(client.speaker.request(1, "no/such/method"))
    assert theirs.heard == []


@with_handshake
async def test_a_handshake_that_is_refused_opens_no_session(revision: str) -> None:
    server = a_server()

    @server.hooks.before_initialize
    def veto(ctx: Any, params: Any) -> None:
        raise McpError(-31000, "no")

    theirs = Sessions(server.hooks)
    async with Client("sessions") as client:
        ours = Sessions(client.hooks)
        with pytest.raises(McpError):
            await client.connect(server, revision=revision)
    assert theirs.heard == ours.heard == []


@every_revision
async def test_a_server_hears_of_the_end_of_a_connection_that_broke(
    revision: str,
) -> None:
    server = a_server()
    theirs = Sessions(server.hooks)
    ours, broken = MemoryTransport(), Breaks()
    broken.peer, ours.peer = ours, broken
    serving = asyncio.get_running_loop().create_task(server.serve(broken))
    speaker = Speaker(revision)
    for message in [*speaker.opening, speaker.request(1, "tools/list")]:
        ours.send(message)
    await asyncio.wait_for(theirs.opened.wait(), WAIT_S)
    receiver = broken._receiver
    assert receiver
    receiver.closed(OSError("the pipe broke"))
    with pytest.raises(TransportError, match="broken"):
        await asyncio.wait_for(serving, WAIT_S)
    assert theirs.was_one()


@every_revision
async def test_a_server_that_is_cancelled_tells_of_the_end(revision: str) -> None:
    server = a_server()
    theirs = Sessions(server.hooks)
    ours, end = memory_pair()
    serving = asyncio.get_running_loop().create_task(server.serve(end))
    speaker = Speaker(revision)
    for message in [*speaker.opening, speaker.request(1, "tools/list")]:
        ours.send(message)
    await asyncio.wait_for(theirs.opened.wait(), WAIT_S)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(serving, WAIT_S)
    assert theirs.was_one()


@every_revision
async def test_a_client_hears_at_once_of_a_server_that_was_killed(revision: str) -> None:
    async with Client("sessions") as client:
        ours = Sessions(client.hooks)
        transport = CommandTransport([sys.executable, str(SCRIPT)])
        session = await client.connect(transport, revision=revision)
        assert transport.process_id
        os.kill(transport.process_id, signal.SIGKILL)
        await asyncio.wait_for(ours.closed.wait(), WAIT_S)
        assert ours.was_one()
        with pytest.raises(SessionLost):
            await session.list_tools()
    assert ours.was_one()


@every_revision
async def test_hooks_of_sessions_that_fail_or_exit_harm_nobody(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = a_server()

    def broken(session: Any) -> None:
        raise SystemExit(3)

    async with Client("sessions") as client:
        for hooks in (server.hooks, client.hooks):
            hooks.session_opened(broken)
            hooks.session_closed(broken)
        theirs, ours = Sessions(server.hooks), Sessions(client.hooks)
        session = await client.connect(server, revision=revision)
        await session.call_tool("echo", {"text": "a"})
    assert theirs.was_one()
    assert ours.was_one()
    assert [record.message for record in caplog.records] == ["a hook failed"] * 4


@with_handshake
async def test_a_session_is_agreed_on_when_it_is_opened(revision: str) -> None:
    server = a_server()
    seen: list[Any] = []
    server.hooks.session_opened(lambda session: seen.append(session.profile))
    async with Client("sessions") as client:
        client.hooks.session_opened(lambda session: seen.append(session.profile))
        await client.connect(server, revision=revision)
    assert seen == [mcp_wire.profile(revision)] * 2


@with_handshake
async def test_a_handshake_that_an_after_hook_vetoes_opens_nothing(revision: str) -> None:
    server = Server("choosy")
    sessions = Sessions(server.hooks)
    refused: list[str] = []

    @server.hooks.after_initialize
    def veto(ctx: Any, params: Any, result: Any) -> None:
        if not refused:
            refused.append(revision)
            raise McpError(-31000, "not yet")

    async with talking(server, revision, opened=False) as client:
        refusal = await client.ask(client.speaker.initialize(1))
        early = await client.ask(client.speaker.request(2, "tools/list"))
        again = await client.ask(client.speaker.initialize(3))
        assert sessions.heard[1:] == []
    assert refusal["error"]["code"] == -31000
    assert "initialize` first" in early["error"]["message"]
    assert again["result"]["protocolVersion"] == revision
    assert sessions.was_one()
