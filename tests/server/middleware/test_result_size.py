"""ResultSizeLimit: a tool result that is too large becomes an error result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import Server, Tasks, UsageError
from mcp_gen.content import image
from mcp_gen.middleware import ResultSizeLimit
from mcp_wire import encode, latest
from tests.server.middleware.clients import connected
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle, every_revision
from tests.support.peers.connect import talk

SIZE = len(encode(latest.CallToolResult(content=[latest.TextContent(text="x" * 100)])))
"""Bytes of a result of 100 characters."""


def sized(limit: ResultSizeLimit) -> Server:
    server = Server("sized")
    server.add_middleware(limit)

    @server.tool
    async def repeat(times: int) -> list[latest.ContentBlock]:
        return [latest.TextContent(text="x" * times)]

    @server.tool
    async def picture() -> latest.ImageContent:
        return image(b"p" * 300, mime_type="image/png")

    return server


@every_revision
@pytest.mark.parametrize(("times", "is_error"), [(100, False), (101, True), (100_000, True)])
async def test_a_result_over_the_limit_is_an_error_result(
    revision: str, times: int, is_error: bool
) -> None:
    async with connected(sized(ResultSizeLimit(SIZE)), revision) as client:
        result = await client.call("repeat", times=times)
    assert result.get("isError", False) is is_error


@every_revision
async def test_the_error_names_the_tool_the_size_and_the_limit(revision: str) -> None:
    async with connected(sized(ResultSizeLimit(200)), revision) as client:
        assert await client.text("repeat", times=300) == (
            f"repeat: the result has {SIZE + 200} bytes, and the limit is 200; "
            "ask for less, such as a part of it"
        )


@each_lifecycle
async def test_images_count(revision: str) -> None:
    async with connected(sized(ResultSizeLimit(400)), revision) as client:
        assert (await client.call("picture"))["isError"] is True


@each_lifecycle
async def test_a_tool_may_have_another_limit(revision: str) -> None:
    limit = ResultSizeLimit(100, tools={"repeat": 2 * SIZE})
    async with connected(sized(limit), revision) as client:
        assert await client.text("repeat", times=100) == "x" * 100


@each_lifecycle
async def test_other_results_are_not_limited(revision: str) -> None:
    async with connected(sized(ResultSizeLimit(1)), revision) as client:
        assert await client.names("tools/list", "tools") == ["repeat", "picture"]


@every_revision
async def test_results_of_mounted_servers_are_limited(revision: str) -> None:
    outer = Server("outer")
    outer.add_middleware(ResultSizeLimit(SIZE))
    outer.mount("in", sized(ResultSizeLimit(1_000_000)))
    async with connected(outer, revision) as client:
        assert (await client.text("in_repeat", times=101)).startswith("in_repeat: the result has")


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="0 bytes: expected at least 1"):
        ResultSizeLimit(10, tools={"repeat": 0})


@pytest.mark.parametrize(("times", "is_error"), [(1, False), (1_000, True)])
async def test_the_result_of_a_task_is_limited_where_it_is_fetched(
    times: int, is_error: bool
) -> None:
    server = Server("sized")
    server.add_middleware(ResultSizeLimit(2 * SIZE))

    @server.tool(task="required")
    async def repeat(times: int) -> list[latest.ContentBlock]:
        return [latest.TextContent(text="x" * times)]

    async with talk(lambda: server, HANDSHAKE, capabilities={"tasks": {}}) as client:
        given = {"name": "repeat", "arguments": {"times": times}, "task": {}}
        task = (await client.request("tools/call", given))["task"]
        fetched = await client.request("tasks/result", {"taskId": task["taskId"]})
    assert fetched.get("isError", False) is is_error
    assert fetched["_meta"]


@pytest.mark.parametrize(("times", "is_error"), [(1, False), (1_000, True)])
async def test_the_result_of_a_task_of_the_extension_is_limited(times: int, is_error: bool) -> None:
    server = Server("sized", tasks=Tasks(grace_s=0))
    server.add_middleware(ResultSizeLimit(2 * SIZE))

    @server.tool(task="required")
    async def repeat(times: int) -> list[latest.ContentBlock]:
        return [latest.TextContent(text="x" * times)]

    declared: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    async with talk(lambda: server, PER_REQUEST, capabilities=declared) as client:
        task = await client.request("tools/call", {"name": "repeat", "arguments": {"times": times}})
        async with asyncio.timeout(30):
            while (state := await client.request("tasks/get", {"taskId": task["taskId"]}))[
                "status"
            ] == "working":
                pass
    assert state["result"].get("isError", False) is is_error
