"""Handlers call tools and read resources of their own server, by the route of a request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Accepted, Client, Context, Server, ToolError
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision
from tests.support.peers.answering import accept, answering, asks
from tests.support.peers.connect import talk


@dataclass
class Point:
    x: int
    y: int


@dataclass
class Name:
    name: str


def composed() -> Server:
    """Return a server whose tools use each other."""
    server = Server("composed")

    @server.tool
    async def place(x: int, y: int = 0) -> Point:
        return Point(x, y)

    @server.tool
    async def numbers() -> list[int]:
        return [1, 2]

    @server.tool
    async def fails() -> str:
        raise ToolError("no luck")

    @server.resource("config://app")
    async def config() -> str:
        return "blue"

    @server.tool
    async def typed(ctx: Context) -> str:
        place = await ctx.call_tool("place", {"x": 3}, returns=Point)
        return f"{place.x},{place.y}"

    @server.tool
    async def listed(ctx: Context) -> str:
        return str(sum(await ctx.call_tool("numbers", returns=list[int])))

    @server.tool
    async def whole(ctx: Context) -> str:
        result = await ctx.call_tool("fails")
        return f"{result.is_error} {result.content[0].text}"  # type: ignore[union-attr]

    @server.tool
    async def raised(ctx: Context) -> str:
        try:
            return await ctx.call_tool("fails", returns=str)
        except ToolError as error:
            return f"ToolError: {error}"

    @server.tool
    async def reads(ctx: Context) -> str:
        found = await ctx.read_resource("config://app")
        return str(found.contents[0].text)  # type: ignore[union-attr]

    @server.tool
    def in_a_thread(ctx: Context) -> str:
        place = ctx.blocking.call_tool("place", {"x": 1, "y": 2}, returns=Point)
        read = ctx.blocking.read_resource("config://app").contents[0]
        return f"{place.x},{place.y} {read.text}"  # type: ignore[union-attr]

    @server.tool
    async def wrong(ctx: Context) -> str:
        return str(await ctx.call_tool("place", {"x": "three"}, returns=Point))

    @server.tool
    async def forever(ctx: Context, left: int) -> int:
        return (
            0 if not left else 1 + await ctx.call_tool("forever", {"left": left - 1}, returns=int)
        )

    return server


@every_revision
@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("typed", "3,0"),
        ("listed", "3"),
        ("whole", "True no luck"),
        ("raised", "ToolError: no luck"),
        ("reads", "blue"),
        ("in_a_thread", "1,2 blue"),
    ],
)
async def test_a_tool_uses_what_its_server_has(revision: str, tool: str, text: str) -> None:
    async with talk(composed, revision) as client:
        assert await client.text(tool) == text


@every_revision
async def test_wrong_arguments_of_an_inner_call_fail_the_outer_one(revision: str) -> None:
    async with talk(composed, revision) as client:
        result = await client.call("wrong")
    assert result["isError"]
    assert result["content"][0]["text"].endswith(
        "place: Expected `int`, got `str` - at `$.arguments.x`"
    )


async def test_calls_nest_up_to_a_limit_and_the_error_names_it() -> None:
    async with talk(composed, HANDSHAKE) as client:
        assert await client.text("forever", left=16) == "16"
        refused = await client.refusal("tools/call", {"name": "forever", "arguments": {"left": 17}})
    assert refused.error == {
        "code": -32603,
        "message": "call_tool('forever'): handlers call each other 16 deep, which is the limit "
        "(PeerLimits.max_nested_calls): does one call itself?",
    }


@every_revision
async def test_hooks_and_middleware_see_the_inner_call(revision: str) -> None:
    server, seen = composed(), list[str]()

    @server.middleware
    async def around(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        if hasattr(params, "name"):
            seen.append(f"{method} {params.name}")
        return await call_next(params)

    @server.hooks.before_call_tool
    async def before(ctx: Any, params: Any) -> None:
        seen.append(f"hook {params.name}")

    async with talk(lambda: server, revision) as client:
        assert await client.text("typed") == "3,0"
    assert seen == ["tools/call typed", "hook typed", "tools/call place", "hook place"]


async def test_a_tool_that_the_client_may_not_use_is_unknown_to_the_inner_call_too() -> None:
    server = composed()
    server.filter_tools(lambda ctx, tool: tool.name != "place")
    async with talk(lambda: server, HANDSHAKE) as client:
        result = await client.call("typed")
    assert result["content"][0]["text"] == "unknown tool: place"


async def test_a_server_calls_what_is_mounted_in_it_and_a_mounted_one_its_own() -> None:
    outer = Server("outer")
    outer.mount("in", composed())

    @outer.tool
    async def through(ctx: Context) -> str:
        return await ctx.call_tool("in_typed", returns=str)

    async with talk(lambda: outer, PER_REQUEST) as client:
        assert await client.text("through") == "3,0"


async def test_a_tool_that_runs_only_as_a_task_is_awaited() -> None:
    server = Server("tasks")

    @server.tool(task="required")
    async def slow(ctx: Context) -> str:
        return "task" if ctx.task else "done"

    @server.tool
    async def waits(ctx: Context) -> str:
        return await ctx.call_tool("slow", returns=str)

    for revision in (HANDSHAKE, PER_REQUEST):
        async with Client("test") as client:
            session = await client.connect(server, revision=revision)
            assert await session.call_tool("waits", returns=str) == "done"


async def test_the_progress_of_an_inner_call_is_not_that_of_the_request() -> None:
    server = Server("progress")

    @server.tool
    async def inner(ctx: Context) -> None:
        await ctx.report_progress(100, 100)

    @server.tool
    async def outer(ctx: Context) -> None:
        await ctx.report_progress(1, 2)
        await ctx.call_tool("inner")
        await ctx.report_progress(2, 2)

    heard: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async with Client("test") as client:
        session = await client.connect(server)
        await session.call_tool("outer", progress=progress)
    assert heard == [1, 2]


# --- input requests of an inner call ---


def asking(counts: list[str]) -> Server:
    """Return a server whose outer tool calls a tool that asks, twice."""
    server = Server("asking")

    @server.tool
    async def greet(ctx: Context, part: str) -> str:
        def count() -> str:
            counts.append(part)
            return part

        made = await ctx.once("made", count)
        answer = await ctx.elicit(f"Your {part}?", Name, key="name")
        return f"{made}={answer.content.name}" if isinstance(answer, Accepted) else "nobody"

    @server.tool
    async def both(ctx: Context) -> str:
        first = await ctx.call_tool("greet", {"part": "first"}, returns=str)
        same = await ctx.call_tool("greet", {"part": "first"}, returns=str)
        last = await ctx.call_tool("greet", {"part": "last"}, returns=str)
        return f"{first} {same} {last}"

    return server


@asks
@pytest.mark.parametrize("mounted", [False, True])
async def test_input_requests_of_inner_calls_belong_to_the_request(
    revision: str, mounted: bool
) -> None:
    counts: list[str] = []
    server = asking(counts)
    if mounted:
        outer = Server("outer")
        outer.mount("in", server)

        @outer.tool
        async def both(ctx: Context) -> str:
            texts = [
                await ctx.call_tool("in_greet", {"part": part}, returns=str)
                for part in ("first", "first", "last")
            ]
            return " ".join(texts)

        server = outer
    given = iter(["Ann", "Eve", "Lee"])
    async with answering(server, revision, lambda asked: accept(name=next(given))) as client:
        result = await client.call("both")
    assert result["content"][0]["text"] == "first=Ann first=Eve last=Lee"
    assert counts == ["first", "first", "last"]


async def test_two_inner_calls_at_once_are_awaited_together() -> None:
    server = composed()

    @server.tool
    async def together(ctx: Context) -> str:
        one, two = await asyncio.gather(
            ctx.call_tool("place", {"x": 1}, returns=Point),
            ctx.call_tool("place", {"x": 2}, returns=Point),
        )
        return f"{one.x}{two.x}"

    async with talk(lambda: server, PER_REQUEST) as client:
        assert await client.text("together") == "12"


async def test_a_server_without_resources_says_that_it_has_none() -> None:
    server = Server("bare")

    @server.tool
    async def reads(ctx: Context) -> None:
        await ctx.read_resource("config://app")

    async with talk(lambda: server, PER_REQUEST) as client:
        result = await client.call("reads")
    assert result["content"][0]["text"] == (
        "read_resource('config://app'): server 'bare' has nothing of the kind; add it first"
    )
