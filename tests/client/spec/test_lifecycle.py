"""Spec tests of the client lifecycle: opening, negotiation, timeouts, closing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, McpGenError, ProtocolError, RequestTimeout, Server
from tests.client.scripted import CannedServer
from tests.client.spec.scripted_servers import far, in_a_call
from tests.server.spec.servers import rich, waiting
from tests.support.frames import HANDSHAKE
from tests.support.peers.reach import Reach
from tests.support.requirement import not_over, requirement

REFUSALS = (-32601, -32602, -32600, -32603, -32000, -1)


# --- the handshake ---


@requirement("lifecycle:client:initialize")
async def test_a_session_begins_with_the_handshake(reach: Reach) -> None:
    async with reach(rich()) as reached:
        first = reached.sent[0]
        assert first["method"] == "initialize"
        assert first["params"].keys() == {"protocolVersion", "capabilities", "clientInfo"}


@requirement("lifecycle:client:initialized")
async def test_the_server_hears_that_the_client_is_ready(reach: Reach) -> None:
    async with reach(rich()) as reached:
        await reached.session.list_tools()
        said = [one["method"] for one in reached.sent]
        assert said == ["initialize", "notifications/initialized", "tools/list"]


@requirement("lifecycle:client:quiet", "lifecycle:client:not-in-batch")
async def test_the_client_waits_for_the_answer_of_its_handshake(reach: Reach) -> None:
    server = far(reach, {"initialize": lambda _: None})
    async with reach(server, opened=False) as reached:
        opening = asyncio.create_task(reached.connect(reach.revision, timeout_s=0.1))
        await server.next("initialize")
        with pytest.raises(RequestTimeout):
            await opening
        assert [one["method"] for one in reached.sent] == ["initialize"]


@requirement("cancellation:client:handshake")
async def test_a_handshake_that_is_given_up_is_not_cancelled(reach: Reach) -> None:
    server = far(reach, {"initialize": lambda _: None})
    async with reach(server, opened=False) as reached:
        opening = asyncio.create_task(reached.connect(reach.revision))
        await server.next("initialize")
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert reached.asked("notifications/cancelled") == []


@requirement("lifecycle:client:versions:supported")
async def test_the_handshake_asks_for_the_revision_that_is_pinned(reach: Reach) -> None:
    async with reach(rich()) as reached:
        (first,) = reached.asked("initialize")
        assert first["params"]["protocolVersion"] == reach.revision == reached.session.revision


@requirement("lifecycle:client:versions:latest")
async def test_the_handshake_asks_for_the_newest_revision_that_has_one(reach: Reach) -> None:
    async with reach(far(reach), pinned=False, probe_timeout_s=0.05) as reached:
        (first,) = reached.asked("initialize")
        assert first["params"]["protocolVersion"] == HANDSHAKE
        assert reached.session.revision == reach.revision


@requirement("lifecycle:client:versions:disconnects", "lifecycle:client:versions:must-disconnect")
@pytest.mark.parametrize("offer", ["1999-12-31", "2099-01-01", "", "draft"])
async def test_the_client_hangs_up_on_a_revision_it_does_not_speak(
    reach: Reach, offer: str
) -> None:
    info = {"name": "odd", "version": "1"}
    result = {"protocolVersion": offer, "capabilities": {}, "serverInfo": info}
    server = far(reach, {"initialize": {"result": result}})
    async with reach(server, opened=False) as reached:
        with pytest.raises(ProtocolError):
            await reached.connect(reach.revision)
        assert [one["method"] for one in reached.sent] == ["initialize"]
        if reach.over != "http":
            await server.left()


@requirement("lifecycle:client:operation:early", "lifecycle:client:operation")
async def test_a_server_without_log_messages_is_not_told_of_levels(reach: Reach) -> None:
    server = far(reach)
    async with reach(server, Client("test", log_level="debug")) as reached:
        async with in_a_call(reached, server):
            pass
        assert reached.asked("logging/setLevel") == []


# --- choice of the revision ---


@requirement("lifecycle:client:probe")
async def test_the_client_asks_first_what_a_server_speaks(reach: Reach) -> None:
    async with reach(rich(), pinned=False) as reached:
        first = reached.sent[0]
        assert first["method"] == "server/discover"
        assert first["params"]["_meta"][reach.profile.protocol_version_key] == mcp_wire.LATEST
        assert reached.session.revision == mcp_wire.LATEST


@requirement("lifecycle:client:fallback")
@pytest.mark.parametrize("code", REFUSALS)
async def test_any_refusal_leaves_the_handshake(reach: Reach, code: int) -> None:
    server = CannedServer(HANDSHAKE).on(
        "server/discover", {"error": {"code": code, "message": "no"}}
    )
    async with reach(server, pinned=False, speaks=HANDSHAKE) as reached:
        assert reached.session.revision == HANDSHAKE


@requirement("lifecycle:client:versions:selected")
async def test_a_revision_that_a_refusal_lists_is_taken(reach: Reach) -> None:
    server = Server("older", revisions=[HANDSHAKE])
    async with reach(server, pinned=False) as reached:
        assert reached.session.revision == HANDSHAKE


@requirement("lifecycle:client:versions:selected")
async def test_that_no_revision_is_spoken_by_both_is_said(reach: Reach) -> None:
    server = Server("older", revisions=[HANDSHAKE])
    async with reach(server, opened=False) as reached:
        with pytest.raises(McpGenError, match=reach.revision):
            await reached.connect(reach.revision)


@requirement("lifecycle:client:versions:remembered")
@not_over("memory", why="what is remembered is of a command or an address")
async def test_what_a_server_speaks_is_asked_once(reach: Reach) -> None:
    server = Server("older", revisions=[HANDSHAKE])
    async with reach(server, pinned=False) as reached:
        await reached.connect(None)
        assert len(reached.asked("server/discover")) == 1
        assert [one.revision for one in reached.sessions] == [HANDSHAKE, HANDSHAKE]


# --- time ---


@requirement("lifecycle:client:timeouts:sent", "tools:client:timeouts", "cancellation:client:sent")
async def test_a_call_that_takes_too_long_is_given_up_and_cancelled(reach: Reach) -> None:
    async with reach(waiting()) as reached:
        call = asyncio.create_task(reached.session.call_tool("hold", timeout_s=0.2))
        with pytest.raises(RequestTimeout):
            await call
        assert (await reached.session.call_tool("until_stopped")).content[0].text == "stopped"


@requirement("lifecycle:client:timeouts:per-request")
async def test_each_request_may_have_a_time_of_its_own(reach: Reach) -> None:
    server = far(reach)
    async with reach(server) as reached:
        with pytest.raises(RequestTimeout, match=r"0\.02 s"):
            await reached.session.call_tool("t", timeout_s=0.02)
        with pytest.raises(RequestTimeout, match=r"0\.01 s"):
            await reached.session.list_tools(timeout_s=0.01)


@requirement("lifecycle:client:timeouts:hard-cap")
async def test_progress_does_not_put_the_end_off_for_ever(reach: Reach) -> None:
    server = far(reach)
    told = 0

    async def tell(frame: Any) -> None:
        nonlocal told
        token = frame["params"]["_meta"]["progressToken"]
        while True:
            told += 1
            params = {"progressToken": token, "progress": told}
            server.send(method="notifications/progress", params=params)
            await asyncio.sleep(0.02)

    async with reach(server, Client("test", timeout_s=0.1, max_timeout_s=0.2)) as reached:
        call = asyncio.create_task(reached.session.call_tool("t", progress=lambda *_: None))
        telling = asyncio.create_task(tell(await server.next("tools/call")))
        with pytest.raises(RequestTimeout):
            await call
        telling.cancel()
        assert told > 4
