"""Calls and lists through a bridge, at every pair of revisions."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.compat.bridge.restating import LOSSES_KEY
from tests.bridge.behind import at_any, at_differing, shop, through
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.asgi import surfing
from tests.support.peers.asked import Refused

TOOLS = ["price", "ask", "think", "look"]


@at_any
@pytest.mark.parametrize("over", ["memory", "http"])
async def test_a_client_of_any_revision_calls_a_server_of_any(
    revision: str, inside: str, over: str
) -> None:
    async with through(shop(inside), revision, over=over) as client:
        listed = await client.request("tools/list")
        assert [tool["name"] for tool in listed["tools"]] == TOOLS
        assert await client.text("price", thing="rope") == "rope: 3"
        read = await client.request("resources/read", {"uri": "shop://rope/stock"})
        assert read["contents"][0]["text"] == "stock of rope"
        prompt = await client.request("prompts/get", {"name": "offer", "arguments": {"thing": "x"}})
        assert prompt["messages"][0]["content"]["text"] == "Take x"
        reference = {"type": "ref/prompt", "name": "offer"}
        argument = {"name": "thing", "value": "bo"}
        given = {"ref": reference, "argument": argument}
        completed = await client.request("completion/complete", given)
        assert completed["completion"]["values"] == ["bolt", "boat"]


@at_any
async def test_the_server_introduces_itself(revision: str, inside: str) -> None:
    profile = mcp_wire.profile(revision)
    opening = "server/discover" if profile.handshake is None else None
    async with through(shop(inside), revision) as client:
        result = await client.request(opening) if opening else client.opening
    assert result["instructions"] == "Ask for the price."
    info = result["_meta"][profile.server_info_key] if opening else result["serverInfo"]
    assert (info["name"], info["version"]) == ("shop", "2.0.0")
    assert result["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}


@at_differing
async def test_cursors_are_those_of_the_server(revision: str, inside: str) -> None:
    async with through(shop(inside, page_size=1), revision) as client:
        names = list[str]()
        page: dict[str, Any] = {"nextCursor": None}
        while "nextCursor" in page:
            cursor = page["nextCursor"]
            page = await client.request("tools/list", {"cursor": cursor} if cursor else None)
            names += [tool["name"] for tool in page["tools"]]
    assert names == TOOLS


@at_differing
async def test_progress_reaches_the_caller(revision: str, inside: str) -> None:
    async with through(shop(inside), revision) as client:
        key = mcp_wire.profile(revision).progress_token_key
        asked = client.begin(
            "tools/call",
            {"name": "price", "arguments": {"thing": "rope"}, "_meta": {key: "token"}},
        )
        await asked.result()
    told = [one["params"] for one in asked.notices if one["method"] == "notifications/progress"]
    assert [(one["progressToken"], one["progress"], one["total"]) for one in told] == [
        ("token", 1, 2)
    ]


async def test_what_a_revision_cannot_say_is_listed_in_meta_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("s", revisions=[PER_REQUEST])
    server.add_tool(lambda: "x", name="first", title="First")
    server.add_tool(lambda: "x", name="second", title="Second")
    with caplog.at_level(logging.WARNING, "mcp_gen.bridge"):
        async with through(server, mcp_wire.REVISIONS[0]) as client:
            await client.request("tools/list")
            listed = await client.request("tools/list")
    paths = [one["path"] for one in listed["_meta"][LOSSES_KEY]]
    assert "$.tools[0].title" in paths
    assert "$.tools[1].title" in paths
    logged = [one for one in caplog.messages if "tools[0].title" in one]
    assert len(logged) == 1
    assert "list_tools: lost `$.tools[0].title`" in logged[0]


@at_differing
async def test_an_error_has_the_code_of_the_clients_revision(revision: str, inside: str) -> None:
    async with through(shop(inside), revision) as client:
        refused = await client.refusal("resources/read", {"uri": "shop:///nothing"})
    assert refused.code == mcp_wire.profile(revision).resource_not_found_code


@at_differing
async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(
    revision: str, inside: str
) -> None:
    started, ended = asyncio.Event(), asyncio.Event()
    server = Server("s", revisions=[inside])

    @server.tool
    async def wait() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with through(server, revision) as client:
        asked = client.begin("tools/call", {"name": "wait"})
        async with asyncio.timeout(30):
            await started.wait()
            client.notify("notifications/cancelled", {"requestId": asked.id})
            await ended.wait()


async def test_revisions_limits_what_clients_may_use() -> None:
    options = {"revisions": [HANDSHAKE]}
    async with through(shop(PER_REQUEST), HANDSHAKE, bridge=options) as client:
        assert await client.text("price", thing="rope") == "rope: 3"
    with pytest.raises(Refused):
        async with through(shop(PER_REQUEST), PER_REQUEST, bridge=options) as client:
            await client.text("price", thing="rope")


async def test_a_batch_is_forwarded_entry_by_entry() -> None:
    revision = next(one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).allows_batches)
    async with through(shop(PER_REQUEST), revision) as client:
        asked, messages = [], list[bytes]()
        for thing in ("rope", "bolt"):
            given = {"name": "price", "arguments": {"thing": thing}}
            one, message = client.prepare("tools/call", given)
            asked.append(one)
            messages.append(message)
        client.send(b"[" + b",".join(messages) + b"]")
        texts = [(await one.result())["content"][0]["text"] for one in asked]
    assert texts == ["rope: 3", "bolt: 3"]


async def test_results_of_a_server_without_cache_hints_are_stale_at_once() -> None:
    async with through(shop(HANDSHAKE), PER_REQUEST) as client:
        listed = await client.request("tools/list")
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")


async def test_completions_are_declared_where_the_server_could_not_say_it_has_them() -> None:
    async with through(shop(mcp_wire.REVISIONS[0]), HANDSHAKE) as client:
        assert client.opening["capabilities"]["completions"] == {}


async def test_a_stream_is_resumed_at_the_bridge() -> None:
    server, going = Server("s", revisions=[PER_REQUEST]), asyncio.Event()

    @server.tool
    async def wait(ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        await going.wait()
        return "done"

    bridge = Bridge(server)
    async with surfing(bridge.asgi(), HANDSHAKE) as web:
        key = mcp_wire.profile(HANDSHAKE).progress_token_key
        params = {"name": "wait", "arguments": {}, "_meta": {key: "t"}}
        broken = web.post(web.speaker.request(1, "tools/call", params))
        while (event := await broken.event()).data == b"":
            pass
        broken.hang_up()
        await broken.ended()
        going.set()
        resumed = web.get(last_event_id=str(event.id))
        assert (await resumed.frame())["result"]["content"][0]["text"] == "done"
        resumed.hang_up()
        await resumed.ended()
    await bridge.aclose()
