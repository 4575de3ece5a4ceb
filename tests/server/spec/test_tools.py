"""Tools: declared, listed and called."""

from __future__ import annotations

from functools import partial
from typing import Any

import jsonschema_rs
import pytest

from mcp_gen import Context, Server, UsageError
from mcp_gen.types import Tool
from tests.server.spec.servers import bare, rich, waiting
from tests.support.connect import Connect
from tests.support.requirement import requirement


@requirement("tools:declared")
async def test_a_server_with_tools_declares_them(connect: Connect) -> None:
    async with connect(rich) as client:
        assert "tools" in (await client.server())["capabilities"]


# --- the list ---


@requirement("tools:list")
async def test_every_tool_is_listed(connect: Connect) -> None:
    async with connect(rich) as client:
        names = await client.names("tools/list", "tools")
    assert names == ["echo", "mirror", "fail", "refuse", "crash"]


@requirement("tools:list:same-for-all")
async def test_the_list_is_the_same_on_every_connection_and_after_every_call(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        first = await client.pages("tools/list", "tools")
        await client.text("echo", text="a")
        await client.refusal("tools/call", {"name": "refuse"})
        assert await client.pages("tools/list", "tools") == first
    async with connect(rich) as other:
        assert await other.pages("tools/list", "tools") == first


@requirement("tools:list:ordered")
async def test_the_order_of_the_list_does_not_change(connect: Connect) -> None:
    async with connect(rich) as client:
        lists = [await client.names("tools/list", "tools") for _ in range(3)]
    assert lists[0] == lists[1] == lists[2]


def growing() -> Server:
    """One that gets a tool when it is asked to."""
    server = Server("growing")

    async def more() -> str:
        return "more"

    @server.tool
    async def grow() -> str:
        server.add_tool(more)
        return "grown"

    @server.tool
    async def shrink() -> str:
        server.remove_tool("more")
        return "shrunk"

    return server


@requirement("tools:list:changed")
async def test_clients_are_told_when_the_list_changes(connect: Connect) -> None:
    async with connect(growing) as client:
        declared = client.opening["capabilities"]["tools"]
        await client.text("grow")
        await client.hears("notifications/tools/list_changed")
        assert "more" in await client.names("tools/list", "tools")
        await client.text("shrink")
        await client.hears("notifications/tools/list_changed", 2)
    assert declared["listChanged"] is True


@requirement("tools:list:changed-listening")
async def test_clients_that_listen_are_told_when_the_list_changes(connect: Connect) -> None:
    async with connect(growing) as client:
        declared = (await client.server())["capabilities"]["tools"]
        await client.listen(toolsListChanged=True)
        await client.text("grow")
        await client.hears("notifications/tools/list_changed")
        await client.text("shrink")
        await client.hears("notifications/tools/list_changed", 2)
    assert declared["listChanged"] is True


# --- names ---


async def any_tool() -> str:
    return ""


@requirement("tools:names:length", "tools:names:characters")
@pytest.mark.parametrize("name", ["a", "A_z-0.9", "a" * 128])
def test_good_names_are_taken(name: str) -> None:
    server = bare()
    server.add_tool(any_tool, name=name)
    assert server.tools.names == [name]


@requirement("tools:names:length")
@pytest.mark.parametrize("name", ["", "a" * 129])
def test_names_that_are_empty_or_too_long_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="1 to 128"):
        bare().add_tool(any_tool, name=name)


@requirement("tools:names:characters")
@pytest.mark.parametrize("name", ["a b", "a,b", "a/b", "é", "a\n", "a:b", "(a)"])
def test_names_with_other_characters_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        bare().add_tool(any_tool, name=name)


@requirement("tools:names:unique")
def test_a_name_can_be_given_once() -> None:
    server = rich()
    with pytest.raises(UsageError, match="'echo' is there already"):
        server.add_tool(any_tool, name="echo")


def cased() -> Server:
    """One with two tools whose names differ in case alone."""
    server = Server("cased")
    for name in ("Case", "case"):

        async def said(name: str = name) -> str:
            return name

        server.add_tool(said, name=name)
    return server


@requirement("tools:names:case")
async def test_names_that_differ_in_case_are_two_tools(connect: Connect) -> None:
    async with connect(cased) as client:
        assert await client.names("tools/list", "tools") == ["Case", "case"]
        assert await client.text("Case") == "Case"
        assert (await client.refusal("tools/call", {"name": "CASE"})).code == -32602


# --- schemas and results ---


@requirement("tools:input-schema")
async def test_every_tool_has_an_object_as_its_input_schema(connect: Connect) -> None:
    async with connect(rich) as client:
        (tools,) = await client.pages("tools/list", "tools")
    for tool in tools:
        assert tool["inputSchema"]["type"] == "object"
        jsonschema_rs.meta.validate(tool["inputSchema"])


@requirement("tools:output-schema")
async def test_a_structured_result_fits_the_schema_of_its_tool(connect: Connect) -> None:
    async with connect(rich) as client:
        (tools,) = await client.pages("tools/list", "tools")
        result = await client.call("mirror", point={"x": 1, "y": 2})
    (schema,) = [tool["outputSchema"] for tool in tools if tool["name"] == "mirror"]
    jsonschema_rs.validate(schema, result["structuredContent"])
    assert result["structuredContent"] == {"x": 2, "y": 1}


def careless() -> Server:
    """One whose tool returns what its schema does not allow."""
    server = Server("careless")
    output = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    async def handler(ctx: Context, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"n": "no number"}

    described = Tool(name="wrong", input_schema={"type": "object"}, output_schema=output)
    server.add_tool(described, handler)
    return server


@requirement("tools:output-schema")
async def test_a_result_that_does_not_fit_is_never_sent(connect: Connect) -> None:
    async with connect(careless) as client:
        frame = await client.begin("tools/call", {"name": "wrong"}).answer
    assert "error" in frame or frame["result"]["isError"]
    assert "structuredContent" not in frame.get("result", {})


@requirement("tools:structured-as-text")
async def test_structured_content_is_there_as_text_too(connect: Connect) -> None:
    async with connect(rich) as client:
        assert await client.text("mirror", point={"x": 1, "y": 2}) == '{"x":2,"y":1}'


# --- what goes wrong ---


@requirement("tools:errors:in-result")
async def test_what_a_tool_raises_is_a_result_that_says_so(connect: Connect) -> None:
    async with connect(rich) as client:
        failed = await client.call("fail", reason="out of paper")
        crashed = await client.call("crash")
    assert failed["isError"]
    assert failed["content"] == [{"type": "text", "text": "out of paper"}]
    assert crashed["isError"]


@requirement("tools:errors:unknown")
async def test_an_unknown_tool_is_a_protocol_error(connect: Connect) -> None:
    async with connect(rich) as client:
        for name in ("nope", "", "Echo", "tools/call"):
            assert (await client.refusal("tools/call", {"name": name})).code == -32602


def strict() -> Server:
    """One whose tool tells how often it was called."""
    server = Server("strict")
    calls: list[int] = []

    @server.tool
    async def take(number: int) -> int:
        calls.append(number)
        return len(calls)

    @server.tool
    async def how_often() -> int:
        return len(calls)

    return server


@requirement("tools:inputs-validated")
async def test_arguments_of_the_wrong_type_never_get_to_the_tool(connect: Connect) -> None:
    wrong: list[Any] = [{}, {"number": "1"}, {"number": None}, {"number": [1]}, {"number": 1.5}]
    async with connect(strict) as client:
        for arguments in wrong:
            frame = await client.begin(
                "tools/call", {"name": "take", "arguments": arguments}
            ).answer
            assert "error" in frame or frame["result"]["isError"]
        for arguments in ([1], "1", 1):
            params = {"name": "take", "arguments": arguments}
            assert (await client.refusal("tools/call", params)).code == -32602
        assert await client.text("how_often") == "0"


def guarded() -> Server:
    """One that keeps its tools, prompts and resources from clients without sampling."""
    server = rich()

    def may(ctx: Context, described: Any) -> bool:
        declared: Any = ctx.client_capabilities
        found = declared.get("sampling") if isinstance(declared, dict) else declared.sampling
        return found is not None

    server.filter_tools(may)
    server.filter_prompts(may)
    server.filter_resources(may)
    return server


@requirement("tools:access")
async def test_a_tool_that_is_kept_from_a_client_cannot_be_called(connect: Connect) -> None:
    async with connect(guarded, capabilities={}) as client:
        assert await client.names("tools/list", "tools") == []
        refused = await client.refusal("tools/call", {"name": "echo", "arguments": {"text": "a"}})
    assert refused.code == -32602
    async with connect(guarded, capabilities={"sampling": {}}) as client:
        assert await client.text("echo", text="a") == "a"


def limited(most: int) -> Server:
    """One that answers so many requests at once, and no more."""
    server = Server("limited", max_concurrent_requests=most)
    for tool in waiting().tools:
        server.tools.add(tool)
    return server


@requirement("tools:rate")
async def test_more_calls_than_may_run_at_once_are_refused(connect: Connect) -> None:
    async with connect(partial(limited, 2)) as client:
        held = client.begin("tools/call", {"name": "hold"})
        assert await client.text("until_holding") == "held"
        second = client.begin("tools/call", {"name": "hold"})
        refused = await client.refusal("tools/call", {"name": "release"})
        assert refused.code == -32600
        client.cancel(second)
        for _ in range(100):
            # There is room again as soon as the cancelled call has ended.
            released = await client.begin("tools/call", {"name": "release"}).answer
            if "result" in released:
                break
        assert (await held.result())["content"][0]["text"] == "held"
