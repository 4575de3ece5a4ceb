"""Transformed tools of mounted servers, local and remote."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Argument, Client, Context, Server, UsageError, transformed
from mcp_gen.types import CallToolResult, TextContent
from tests.server.mounting.gateway import at_two, gateway, weather
from tests.server.mounting.test_tasks import with_tasks
from tests.server.tasks.raw_client import CORE, conversing, directed
from tests.support.frames import PER_REQUEST, every_revision
from tests.support.peers.answering import asks
from tests.support.peers.asked import Refused
from tests.support.peers.connect import talk
from tests.support.peers.questions import ANSWERS

PLACE = {"city": Argument(name="place")}


def near(other: Server, prefix: str | None = "far") -> Server:
    """Return a server that mounts another one of this process."""
    outer = Server("outer")
    outer.mount(prefix, other)
    return outer


def addressing() -> Server:
    """Return a server whose tool takes several arguments."""
    server = Server("post")

    @server.tool
    async def send(to: str, text: str = "hello", key: str = "") -> str:
        """Send a letter."""
        return f"{to} {text} {key}"

    return server


@asynccontextmanager
async def either(other: Server, inside: str | None) -> AsyncIterator[Server]:
    """Mount the other server locally, or remotely at a revision."""
    if inside is None:
        yield near(other)
        return
    async with gateway(other, inside) as server:
        yield server


everywhere = pytest.mark.parametrize("inside", [None, *mcp_wire.REVISIONS])


@every_revision
@everywhere
async def test_a_mounted_tool_is_offered_in_another_way(revision: str, inside: str | None) -> None:
    arguments = {
        "to": Argument(name="whom"),
        "text": Argument(default="hi"),
        "key": Argument(fixed="k"),
    }
    async with either(addressing(), inside) as server:
        server.add_tool(
            transformed(await server.find_tool("far_send"), name="post", arguments=arguments)
        )
        async with talk(lambda: server, revision) as client:
            tools = (await client.request("tools/list"))["tools"]
            result = await client.request(
                "tools/call", {"name": "post", "arguments": {"whom": "Ada"}}
            )
            itself = await client.request(
                "tools/call", {"name": "far_send", "arguments": {"to": "Bo"}}
            )
    (post,) = [tool for tool in tools if tool["name"] == "post"]
    assert list(post["inputSchema"]["properties"]) == ["whom", "text"]
    assert post["description"] == "Send a letter."
    assert result["content"][0]["text"] == "Ada hi k"
    assert itself["content"][0]["text"] == "Bo hello "


@at_two
async def test_progress_and_questions_pass_through_it(revision: str, inside: str) -> None:
    async with gateway(weather(), inside) as server:
        for name, other in (("forecast", "look_up"), ("ask", "question")):
            tool = await server.find_tool(f"far_{name}")
            server.add_tool(transformed(tool, name=other))
        async with talk(lambda: server, revision, answers=ANSWERS) as client:
            assert await client.text("look_up", city="Oslo") == "Oslo: sun, says weather"
            if mcp_wire.profile(revision).elicit and mcp_wire.profile(inside).elicit:
                assert await client.text("question") == "Ada"
                assert len(client.questions) == 1


@asks
async def test_questions_of_a_near_server_pass_through_it(revision: str) -> None:
    server = near(weather())
    server.transform_tool("far_ask", description="Who?")
    async with talk(lambda: server, revision, answers=ANSWERS) as client:
        assert await client.text("far_ask") == "Ada"
        assert len(client.questions) == 1


@every_revision
async def test_it_may_stand_in_front_of_the_mounted_one(revision: str) -> None:
    server = near(weather())
    server.transform_tool("far_forecast", description="In short.", arguments=PLACE)
    async with talk(lambda: server, revision) as client:
        tools = (await client.request("tools/list"))["tools"]
        assert await client.text("far_forecast", place="Oslo") == "Oslo: sun, says weather"
    assert [t["description"] for t in tools if t["name"] == "far_forecast"] == ["In short."]


async def test_standing_in_front_on_purpose_is_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = near(weather())
    server.transform_tool("far_forecast", description="In short.")
    async with talk(lambda: server, PER_REQUEST) as client:
        assert "far_forecast" in await client.names("tools/list", "tools")
    assert caplog.text == ""


async def test_a_tool_that_is_mounted_twice_over_is_found() -> None:
    server = near(near(weather(), "a"), "b")
    server.transform_tool("b_a_forecast", keep=True, name="forecast", arguments=PLACE)
    async with talk(lambda: server, PER_REQUEST) as client:
        assert await client.text("forecast", place="Oslo") == "Oslo: sun, says weather"


@everywhere
async def test_what_is_asked_for_is_missed_before_anybody_is_asked(inside: str | None) -> None:
    async with either(weather(), inside) as server:
        tool = await server.find_tool("far_forecast")
        server.add_tool(transformed(tool, name="forecast", arguments=PLACE))
        async with talk(lambda: server, PER_REQUEST) as client:
            result = await client.request("tools/call", {"name": "forecast"})
    assert result["isError"]
    assert "missing required field `place`" in str(result["content"])


@every_revision
@everywhere
async def test_its_result_may_be_changed(revision: str, inside: str | None) -> None:
    def short(result: CallToolResult) -> CallToolResult:
        (block,) = result.content
        assert isinstance(block, TextContent)
        return CallToolResult(content=[TextContent(text=block.text.partition(":")[0])])

    async with either(weather(), inside) as server:
        tool = await server.find_tool("far_forecast")
        server.add_tool(transformed(tool, name="forecast", result=short))
        async with talk(lambda: server, revision) as client:
            assert await client.text("forecast", city="Oslo") == "Oslo"


@every_revision
@everywhere
async def test_a_value_is_made_for_each_call(revision: str, inside: str | None) -> None:
    async def city(ctx: Context) -> str:
        return f"{ctx.server.name} at {ctx.revision}"

    async with either(weather(), inside) as server:
        tool = await server.find_tool("far_forecast")
        arguments = {"city": Argument(make=city)}
        server.add_tool(transformed(tool, name="here", arguments=arguments))
        async with talk(lambda: server, revision) as client:
            assert await client.text("here") == f"outer at {revision}: sun, says weather"


@every_revision
@everywhere
async def test_hooks_see_calls_and_results_of_it(revision: str, inside: str | None) -> None:
    seen: list[Any] = []
    async with either(weather(), inside) as server:
        tool = await server.find_tool("far_forecast")
        server.add_tool(transformed(tool, name="forecast", arguments=PLACE))

        @server.hooks.after_call_tool
        def note(ctx: Context, params: Any, result: Any) -> None:
            seen.append((params.name, params.arguments, type(result) is CallToolResult))

        async with talk(lambda: server, revision) as client:
            assert await client.text("forecast", place="Oslo") == "Oslo: sun, says weather"
    assert seen == [("forecast", {"place": "Oslo"}, True)]


@every_revision
@everywhere
async def test_data_is_what_the_mounted_tool_makes_of_it(revision: str, inside: str | None) -> None:
    other = Server("other")

    @other.tool
    async def count(to: int) -> dict[str, int]:
        return {"count": to}

    async with either(other, inside) as server:
        tool = await server.find_tool("far_count")
        server.add_tool(transformed(tool, name="upto", arguments={"to": Argument(name="end")}))
        async with talk(lambda: server, revision) as client:
            arguments = {"end": 3}
            made = await client.request("tools/call", {"name": "upto", "arguments": arguments})
            itself = await client.request(
                "tools/call", {"name": "far_count", "arguments": {"to": 3}}
            )
    assert made == itself
    assert made["content"][0]["text"] == '{"count":3}'


async def test_a_mounted_tool_that_runs_as_a_task_does_so_under_another_name() -> None:
    inner, go = with_tasks()
    server = near(inner)
    server.transform_tool("far_work", arguments={"label": Argument(name="what")}, result=str.upper)
    async with conversing(server, CORE) as client:
        tools = (await client.ask("tools/list"))["tools"]
        assert [t["execution"]["taskSupport"] for t in tools if t["name"] == "far_work"] == [
            "optional"
        ]
        id = await client.make("far_work", what="tea")
        go.set()
        result = await client.ask("tasks/result", taskId=id)
    assert result["content"][0]["text"] == "tea is done"


async def test_where_the_server_decides_it_may_be_a_task_under_another_name() -> None:
    inner, go = with_tasks()
    server = near(inner)
    server.transform_tool("far_work", arguments={"label": Argument(name="what")}, result=str.upper)
    async with directed(server) as client:
        id = await client.begin("far_work", what="tea")
        go.set()
        done = await client.standing(id, "completed")
    assert done["result"]["content"][0]["text"] == "tea is done"


async def test_a_far_tool_inside_of_a_near_server_is_found() -> None:
    async with gateway(weather(), PER_REQUEST) as middle:
        server = near(middle, "near")
        tool = await server.find_tool("near_far_forecast")
        server.add_tool(transformed(tool, name="forecast", arguments=PLACE))
        async with talk(lambda: server, PER_REQUEST) as client:
            assert await client.text("forecast", place="Oslo") == "Oslo: sun, says weather"


async def test_an_error_of_the_far_server_passes() -> None:
    other = Server("other")

    @other.tool
    async def fail() -> str:
        raise ValueError("no")

    async with gateway(other, PER_REQUEST) as server:
        server.add_tool(transformed(await server.find_tool("far_fail"), name="fail"))
        other.remove_tool("fail")
        async with talk(lambda: server, PER_REQUEST) as client:
            with pytest.raises(Refused) as caught:
                await client.request("tools/call", {"name": "fail"})
    assert caught.value.code == -32602


async def test_a_new_name_for_a_mounted_tool_is_beside_it() -> None:
    server = near(weather())
    with pytest.raises(UsageError, match="is mounted, and stays there"):
        server.transform_tool("far_forecast", name="forecast")


async def test_a_far_tool_must_have_been_asked_for() -> None:
    async with Client("gateway") as client:
        server = Server("outer")
        server.mount("far", await client.connect(weather()))
        with pytest.raises(UsageError, match=r"await server\.find_tool"):
            server.transform_tool("far_forecast", description="In short.")
        with pytest.raises(UsageError, match="there is no tool 'far_forecats'"):
            await server.find_tool("far_forecats")
        assert (await server.find_tool("far_forecast")).name == "far_forecast"
        server.transform_tool("far_forecast", description="In short.")
        assert server.tools.names == ["far_forecast"]
