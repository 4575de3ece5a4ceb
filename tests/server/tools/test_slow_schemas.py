"""Tools whose schemas cost much to check: named in the log, and checked with a deadline."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Argument, Client, Context, McpError, Server, transformed
from mcp_wire import latest
from tests.server.tools.calls import texts
from tests.support.frames import every_revision

DEADLINE_S = 0.3
OPTIONAL = {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
NODE = {"type": "object", "properties": {"value": {"type": "integer"}, "next": OPTIONAL}}
RECURSIVE: dict[str, Any] = {
    "type": "object",
    "properties": {"head": OPTIONAL},
    "$defs": {"node": NODE},
}
"""A linked list, as many generators write it: worth a look, and cheap to check all the same."""
REASON = "a circle of references leads through `anyOf`"


def endless() -> dict[str, Any]:
    """Return a schema that takes exponential time."""
    part: Any = {"properties": {"a": True}}
    for _ in range(40):
        part = {"allOf": [part], "unevaluatedProperties": False}
    return {"type": "object", **part}


def offering(
    input_schema: Any = None, output_schema: Any = None, value: Any = None, **options: Any
) -> Server:
    """Return a server with a tool of these schemas, which returns the value or its arguments."""
    server = Server("slow", schema_timeout_s=DEADLINE_S, **options)

    async def handle(ctx: Context, arguments: dict[str, Any]) -> Any:
        return arguments if value is None else value

    schema = {"type": "object"} if input_schema is None else input_schema
    tool = latest.Tool(name="t", input_schema=schema, output_schema=output_schema)
    server.add_tool(tool, handle)
    return server


async def called(
    server: Server, arguments: Any, revision: str = mcp_wire.LATEST, tool: str = "t"
) -> Any:
    """Return the result of a call."""
    async with Client("test") as client:
        session = await client.connect(server, revision=revision)
        return await session.call_tool(tool, arguments)


# --- at registration ---


def test_a_slow_schema_is_named_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    schema = {**RECURSIVE, "title": "named once"}
    server = Server("s")
    for name in ("logged", "logged"):
        if name in server.tools:
            server.remove_tool(name)
        tool = latest.Tool(name=name, input_schema=schema)
        server.add_tool(tool, lambda ctx, arguments: "x")
    assert caplog.messages == [
        f"tool logged: input schema: checked in a process of its own, as {REASON}"
    ]


def test_a_schema_that_is_checked_at_once_is_not(caplog: pytest.LogCaptureFixture) -> None:
    offering({"type": "object", "properties": {"a": {"pattern": "^[a-z]{1,9}$"}}})
    assert caplog.messages == []


# --- cheap ones work as any other ---


@every_revision
async def test_arguments_that_fit_are_taken(revision: str) -> None:
    result = await called(offering(RECURSIVE), {"head": {"value": 1, "next": None}}, revision)
    assert not result.is_error


async def test_arguments_that_do_not_fit_are_refused_with_their_path() -> None:
    result = await called(offering(RECURSIVE), {"head": {"value": "x"}})
    assert result.is_error
    assert texts(result)[0].endswith("- at `$.arguments.head`")


async def test_an_argument_of_a_function_is_checked_by_its_own_schema() -> None:
    server = Server("s")

    @server.tool(input_schema=RECURSIVE)
    async def t(head: Any = None) -> str:
        return f"got {head}"

    assert texts(await called(server, {"head": None})) == ["got None"]
    assert (await called(server, {"head": 5})).is_error


async def test_a_result_that_fits_is_sent() -> None:
    result = await called(offering(None, RECURSIVE), {"head": {"value": 1}})
    assert result.structured_content == {"head": {"value": 1}}


async def test_a_result_that_does_not_fit_is_an_error() -> None:
    result = await called(offering(None, RECURSIVE), {"head": 5})
    assert result.is_error
    assert texts(result) == ["t: the result is not what the tool's output schema says"]


async def test_both_schemas_of_one_tool_are_checked() -> None:
    result = await called(offering(RECURSIVE, RECURSIVE), {"head": {"value": 1}})
    assert result.structured_content == {"head": {"value": 1}}


async def test_a_transformed_tool_is_checked_with_its_own_names() -> None:
    server = offering(RECURSIVE)
    arguments = {"head": Argument(name="first")}
    server.add_tool(transformed(server.tools["t"], name="renamed", arguments=arguments))
    assert not (await called(server, {"first": {"value": 1}}, tool="renamed")).is_error
    refused = await called(server, {"first": 5}, tool="renamed")
    assert texts(refused)[0].endswith("- at `$.arguments.first`")


async def test_a_transformed_tool_whose_values_are_made_is_checked() -> None:
    server = offering(RECURSIVE)
    arguments = {"head": Argument(make=lambda ctx: {"value": 1})}
    server.add_tool(transformed(server.tools["t"], name="made", arguments=arguments))
    assert not (await called(server, {}, tool="made")).is_error


async def test_a_fixed_value_is_checked_by_the_call() -> None:
    server = offering(RECURSIVE)
    arguments = {"head": Argument(fixed={"value": 1})}
    server.add_tool(transformed(server.tools["t"], name="fixed", arguments=arguments))
    assert not (await called(server, {}, tool="fixed")).is_error


async def test_restrictions_of_two_arguments_are_checked_in_one_call() -> None:
    server = Server("s")

    @server.tool
    async def pair(a: str, b: str) -> str:
        return a + b

    pattern = {"pattern": "^(?=x)"}
    arguments = {"a": Argument(schema=pattern), "b": Argument(schema=pattern)}
    server.add_tool(transformed(server.tools["pair"], name="t", arguments=arguments))
    assert texts(await called(server, {"a": "xa", "b": "xb"})) == ["xaxb"]
    assert texts(await called(server, {"a": "xa", "b": "b"}))[0].endswith("- at `$.arguments.b`")


async def test_a_fixed_value_that_does_not_fit_is_an_error_of_the_server() -> None:
    server = offering(RECURSIVE)
    arguments = {"head": Argument(fixed=5)}
    server.add_tool(transformed(server.tools["t"], name="fixed", arguments=arguments))
    with pytest.raises(McpError) as caught:
        await called(server, {}, tool="fixed")
    assert caught.value.code == -32603


async def test_the_result_of_a_mounted_tool_is_checked_once_it_is_changed() -> None:
    outer = Server("outer")
    outer.mount("in", offering(None, RECURSIVE))
    mounted = await outer.find_tool("in_t")

    def right(result: Any) -> Any:
        return {"head": {"value": 1}}

    def wrong(result: Any) -> Any:
        return {"head": 5}

    outer.add_tool(transformed(mounted, name="right", result=right))
    outer.add_tool(transformed(mounted, name="wrong", result=wrong))
    assert not (await called(outer, {"head": None}, tool="right")).is_error
    assert (await called(outer, {"head": None}, tool="wrong")).is_error


# --- those that explode ---


@every_revision
async def test_arguments_whose_check_takes_too_long_are_an_error_that_names_the_schema(
    revision: str,
) -> None:
    async with asyncio.timeout(10):
        result = await called(offering(endless()), {"a": 1}, revision)
    assert result.is_error
    assert texts(result) == [
        f"tool t: input schema: the value was not checked: the schema takes more than {DEADLINE_S}"
        " s to check; more than 4000 subschemas apply to one value"
    ]


async def test_a_result_whose_check_takes_too_long_is_an_error_that_names_the_schema() -> None:
    async with asyncio.timeout(10):
        result = await called(offering(None, endless()), {"a": 1})
    assert result.is_error
    assert texts(result) == [
        f"t: output schema: the value was not checked: the schema takes more than {DEADLINE_S} s"
        " to check; more than 4000 subschemas apply to one value"
    ]


async def test_a_check_that_takes_too_long_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("s", schema_timeout_s=0.2)
    tool = latest.Tool(name="late", input_schema=endless())
    server.add_tool(tool, lambda ctx, arguments: "x")
    await called(server, {"a": 1}, tool="late")
    late = [one for one in caplog.messages if "takes more than 0.2 s" in one]
    assert len(late) == 1


def test_a_deadline_of_nothing_is_refused() -> None:
    with pytest.raises(Exception, match="schema_timeout_s=0"):
        Server("s", schema_timeout_s=0)
