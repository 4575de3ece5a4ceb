"""Spec tests of tools."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jsonschema_rs
import pytest

from mcp_gen import Context, Server, ToolError, UsageError
from mcp_wire import latest
from tests.server.spec.clients import admitted, is_admin, opened_as
from tests.support.peers.asked import Refused
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

MOST = 128
"""Maximum length of a tool name, in characters."""


def calculator() -> Server:
    server = Server("calculator")

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


@requirement("tools:declared")
async def test_a_server_with_tools_declares_them(connect: Connect) -> None:
    async with connect(calculator) as client:
        told = await client.server()
    assert "tools" in told["capabilities"]


# --- the list ---


def guarded() -> Server:
    """Return a server whose tool `wipe` is for the client `admin` alone; it counts its runs."""
    server = Server("guarded", page_size=2)
    wiped: list[str] = []

    @server.tool
    async def look() -> str:
        return "seen"

    @server.tool
    async def wipe(what: str) -> str:
        wiped.append(what)
        return "wiped"

    @server.tool
    async def count() -> int:
        return len(wiped)

    @server.filter_tools
    def may(ctx: Context, tool: latest.Tool) -> bool:
        return tool.name != "wipe" or is_admin(ctx)

    return server


@requirement("tools:list")
async def test_each_client_is_listed_every_tool_that_it_may_use(connect: Connect) -> None:
    seen = {}
    for name in ("admin", "guest"):
        async with connect(guarded, opened=False) as client:
            await opened_as(client, name)
            seen[name] = await client.names("tools/list", "tools")
    assert seen == {"admin": ["look", "wipe", "count"], "guest": ["look", "count"]}


@cache
def shared() -> Server:
    """Return the same server for every connection of this process."""
    return many()


def many() -> Server:
    """Return a server with tools that are not in alphabetical order."""
    server = Server("many", page_size=3)
    for name in ("pear", "apple", "quince", "fig", "Cherry", "banana", "plum"):
        server.add_tool(lambda: "fruit", name=name)
    return server


@requirement("tools:list:same-for-all")
async def test_tools_are_the_same_on_each_connection_whatever_was_asked_before(
    connect: Connect,
) -> None:
    async with connect(shared) as one, connect(shared) as other:
        first = await one.pages("tools/list", "tools")
        await other.call("plum")
        await other.refusal("tools/call", {"name": "nope"})
        assert await other.pages("tools/list", "tools") == first
        assert await one.pages("tools/list", "tools") == first


@requirement("tools:list:ordered")
async def test_tools_are_listed_in_the_same_order_each_time(connect: Connect) -> None:
    async with connect(many) as client:
        lists = [await client.names("tools/list", "tools") for _ in range(3)]
    assert lists[0] == ["pear", "apple", "quince", "fig", "Cherry", "banana", "plum"]
    assert lists == lists[:1] * 3


def growing() -> Server:
    """Return a server whose tools add and remove a tool."""
    server = Server("growing")

    @server.tool
    async def grow() -> str:
        server.add_tool(grow, name="extra")
        return "grown"

    @server.tool
    async def shrink() -> str:
        server.remove_tool("extra")
        return "shrunk"

    return server


async def is_told(connect: Connect) -> None:
    """Check that a subscribed client is notified of added and removed tools."""
    changed = "notifications/tools/list_changed"
    async with connect(growing) as client:
        await client.listen(toolsListChanged=True)
        await client.text("grow")
        await client.hears(changed, 1)
        assert "extra" in await client.names("tools/list", "tools")
        await client.text("shrink")
        await client.hears(changed, 2)
        assert "extra" not in await client.names("tools/list", "tools")


@requirement("tools:list:changed")
async def test_clients_are_told_that_tools_came_and_went(connect: Connect) -> None:
    await is_told(connect)


@requirement("tools:list:changed-listening")
async def test_clients_that_listen_are_told_that_tools_came_and_went(connect: Connect) -> None:
    await is_told(connect)


# --- names ---


def named(*names: str) -> Server:
    """Return a server whose tools return their names."""
    server = Server("named")
    for name in names:

        async def tell(name: str = name) -> str:
            return name

        server.add_tool(partial(tell, name), name=name)
    return server


@requirement("tools:names:length", "tools:names:characters")
async def test_tools_are_called_by_every_name_that_is_allowed(connect: Connect) -> None:
    names = ["x", "n" * MOST, "getUser", "DATA_EXPORT_v2", "admin.tools-list", "0", "_", "-."]
    async with connect(partial(named, *names)) as client:
        assert await client.names("tools/list", "tools") == names
        assert [await client.text(name) for name in names] == names


@requirement("tools:names:length")
@pytest.mark.parametrize("name", ["", "n" * (MOST + 1)], ids=["none", "too-long"])
def test_a_name_too_short_or_too_long_is_refused_when_the_tool_is_defined(name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        named(name)


@requirement("tools:names:characters")
@pytest.mark.parametrize("name", ["a b", "a,b", "a/b", "é", "a\n", "a:b", "名"])
def test_a_name_with_other_characters_is_refused_when_the_tool_is_defined(name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        named(name)


@requirement("tools:names:case")
async def test_names_that_differ_in_case_are_two_tools(connect: Connect) -> None:
    async with connect(partial(named, "get", "Get")) as client:
        assert await client.names("tools/list", "tools") == ["get", "Get"]
        assert [await client.text("get"), await client.text("Get")] == ["get", "Get"]
        assert (await client.refusal("tools/call", {"name": "GET"})).code == -32602


@requirement("tools:names:unique")
def test_a_second_tool_of_a_name_is_refused_when_it_is_defined() -> None:
    with pytest.raises(UsageError, match="'get'"):
        named("get", "put", "get")


# --- schemas and results ---


@dataclass
class Point:
    x: int
    y: int = 0


WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"celsius": {"type": "number", "minimum": -273.15}},
    "required": ["celsius"],
}


def structured() -> Server:
    """Return a server with structured tools, from annotations and from a raw schema."""
    server = Server("structured")

    @server.tool
    async def nothing() -> None:
        return None

    @server.tool
    async def mirror(point: Point) -> Point:
        return Point(point.y, point.x)

    @server.tool
    async def number() -> int:
        return 7

    @server.tool
    async def several() -> list[Point]:
        return [Point(1), Point(2, 3)]

    @server.tool
    async def table() -> dict[str, float]:
        return {"a": 1.5}

    async def weather(ctx: Context, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"celsius": arguments.get("celsius", 20)}

    described = latest.Tool(name="weather", input_schema={"type": "object"}, output_schema=WEATHER)
    server.add_tool(described, weather)
    return server


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("mirror", {"point": {"x": 1}}),
    ("number", {}),
    ("several", {}),
    ("table", {}),
    ("weather", {}),
]


@requirement("tools:input-schema")
async def test_every_tool_has_an_input_schema_which_is_an_object(connect: Connect) -> None:
    async with connect(structured) as client:
        (tools,) = await client.pages("tools/list", "tools")
    assert {tool["name"]: tool["inputSchema"]["type"] for tool in tools} == dict.fromkeys(
        ("nothing", "mirror", "number", "several", "table", "weather"), "object"
    )


@requirement("tools:input-schema")
@pytest.mark.parametrize("schema", [None, True, [], {"type": "array"}, {"type": "nonsense"}])
def test_an_input_schema_that_is_no_object_is_refused_when_the_tool_is_defined(schema: Any) -> None:
    async def handler(ctx: Context, arguments: dict[str, Any]) -> str:
        return "called"

    with pytest.raises(UsageError):
        Server("raw").add_tool(latest.Tool(name="raw", input_schema=schema), handler)


@requirement("tools:output-schema")
async def test_a_structured_result_fits_the_output_schema(connect: Connect) -> None:
    async with connect(structured) as client:
        (tools,) = await client.pages("tools/list", "tools")
        schemas = {tool["name"]: tool.get("outputSchema", False) for tool in tools}
        for name, arguments in CALLS:
            result = await client.call(name, **arguments)
            assert schemas[name], name
            assert jsonschema_rs.is_valid(schemas[name], result["structuredContent"]), name


@requirement("tools:output-schema")
async def test_a_structured_result_that_does_not_fit_is_not_sent(connect: Connect) -> None:
    async with connect(structured) as client:
        result = await client.call("weather", celsius=-300)
    assert result["isError"] is True
    assert "structuredContent" not in result


@requirement("tools:structured-as-text")
async def test_a_structured_result_is_there_as_text_too(connect: Connect) -> None:
    async with connect(structured) as client:
        for name, arguments in CALLS:
            result = await client.call(name, **arguments)
            data = result["structuredContent"]
            # The text contains the value itself, even if the revision wraps it in an object.
            wanted = data["result"] if name in ("number", "several") and wraps(connect) else data
            (block,) = result["content"]
            assert json.loads(block["text"]) == wanted, name


def wraps(connect: Connect) -> bool:
    """Return True if structured content is always an object at the revision."""
    return connect.profile.structured_content == "object"


# --- errors ---


def failing() -> Server:
    """Return a server whose tools fail, each in another way."""
    server = Server("failing")

    @server.tool
    async def foreseen() -> str:
        raise ToolError("the door is locked")

    @server.tool
    async def unforeseen() -> str:
        raise LookupError("no such door")

    @server.tool
    def in_a_thread() -> str:
        raise OSError("no more doors")

    @server.tool(timeout_s=0.02)
    async def slow() -> str:
        await asyncio.Event().wait()
        return "never"

    return server


@requirement("tools:errors:in-result")
async def test_what_goes_wrong_in_a_tool_is_a_result_that_says_so(connect: Connect) -> None:
    async with connect(failing) as client:
        for name in ("foreseen", "unforeseen", "in_a_thread", "slow"):
            result = await client.call(name)
            assert result["isError"] is True, name
            assert result["content"][0]["text"], name


@requirement("tools:errors:unknown")
async def test_a_call_of_a_tool_that_there_is_none_of_is_invalid_params(connect: Connect) -> None:
    async with connect(calculator) as client:
        refused = [await client.refusal("tools/call", {"name": name}) for name in ("nope", "Add")]
    assert [one.code for one in refused] == [-32602, -32602]


# --- security ---


def counting() -> Server:
    """Return a server that counts the runs of its tools."""
    server = Server("counting")
    ran: list[Any] = []

    @server.tool
    async def typed(number: int, point: Point) -> str:
        ran.append(number)
        return "ran"

    async def handler(ctx: Context, arguments: dict[str, Any]) -> str:
        ran.append(arguments)
        return "ran"

    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"number": {"type": "integer", "maximum": 9}, "point": {"type": "object"}},
        "required": ["number", "point"],
    }
    server.add_tool(latest.Tool(name="raw", input_schema=schema), handler)

    @server.tool
    async def count() -> int:
        return len(ran)

    return server


BAD: list[Any] = [
    {},
    {"number": "7", "point": {"x": 1}},
    {"number": 1.5, "point": {"x": 1}},
    {"number": None, "point": {"x": 1}},
    {"number": True, "point": {"x": 1}},
    {"number": 7, "point": "here"},
    {"number": 7},
    [],
    "number",
    7,
]


@requirement("tools:inputs-validated")
async def test_arguments_that_do_not_fit_never_get_to_the_tool(connect: Connect) -> None:
    async with connect(counting) as client:
        for tool in ("typed", "raw"):
            for arguments in BAD:
                assert await is_refused(client, {"name": tool, "arguments": arguments}), arguments
            assert await is_refused(client, {"name": tool})
        assert await client.text("count") == "0"
        for tool in ("typed", "raw"):
            await client.call(tool, number=7, point={"x": 1})
        assert await client.text("count") == "2"


async def is_refused(client: Conversation, params: dict[str, Any]) -> bool:
    """Return True if a call is answered with an error of either kind."""
    try:
        result = await client.request("tools/call", params)
    except Refused as refused:
        return refused.code == -32602
    return result.get("isError") is True


@requirement("tools:access")
async def test_a_tool_that_a_client_may_not_see_is_unknown_to_it(connect: Connect) -> None:
    call = {"name": "wipe", "arguments": {"what": "all"}}
    async with connect(guarded, opened=False) as client:
        await opened_as(client, "guest")
        assert "wipe" not in await client.names("tools/list", "tools")
        refused = await client.refusal("tools/call", call)
        unknown = await client.refusal("tools/call", {**call, "name": "nope"})
        assert refused.code == unknown.code == -32602
        assert str(refused) == str(unknown).replace("nope", "wipe")
        assert await client.text("count") == "0"
    async with connect(guarded, opened=False) as client:
        await opened_as(client, "admin")
        assert (await client.request("tools/call", call))["content"][0]["text"] == "wiped"


def limited() -> Server:
    """Return a server with at most two concurrent requests."""
    server = Server("limited", max_concurrent_requests=2)

    @server.tool
    async def hold() -> str:
        await asyncio.Event().wait()
        return "never"

    @server.tool
    async def quick() -> str:
        return "done"

    return server


@requirement("tools:rate")
async def test_calls_beyond_the_limit_are_refused_until_there_is_room(connect: Connect) -> None:
    async with connect(limited) as client:
        held = [client.begin("tools/call", {"name": "hold"}) for _ in range(2)]
        refused = await client.refusal("tools/call", {"name": "quick"})
        assert "2 requests are open" in str(refused)
        client.cancel(held[0])
        assert await admitted(client, "tools/call", {"name": "quick"})
        client.cancel(held[1])
