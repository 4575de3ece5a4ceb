"""Local mounts: a server of this process, with its own hooks, filters and lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_gen import Context, FileResources, Server
from mcp_gen.types import Tool
from tests.server.mounting.gateway import weather
from tests.support.frames import PER_REQUEST, every_revision, with_handshake
from tests.support.peers.connect import talk
from tests.support.peers.questions import ANSWERS


def mounting(inner: Server, prefix: str | None = "w", **options: Any) -> Server:
    server = Server("outer", "1.0.0", **options)
    server.mount(prefix, inner)
    return server


@every_revision
async def test_everything_is_answered_by_the_mounted_server(revision: str) -> None:
    server = mounting(weather())
    async with talk(lambda: server, revision) as client:
        assert await client.text("w_forecast", city="Oslo") == "Oslo: sun, says weather"
        got = await client.request("prompts/get", {"name": "w_report", "arguments": {"city": "X"}})
        assert got["messages"][0]["content"]["text"] == "Report on X"
        for uri, text in (("weather:///today", "sunny"), ("weather://a/now", "now in a")):
            read = await client.request("resources/read", {"uri": uri})
            assert read["contents"][0]["text"] == text
        done = await client.request(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "w_report"},
                "argument": {"name": "city", "value": "O"},
            },
        )
        assert done["completion"]["values"] == ["Oslo", "Oxford"]


@every_revision
async def test_arguments_of_a_resource_template_are_completed_by_the_mounted_server(
    revision: str,
) -> None:
    inner = weather()

    @inner.completion("weather://{city}/now", "city")
    def cities(value: str) -> list[str]:
        return [value + "slo"]

    server = mounting(inner)
    async with talk(lambda: server, revision) as client:
        ref = {"type": "ref/resource", "uri": "weather://{city}/now"}
        asked = {"ref": ref, "argument": {"name": "city", "value": "O"}}
        done = await client.request("completion/complete", asked)
    assert done["completion"]["values"] == ["Oslo"]


@every_revision
async def test_arguments_of_a_prompt_of_its_own_are_completed_by_the_outer_server(
    revision: str,
) -> None:
    server = mounting(weather())

    @server.prompt
    def own(city: str) -> str:
        return city

    @server.completion("own", "city")
    def cities(value: str) -> list[str]:
        return [value + "wn"]

    async with talk(lambda: server, revision) as client:
        ref = {"type": "ref/prompt", "name": "own"}
        asked = {"ref": ref, "argument": {"name": "city", "value": "o"}}
        done = await client.request("completion/complete", asked)
    assert done["completion"]["values"] == ["own"]


@every_revision
async def test_arguments_of_a_prompt_that_both_have_are_completed_by_the_outer_server(
    revision: str,
) -> None:
    inner = Server("inner")
    server = mounting(inner)

    def offer(on: Server, name: str) -> None:
        @on.prompt(name=name)
        def prompt(city: str) -> str:
            return city

        @on.completion(name, "city")
        def cities(value: str) -> list[str]:
            return [on.name]

    offer(server, "w_report")
    offer(inner, "report")
    async with talk(lambda: server, revision) as client:
        ref = {"type": "ref/prompt", "name": "w_report"}
        asked = {"ref": ref, "argument": {"name": "city", "value": "o"}}
        done = await client.request("completion/complete", asked)
    assert done["completion"]["values"] == ["outer"]


@every_revision
async def test_the_answer_names_the_outer_server(revision: str) -> None:
    server = mounting(weather())
    async with talk(lambda: server, revision) as client:
        result = await client.call("w_forecast", city="Oslo")
        key = client.profile.server_info_key
    assert key is None or result["_meta"][key]["name"] == "outer"


@every_revision
async def test_what_nobody_has_is_unknown(revision: str) -> None:
    server = mounting(weather())
    async with talk(lambda: server, revision) as client:
        refused = await client.refusal("tools/call", {"name": "w_nothing"})
        assert "unknown tool: w_nothing" in str(refused)
        refused = await client.refusal("resources/read", {"uri": "nothing:///x"})
        assert refused.code == client.profile.resource_not_found_code


@every_revision
async def test_what_is_added_and_removed_is_told_once_for_each_burst(revision: str) -> None:
    inner = weather()
    server = mounting(inner)
    async with talk(lambda: server, revision) as client:
        await client.listen(toolsListChanged=True)
        before = await client.names("tools/list", "tools")
        inner.add_tool(lambda: "1", name="one")
        inner.add_tool(lambda: "2", name="two")
        inner.remove_tool("forecast")
        await client.hears("notifications/tools/list_changed")
        after = await client.names("tools/list", "tools")
        assert len(client.params_of("notifications/tools/list_changed")) == 1
        assert set(after) - set(before) == {"w_one", "w_two"}
        assert "w_forecast" not in after
        assert await client.text("w_two") == "2"


@every_revision
async def test_a_resource_that_changes_inside_is_told_outside(revision: str) -> None:
    inner = weather()
    server = mounting(inner)
    async with talk(lambda: server, revision) as client:
        await client.listen(resourceSubscriptions=["weather:///today"])
        inner.notify.resource_updated("weather:///today")
        (told,) = await client.hears("notifications/resources/updated")
        assert told["uri"] == "weather:///today"


@with_handshake
async def test_after_unsubscribing_nothing_is_told(revision: str) -> None:
    inner = weather()
    server = mounting(inner)
    async with talk(lambda: server, revision) as client:
        await client.listen(resourceSubscriptions=["weather:///today"])
        await client.request("resources/unsubscribe", {"uri": "weather:///today"})
        inner.notify.resource_updated("weather:///today")
        await client.settled()
        assert client.params_of("notifications/resources/updated") == []


@every_revision
async def test_hooks_and_middleware_of_both_run_from_outside_in(revision: str) -> None:
    inner, seen = weather(), []
    server = mounting(inner)

    @server.hooks.before_call_tool
    async def outer(ctx: Context, params: Any) -> None:
        seen.append((ctx.server.name, params.name, params.arguments))

    @inner.hooks.before_call_tool
    async def within(ctx: Context, params: Any) -> None:
        seen.append((ctx.server.name, params.name, params.arguments))

    @inner.middleware
    async def around(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        seen.append((method,))
        return await call_next(params)

    @server.hooks.after_call_tool
    async def last(ctx: Context, params: Any, result: Any) -> None:
        seen.append(result.content[0].text)

    async with talk(lambda: server, revision) as client:
        await client.text("w_forecast", city="Oslo")
    given = {"city": "Oslo"}
    assert seen == [
        ("outer", "w_forecast", given),
        ("tools/call",),
        ("weather", "forecast", given),
        "Oslo: sun, says weather",
    ]


@every_revision
async def test_what_middleware_inside_leaves_out_of_a_list_is_not_listed(revision: str) -> None:
    inner = weather()
    server = mounting(inner)

    @inner.hooks.after_list_tools
    async def shorten(ctx: Context, params: Any, result: Any) -> Any:
        del result.tools[1:]
        return result

    async with talk(lambda: server, revision) as client:
        assert await client.names("tools/list", "tools") == ["w_forecast"]


@every_revision
async def test_filters_of_both_guard_lists_and_calls(revision: str) -> None:
    inner = weather()
    server = mounting(inner)

    @inner.filter_tools
    def not_ask(ctx: Context, tool: Tool) -> bool:
        return tool.name != "ask"

    @server.filter_tools
    def not_look(ctx: Context, tool: Tool) -> bool:
        return tool.name != "w_look"

    async with talk(lambda: server, revision) as client:
        assert await client.names("tools/list", "tools") == ["w_forecast", "w_think"]
        for name in ("w_ask", "w_look"):
            assert "unknown tool" in str(await client.refusal("tools/call", {"name": name}))
        assert await client.text("w_forecast", city="x")


@every_revision
async def test_progress_and_log_messages_reach_the_client(revision: str) -> None:
    server = mounting(weather())
    async with talk(lambda: server, revision, log_level="debug") as client:
        asked = client.begin(
            "tools/call",
            {"name": "w_forecast", "arguments": {"city": "Oslo"}},
            meta={"progressToken": "t"},
        )
        await asked.result()
        methods = [one["method"] for one in asked.notices]
    assert methods == ["notifications/progress", "notifications/message"]


@every_revision
@pytest.mark.parametrize(
    ("tool", "method", "text"),
    [
        ("w_ask", "elicitation/create", "Ada"),
        ("w_think", "sampling/createMessage", "Hello!"),
        ("w_look", "roots/list", "file:///home"),
    ],
)
async def test_questions_reach_the_client(revision: str, tool: str, method: str, text: str) -> None:
    server = mounting(weather())
    async with talk(lambda: server, revision, answers=ANSWERS) as client:
        if tool == "w_ask" and client.profile.elicit is None:
            return
        assert await client.text(tool) == text
        assert [asked for asked, _ in client.questions] == [method]


@every_revision
async def test_a_call_that_is_cancelled_is_cancelled_inside(revision: str) -> None:
    inner, begun, ended = Server("slow"), asyncio.Event(), asyncio.Event()

    @inner.tool
    async def wait() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    server = mounting(inner)
    async with talk(lambda: server, revision) as client:
        asked = client.begin("tools/call", {"name": "w_wait", "arguments": {}})
        await asyncio.wait_for(begun.wait(), 30)
        client.cancel(asked)
        await asyncio.wait_for(ended.wait(), 30)


@every_revision
async def test_the_lifespan_is_entered_with_the_outer_one_and_left_before_it(revision: str) -> None:
    told: list[str] = []

    def spanning(name: str) -> Any:
        @asynccontextmanager
        async def span(server: Server) -> AsyncIterator[str]:
            told.append(f"{name} begins")
            yield name
            told.append(f"{name} ends")

        return span

    inner = Server("inner", lifespan=spanning("inner"))

    @inner.tool
    async def which(ctx: Context) -> str:
        return str(ctx.lifespan)

    server = mounting(inner, lifespan=spanning("outer"))
    async with talk(lambda: server, revision) as client:
        assert await client.text("w_which") == "inner"
        assert told == ["outer begins", "inner begins"]
    assert told == ["outer begins", "inner begins", "inner ends", "outer ends"]


@every_revision
async def test_the_lifespan_of_what_is_mounted_late_is_entered_when_it_is_used(
    revision: str,
) -> None:
    told: list[str] = []

    @asynccontextmanager
    async def span(server: Server) -> AsyncIterator[None]:
        told.append("begins")
        yield
        told.append("ends")

    inner, server = Server("inner", lifespan=span), Server("outer", declare=["tools"])
    inner.add_tool(lambda: "x", name="x")
    async with talk(lambda: server, revision) as client:
        server.mount("w", inner)
        assert await client.text("w_x") == "x"
        assert told == ["begins"]
    assert told == ["begins", "ends"]


@every_revision
async def test_pages_go_over_all_servers(revision: str) -> None:
    inner, server = Server("inner"), Server("outer", page_size=3)
    for number in range(4):
        server.add_tool(lambda: "x", name=f"own{number}")
        inner.add_tool(lambda: "x", name=f"in{number}")
    server.mount("w", inner)
    async with talk(lambda: server, revision) as client:
        pages = await client.pages("tools/list", "tools")
    names = [[tool["name"] for tool in page] for page in pages]
    assert names == [
        ["own0", "w_in0", "own1"],
        ["w_in1", "own2", "w_in2"],
        ["own3", "w_in3"],
    ]


@every_revision
async def test_resources_that_come_and_go_are_listed_too(revision: str, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("A")
    inner = weather()
    inner.add_resources(FileResources(tmp_path, prefix="docs://"))
    server = mounting(inner)
    async with talk(lambda: server, revision) as client:
        uris = await client.names("resources/list", "resources", "uri")
        assert uris == ["weather:///today", "docs://a.txt"]
        read = await client.request("resources/read", {"uri": "docs://a.txt"})
        assert read["contents"][0]["text"] == "A"


@with_handshake
async def test_what_one_session_has_inside_is_its_own(revision: str) -> None:
    inner = Server("inner", declare=["tools"])

    @inner.tool
    async def begin(ctx: Context) -> str:
        inner.for_session(ctx.session).add_tool(lambda: "undone", name="undo")
        return "begun"

    server = mounting(inner)
    async with talk(lambda: server, revision) as one, talk(lambda: server, revision) as other:
        await one.text("w_begin")
        await one.hears("notifications/tools/list_changed")
        assert await one.names("tools/list", "tools") == ["w_begin", "w_undo"]
        assert await one.text("w_undo") == "undone"
        assert await other.names("tools/list", "tools") == ["w_begin"]
        assert other.params_of("notifications/tools/list_changed") == []


async def test_a_list_is_written_once_until_something_changes() -> None:
    inner = weather()
    server = mounting(inner)
    async with talk(lambda: server, PER_REQUEST) as client:
        await client.request("tools/list")
        kept = dict(server.tools.listing.pages)
        await client.request("tools/list")
        assert server.tools.listing.pages == kept
        assert len(kept) == 1
        await client.request("prompts/list")
        others = dict(server.prompts.listing.pages)
        inner.add_tool(lambda: "x", name="x")
        assert server.tools.listing.pages == {}
        assert server.prompts.listing.pages == others != {}


async def test_a_feature_that_comes_later_inside_is_declared_outside() -> None:
    inner = Server("inner")
    server = mounting(inner)
    async with talk(lambda: server, PER_REQUEST) as client:
        assert "prompts" not in (await client.server())["capabilities"]
        inner.add_prompt(lambda: "hi", name="hello")
        assert "prompts" in (await client.server())["capabilities"]
        assert await client.names("prompts/list", "prompts") == ["w_hello"]


@every_revision
async def test_middleware_inside_is_not_asked_for_lists_that_its_server_does_not_have(
    revision: str,
) -> None:
    inner = Server("inner")
    inner.add_tool(lambda: "x", name="x")

    @inner.middleware
    async def pass_on(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        return await call_next(params)

    server = mounting(inner)

    @server.prompt
    def own() -> str:
        return "own"

    async with talk(lambda: server, revision) as client:
        assert await client.names("tools/list", "tools") == ["w_x"]
        assert await client.names("prompts/list", "prompts") == ["own"]
