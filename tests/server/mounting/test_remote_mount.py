"""Remote mounts: calls pass through a client session at every pair of revisions."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, Context, McpError, Server
from mcp_gen.transports.memory import MemoryTransport
from mcp_gen.types import Tool
from tests.server.mounting.gateway import at_two, gateway, weather
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle, every_revision
from tests.support.peers.connect import talk


@at_two
async def test_everything_is_answered_by_the_remote_server(revision: str, inside: str) -> None:
    async with gateway(weather(), inside) as server, talk(lambda: server, revision) as client:
        assert await client.names("tools/list", "tools") == [
            "own",
            "far_forecast",
            "far_ask",
            "far_think",
            "far_look",
        ]
        assert await client.names("prompts/list", "prompts") == ["far_report"]
        assert await client.text("far_forecast", city="Oslo") == "Oslo: sun, says weather"
        assert await client.text("own") == "mine"
        got = await client.request(
            "prompts/get", {"name": "far_report", "arguments": {"city": "X"}}
        )
        assert got["messages"][0]["content"]["text"] == "Report on X"
        for uri, text in (("weather:///today", "sunny"), ("weather://a/now", "now in a")):
            read = await client.request("resources/read", {"uri": uri})
            assert read["contents"][0]["text"] == text
        done = await client.request(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "far_report"},
                "argument": {"name": "city", "value": "O"},
            },
        )
        assert done["completion"]["values"] == ["Oslo", "Oxford"]


@at_two
async def test_the_answer_names_the_gateway_and_keeps_the_rest_of_meta(
    revision: str, inside: str
) -> None:
    inner = Server("inner", "9")
    seen: list[Any] = []

    @inner.hooks.after_call_tool
    async def mark(ctx: Context, params: Any, result: Any) -> Any:
        seen.append(ctx.meta)
        return msgspec.structs.replace(result, meta={"example.org/mark": 1})

    inner.add_tool(lambda: "x", name="x")
    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        result = await client.request(
            "tools/call", {"name": "far_x"}, meta={"example.org/trace": "t"}
        )
        key = client.profile.server_info_key
    assert result["_meta"]["example.org/mark"] == 1
    assert key is None or result["_meta"][key]["name"] == "outer"
    (meta,) = seen
    assert meta["example.org/trace"] == "t"
    spoken = mcp_wire.profile(inside)
    if spoken.client_info_key:
        assert meta[spoken.client_info_key]["name"] == "gateway"
        assert meta[spoken.protocol_version_key] == inside
    else:
        assert meta == {"example.org/trace": "t"}


@at_two
async def test_errors_pass_with_code_message_and_data(revision: str, inside: str) -> None:
    inner = Server("inner")

    @inner.tool
    async def fail() -> str:
        raise McpError(-31999, "no way", {"why": [1, 2.5]})

    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        refused = await client.refusal("tools/call", {"name": "far_fail"})
    assert refused.error == {"code": -31999, "message": "no way", "data": {"why": [1, 2.5]}}


@at_two
async def test_a_resource_that_is_not_there_has_the_code_of_the_revision(
    revision: str, inside: str
) -> None:
    async with gateway(weather(), inside) as server, talk(lambda: server, revision) as client:
        refused = await client.refusal("resources/read", {"uri": "nothing:///x"})
        assert refused.code == client.profile.resource_not_found_code


async def test_the_log_level_of_a_session_is_that_of_requests_to_the_remote_server() -> None:
    async with (
        gateway(weather(), PER_REQUEST) as server,
        talk(lambda: server, HANDSHAKE, log_level="info") as client,
    ):
        await client.text("far_forecast", city="Oslo")
        (told,) = await client.hears("notifications/message")
        assert told["data"] == {"city": "Oslo"}


@at_two
async def test_progress_and_log_messages_reach_the_client_before_the_answer(
    revision: str, inside: str
) -> None:
    async with (
        gateway(weather(), inside, log_level="debug") as server,
        talk(lambda: server, revision, log_level="info") as client,
    ):
        asked = client.begin(
            "tools/call",
            {"name": "far_forecast", "arguments": {"city": "Oslo"}},
            meta={"progressToken": "mine"},
        )
        await asked.result()
    told = [(one["method"], one["params"]) for one in asked.notices]
    assert [method for method, _ in told] == ["notifications/progress", "notifications/message"]
    assert told[0][1]["progressToken"] == "mine"
    assert told[1][1]["data"] == {"city": "Oslo"}


@every_revision
async def test_a_remote_server_logs_from_the_level_on_that_the_client_has_set(
    revision: str,
) -> None:
    async with (
        gateway(weather(), PER_REQUEST) as server,
        talk(lambda: server, revision, log_level="info") as client,
    ):
        asked = client.begin("tools/call", {"name": "far_forecast", "arguments": {"city": "Oslo"}})
        await asked.result()
    assert [one["params"]["data"] for one in asked.notices] == [{"city": "Oslo"}]


@at_two
async def test_a_call_that_is_cancelled_is_cancelled_at_the_remote_server(
    revision: str, inside: str
) -> None:
    inner, begun, ended = Server("slow"), asyncio.Event(), asyncio.Event()

    @inner.tool
    async def wait() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        asked = client.begin("tools/call", {"name": "far_wait", "arguments": {}})
        await asyncio.wait_for(begun.wait(), 30)
        client.cancel(asked)
        await asyncio.wait_for(ended.wait(), 30)


@at_two
async def test_a_hundred_calls_go_through_one_connection_at_once(
    revision: str, inside: str
) -> None:
    inner, most, open_now = Server("inner"), 0, 0
    everybody = asyncio.Event()

    @inner.tool
    async def double(n: int) -> str:
        nonlocal most, open_now
        open_now += 1
        most = max(most, open_now)
        if most == 100:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 30)
        open_now -= 1
        return str(2 * n)

    async with (
        gateway(inner, inside) as server,
        talk(lambda: server, revision) as one,
        talk(lambda: server, revision) as other,
    ):
        texts = await asyncio.gather(
            *((one, other)[n % 2].text("far_double", n=n) for n in range(100))
        )
        assert len(inner.sessions()) == 1
    assert [int(text) for text in texts] == [2 * n for n in range(100)]
    assert most == 100


@every_revision
async def test_hooks_of_the_gateway_see_the_newest_types(revision: str) -> None:
    seen: list[Any] = []
    async with gateway(weather(), revision) as server:

        @server.hooks.after_call_tool
        async def look(ctx: Context, params: Any, result: Any) -> None:
            seen.append(result)

        async with talk(lambda: server, revision) as client:
            assert await client.text("far_forecast", city="A") == "A: sun, says weather"
    assert isinstance(seen[0], mcp_wire.latest.CallToolResult)


@every_revision
async def test_hooks_of_the_client_see_what_passes(revision: str) -> None:
    inner, seen = weather(), []
    async with Client("gateway", forward_requests=True) as between:

        @between.hooks.outbound.after_call_tool
        async def look(session: Any, params: Any, result: Any) -> None:
            seen.append((params.name, result.content[0].text))

        server = Server("outer")
        server.mount("far", await between.connect(inner, revision=revision))
        async with talk(lambda: server, revision) as client:
            await client.call("far_forecast", city="A")
        server.unmount("far")
    assert seen == [("forecast", "A: sun, says weather")]


@each_lifecycle
async def test_filters_guard_what_is_remote(revision: str) -> None:
    async with gateway(weather(), PER_REQUEST) as server:

        @server.filter_tools
        def only(ctx: Context, tool: Tool) -> bool:
            return tool.name == "far_forecast"

        async with talk(lambda: server, revision) as client:
            assert await client.names("tools/list", "tools") == ["far_forecast"]
            assert "unknown tool" in str(await client.refusal("tools/call", {"name": "far_look"}))
            assert await client.text("far_forecast", city="x")


@each_lifecycle
async def test_a_remote_server_without_a_prefix_is_found_by_its_list(revision: str) -> None:
    first, second = Server("first"), Server("second")
    first.add_tool(lambda: "1", name="one")
    second.add_tool(lambda: "2", name="two")
    async with Client("gateway") as between:
        server = Server("outer")
        for inner in (first, second):
            server.mount(None, await between.connect(inner))
        async with talk(lambda: server, revision) as client:
            assert await client.text("two") == "2"
            assert await client.text("one") == "1"
        for inner in server.mounts:
            server.unmount(inner.target)


async def test_a_tool_that_can_only_be_a_task_is_left_out_and_said_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inner = Server("inner")
    inner.add_tool(lambda: "x", name="plain")
    async with gateway(inner, HANDSHAKE) as server:

        @inner.hooks.after_list_tools
        async def mark(ctx: Context, params: Any, result: Any) -> Any:
            kinds: Any = mcp_wire.types(HANDSHAKE)
            needs = kinds.ToolExecution(task_support="required")
            tool = kinds.Tool(name="long", input_schema={"type": "object"}, execution=needs)
            return kinds.ListToolsResult(tools=[tool])

        async with talk(lambda: server, HANDSHAKE) as client:
            assert await client.names("tools/list", "tools") == ["own"]
    assert "'long' can only be called as a task" in caplog.text


@each_lifecycle
@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_a_read_that_the_connection_did_not_outlive_is_answered_after_a_reconnect(
    revision: str, inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Server("inner")
    reads: list[int] = []
    over = asyncio.Event()
    ends: list[MemoryTransport] = []
    start = MemoryTransport.start

    async def started(end: MemoryTransport, receiver: Any) -> None:
        ends.append(end)
        await start(end, receiver)

    monkeypatch.setattr(MemoryTransport, "start", started)

    @inner.resource("inner:///page")
    async def page() -> str:
        reads.append(len(reads))
        if len(reads) == 1:
            # Without a last word, as of a process that is killed.
            await ends[0].aclose()
            await over.wait()
        return "the page"

    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        read = await client.request("resources/read", {"uri": "inner:///page"})
        over.set()
    assert (read["contents"][0]["text"], len(reads)) == ("the page", 2)
