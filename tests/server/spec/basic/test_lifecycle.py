"""Spec tests of version negotiation and initialization."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import msgspec

import mcp_wire
from mcp_gen import Server
from tests.server.spec.servers import SILENT, asking, hurried, only, rich
from tests.support.peers.asked import SILENCE
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import not_over, requirement

HANDSHAKES = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).handshake]
IN_SESSIONS = [f"http-{one}" for one in HANDSHAKES if mcp_wire.profile(one).session_header]
BLUE = {"action": "accept", "content": {"colour": "blue"}}


def handshake(client: Conversation, revision: Any) -> dict[str, Any]:
    """Return handshake params with any protocol version."""
    return {
        "protocolVersion": revision,
        "capabilities": client.capabilities,
        "clientInfo": client.client_info,
    }


@requirement("lifecycle:initialize:first")
async def test_nothing_is_answered_before_the_handshake(connect: Connect) -> None:
    async with connect(rich, opened=False) as client:
        assert (await client.refusal("tools/list")).code == -32600
        assert (await client.refusal("tools/call", {"name": "echo"})).code == -32600
        await client.open()
        assert (await client.request("tools/list"))["tools"]


@requirement("lifecycle:initialize:first")
@not_over(*IN_SESSIONS, why="what names no session is refused with status 400")
async def test_pings_are_answered_before_the_handshake(connect: Connect) -> None:
    async with connect(rich, opened=False) as client:
        assert await client.request("ping") == {}


@requirement("lifecycle:initialize:answered")
async def test_the_handshake_is_answered_with_what_the_server_is_and_offers(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        told = client.opening
    assert told["protocolVersion"] == connect.revision
    assert (told["serverInfo"]["name"], told["serverInfo"]["version"]) == ("rich", "1.2.3")
    assert told["capabilities"].keys() >= {"tools", "resources", "prompts"}
    assert told["instructions"] == "Some of everything."


def eager() -> Server:
    """Return a server that notifies and asks as soon as a session opens."""
    server = rich()

    @server.hooks.session_opened
    async def tell(session: Any) -> None:
        server.notify.tool_list_changed()
        server.notify.prompt_list_changed()

    return server


@requirement("lifecycle:initialize:server-quiet")
async def test_the_server_waits_until_the_client_is_ready(connect: Connect) -> None:
    async with connect(eager, opened=False) as client:
        await client.request("initialize", handshake(client, connect.revision))
        await client.request("ping")
        early = [frame["method"] for frame in client.frames if "method" in frame]
        client.notify("notifications/initialized")
        await client.hears("notifications/tools/list_changed")
    assert set(early) <= {"ping", "notifications/message"}


@requirement("lifecycle:versions:same")
async def test_a_client_gets_the_revision_that_it_asks_for(connect: Connect) -> None:
    async with connect(rich) as client:
        assert client.opening["protocolVersion"] == connect.revision


@requirement("lifecycle:versions:other", "lifecycle:versions:latest")
async def test_a_client_of_an_unknown_revision_is_offered_the_newest(connect: Connect) -> None:
    for asked in ("1999-12-31", "2099-01-01", "", mcp_wire.LATEST):
        async with connect(rich, opened=False) as client:
            told = await client.request("initialize", handshake(client, asked))
        assert told["protocolVersion"] == HANDSHAKES[-1]


@requirement("lifecycle:versions:other")
async def test_a_server_of_one_revision_offers_that_one(connect: Connect) -> None:
    for asked in HANDSHAKES:
        async with connect(partial(only, connect.revision), opened=False) as client:
            told = await client.request("initialize", handshake(client, asked))
        assert told["protocolVersion"] == connect.revision


@requirement("lifecycle:versions:unsupported")
async def test_a_request_at_an_unknown_revision_learns_which_ones_there_are(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        key = str(client.profile.protocol_version_key)
        for asked in ("1999-12-31", "2099-01-01", "", *HANDSHAKES):
            begun = client.begin("tools/list", meta={key: asked})
            error = (await asyncio.wait_for(begun.answer, 30))["error"]
            assert error["code"] == -32022
            assert error["data"] == {"supported": [connect.revision], "requested": asked}


@requirement("lifecycle:versions:told-to-older")
async def test_a_handshake_learns_which_revisions_a_server_without_one_speaks(
    connect: Connect,
) -> None:
    async with connect(partial(only, connect.revision)) as client:
        asked, _ = client.prepare("initialize")
        params = handshake(client, HANDSHAKES[-1])
        frame = {"jsonrpc": "2.0", "id": asked.id, "method": "initialize", "params": params}
        client.send(msgspec.json.encode(frame))
        error = (await asyncio.wait_for(asked.answer, 30))["error"]
    assert connect.revision in error["message"]


# --- using the negotiated revision ---


@requirement("lifecycle:operation:revision")
async def test_what_a_later_revision_has_is_kept_from_a_client(connect: Connect) -> None:
    await sees_its_own_revision(connect)


@requirement("lifecycle:operation:revision-early")
async def test_what_a_later_revision_has_is_kept_from_an_older_client(connect: Connect) -> None:
    await sees_its_own_revision(connect)


async def sees_its_own_revision(connect: Connect) -> None:
    """Check that lists and results have the members of the revision; each frame is checked, too."""
    async with connect(rich) as client:
        tools = (await client.request("tools/list"))["tools"]
        result = await client.call("mirror", point={"x": 1})
    structured = client.profile.structured_content != "none"
    mirror = next(tool for tool in tools if tool["name"] == "mirror")
    assert ("outputSchema" in mirror) == structured
    assert ("structuredContent" in result) == structured


@requirement("lifecycle:operation:capabilities")
async def test_a_client_is_asked_for_nothing_that_it_did_not_declare(connect: Connect) -> None:
    await asks_for_nothing(connect)


@requirement("lifecycle:operation:capabilities-early")
async def test_an_older_client_is_asked_for_nothing_that_it_did_not_declare(
    connect: Connect,
) -> None:
    await asks_for_nothing(connect)


async def asks_for_nothing(connect: Connect) -> None:
    async with connect(asking, capabilities={}) as client:
        for tool in ("choose", "visit", "sample", "folders"):
            refused = await client.begin("tools/call", {"name": tool}).answer
            assert "error" in refused or refused["result"]["isError"]
    assert [frame for frame in client.frames if "method" in frame] == []


@requirement("lifecycle:discover:implemented")
async def test_a_server_says_which_revisions_it_speaks_and_what_it_offers(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        found = await client.request("server/discover")
    assert found["supportedVersions"] == [connect.revision]
    assert found["capabilities"].keys() >= {"tools", "resources", "prompts", "completions"}
    assert found["instructions"] == "Some of everything."
    assert found["_meta"][client.profile.server_info_key]["name"] == "rich"


# --- timeouts of server requests ---


@requirement("lifecycle:timeouts:sent-requests")
async def test_a_question_that_nobody_answers_is_cancelled_and_given_up(connect: Connect) -> None:
    async with connect(hurried, answers=SILENT) as client:
        assert await client.text("folders", seconds=0.05) == "RequestTimeout"
        (cancelled,) = await client.hears("notifications/cancelled")
        asked = [frame["id"] for frame in client.frames if frame.get("method") == "roots/list"]
    assert [cancelled["requestId"]] == asked


@requirement("lifecycle:timeouts:per-request")
async def test_each_question_has_its_own_time_limit(connect: Connect) -> None:
    async with connect(hurried, answers=SILENT) as client:
        patient = client.begin("tools/call", {"name": "folders", "arguments": {"seconds": 30}})
        await client.asks(1)
        assert await client.text("folders", seconds=0.05) == "RequestTimeout"
        assert not patient.answer.done()
        client.cancel(patient)


@requirement("lifecycle:timeouts:hard-cap")
async def test_progress_does_not_put_off_the_end_of_a_question(connect: Connect) -> None:
    async def report(params: dict[str, Any]) -> Any:
        token = params.get("_meta", {}).get("progressToken")
        for done in range(200):
            if token is not None:
                client.notify(
                    "notifications/progress", {"progressToken": token, "progress": done + 1}
                )
            await asyncio.sleep(0.01)
        return SILENCE

    async with connect(hurried, answers={"roots/list": report}) as client:
        assert await client.text("folders", seconds=0.2) == "RequestTimeout"
