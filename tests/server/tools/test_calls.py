"""Tool calls: on the loop or in threads, timeouts, and errors."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from mcp_gen import Context, McpError, ToolError
from mcp_wire import latest
from tests.server.tools.calls import call, texts, with_tool
from tests.support.frames import every_revision
from tests.support.peers.raw import talking

WAIT_S = 30.0
OBJECT = {"type": "object"}


def in_thread() -> str:
    on_loop = threading.current_thread() is threading.main_thread()
    return "loop" if on_loop else "thread"


def raw_in_thread(ctx: Context, arguments: dict[str, Any]) -> str:
    return in_thread()


TOOLS: list[Any] = [
    (in_thread,),
    (latest.Tool(name="in_thread", input_schema=OBJECT), raw_in_thread),
]
of_both_kinds = pytest.mark.parametrize("tool", TOOLS, ids=["function", "raw"])


@of_both_kinds
async def test_what_is_not_async_runs_in_a_thread(tool: Any) -> None:
    assert texts(await call(with_tool(*tool))) == ["thread"]


@of_both_kinds
async def test_a_tool_may_run_on_the_loop(tool: Any) -> None:
    assert texts(await call(with_tool(*tool, run_in_thread=False))) == ["loop"]


@of_both_kinds
async def test_a_server_may_run_its_tools_on_the_loop(tool: Any) -> None:
    server = with_tool(*tool)
    server.tools.run_in_threads = False
    assert texts(await call(server)) == ["loop"]


@of_both_kinds
async def test_a_tool_may_run_in_a_thread_where_others_do_not(tool: Any) -> None:
    server = with_tool(*tool, run_in_thread=True)
    server.tools.run_in_threads = False
    assert texts(await call(server)) == ["thread"]


@pytest.mark.parametrize("on_loop", [True, False])
async def test_a_stop_iteration_is_a_failure_like_others(on_loop: bool) -> None:
    def f() -> str:
        nothing: list[str] = []
        return next(iter(nothing))

    assert (await call(with_tool(f, run_in_thread=not on_loop))).is_error is True


# --- time ---


async def never(ctx: Context, arguments: dict[str, Any]) -> None:
    await asyncio.Event().wait()


async def function_that_never_ends() -> None:
    await asyncio.Event().wait()


ENDLESS: list[Any] = [
    (function_that_never_ends,),
    (latest.Tool(name="never", input_schema=OBJECT), never),
]


@every_revision
@pytest.mark.parametrize("tool", ENDLESS, ids=["function", "raw"])
async def test_a_tool_that_takes_too_long_has_failed(revision: str, tool: Any) -> None:
    server = with_tool(*tool, timeout_s=0.01)
    (name,) = server.tools.names
    result = await call(server, revision)
    assert (result.is_error, texts(result)) == (True, [f"{name}: not done within 0.01 s"])


async def test_a_tool_in_a_thread_that_takes_too_long_is_waited_for_no_more() -> None:
    go_on = threading.Event()

    def f() -> None:
        go_on.wait(WAIT_S)

    result = await call(with_tool(f, timeout_s=0.01))
    go_on.set()
    assert texts(result) == ["f: not done within 0.01 s"]


async def test_a_tool_that_is_done_in_time_is_not_late() -> None:
    async def f() -> str:
        return "done"

    assert texts(await call(with_tool(f, timeout_s=WAIT_S))) == ["done"]


async def test_the_time_that_a_tool_takes_before_it_waits_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([0.0, WAIT_S])
    monkeypatch.setattr("mcp_gen.server.tools.tool.monotonic", lambda: next(times))

    async def f() -> None:
        await asyncio.Event().wait()

    assert texts(await call(with_tool(f, timeout_s=WAIT_S))) == [f"f: not done within {WAIT_S:g} s"]


async def test_a_timeout_inside_of_a_tool_with_a_timeout_is_its_own() -> None:
    async def f() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "of mine"
        return "of nobody"

    assert texts(await call(with_tool(f, timeout_s=WAIT_S))) == ["of mine"]


async def test_a_timeout_of_the_tools_own_is_its_own() -> None:
    async def f() -> None:
        raise TimeoutError("of mine")

    assert texts(await call(with_tool(f, timeout_s=WAIT_S))) == ["of mine"]


async def test_a_tool_that_is_cancelled_is_not_late() -> None:
    began = asyncio.Event()
    ended: list[str] = []

    async def f() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    server = with_tool(f, timeout_s=WAIT_S)
    async with talking(server, "2025-11-25") as client, asyncio.timeout(WAIT_S):
        client.send(client.speaker.call(1, "f"))
        await began.wait()
        client.send(client.speaker.cancel(1))
        await client.ask(client.speaker.request(2, "tools/list"))
    assert ended == ["cancelled"]


# --- errors ---


@every_revision
async def test_an_error_that_a_tool_raises_is_for_the_model_to_read(revision: str) -> None:
    async def f() -> None:
        raise ToolError("no such city")

    result = await call(with_tool(f), revision)
    assert (result.is_error, texts(result)) == (True, ["no such city"])


@every_revision
async def test_an_error_of_the_protocol_is_one(revision: str) -> None:
    async def f() -> None:
        raise McpError(-31000, "not now", {"after": 5})

    with pytest.raises(McpError) as caught:
        await call(with_tool(f), revision)
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        -31000,
        "not now",
        {"after": 5},
    )


@every_revision
async def test_an_error_without_words_is_named(revision: str) -> None:
    async def f() -> None:
        raise ZeroDivisionError

    assert texts(await call(with_tool(f), revision)) == ["ZeroDivisionError"]


# --- bounds of what is sent ---


@pytest.mark.parametrize("priority", [-1, 2])
@every_revision
async def test_content_that_breaks_a_bound_is_not_sent(
    revision: str, priority: float, caplog: pytest.LogCaptureFixture
) -> None:
    def tell() -> latest.CallToolResult:
        annotations = latest.Annotations(priority=priority)
        return latest.CallToolResult(
            content=[latest.TextContent(text="t", annotations=annotations)]
        )

    with pytest.raises(McpError) as caught:
        await call(with_tool(tell), revision)
    assert caught.value.code == -32603
    assert "$.content[0].annotations.priority" in caplog.text
    assert "priority" not in caught.value.message


@every_revision
async def test_a_block_that_breaks_a_bound_is_not_sent(revision: str) -> None:
    def tell() -> latest.TextContent:
        return latest.TextContent(text="t", annotations=latest.Annotations(priority=2))

    with pytest.raises(McpError) as caught:
        await call(with_tool(tell), revision)
    assert caught.value.code == -32603
