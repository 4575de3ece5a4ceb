"""Calls that wait for their task, at the revision where the client asks for tasks."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    Client,
    McpError,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TaskCancelled,
    TaskGone,
    ToolError,
    text_of,
)
from mcp_wire import latest, v2025_06_18, v2025_11_25
from tests.client.scripted import Recorded, client_violations, connected
from tests.client.tasks.core_server import DONE, REVISION, CoreServer, text

WAIT_S = 30.0


class Counted(msgspec.Struct):
    n: int


async def test_a_tool_that_runs_as_a_task_only_is_called_so_and_awaited() -> None:
    server = CoreServer("working", "working", "completed")
    async with connected(server, revision=REVISION) as (session, _):
        result = await session.call_tool("work", {"a": 1})
    assert text_of(result) == "done"
    assert type(result) is latest.CallToolResult
    assert [call.get("task") for call in server.sent("tools/call")] == [None, {}]
    assert len(server.sent("tasks/get")) == 3


async def test_a_refusal_that_comes_as_a_result_is_understood() -> None:
    refused = text("MCP error -32601: only as a task", isError=True)
    server = CoreServer()
    ask = server.replies["tools/call"]
    server.on("tools/call", lambda asks: ask(asks) if "task" in asks else {"result": refused})
    async with connected(server, revision=REVISION) as (session, _):
        result = await session.call_tool("work", {})
    assert text_of(result) == "done"


async def test_a_result_that_only_looks_like_a_refusal_is_the_result() -> None:
    failed = text("error -32601 in a log file", isError=True)
    server = CoreServer(support="optional").on("tools/call", {"result": failed})
    async with connected(server, revision=REVISION) as (session, _):
        result = await session.call_tool("work", {})
    assert result.is_error
    assert len(server.sent("tools/call")) == 1


async def test_a_tool_that_once_turned_out_to_need_a_task_is_asked_for_one_at_once() -> None:
    server = CoreServer()
    async with connected(server, revision=REVISION) as (session, _):
        await session.call_tool("work", {})
        await session.call_tool("work", {})
    assert [call.get("task") for call in server.sent("tools/call")] == [None, {}, {}]
    assert len(server.sent("tools/list")) == 1


async def test_what_is_known_of_tools_is_forgotten_when_there_are_others() -> None:
    server = CoreServer()
    async with connected(server, revision=REVISION) as (session, _):
        await session.call_tool("work", {})
        server.support = None
        server.send(method="notifications/tools/list_changed")
        result = await session.call_tool("work", {})
    assert text_of(result) == "at once"


async def test_a_refusal_contradicts_what_was_listed_before() -> None:
    server = CoreServer(support="optional")
    async with connected(server, revision=REVISION) as (session, _):
        await session.call_tool("work", {}, task=True)
        server.support = "required"
        assert text_of(await session.call_tool("work", {})) == "done"
    assert len(server.sent("tools/list")) == 2


async def test_a_call_that_is_refused_for_something_else_is_made_once() -> None:
    server = CoreServer(support="optional")
    server.on("tools/call", {"error": {"code": -32601, "message": "no tools today"}})
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(McpError, match="no tools today"):
            await session.call_tool("work", {})
    assert len(server.sent("tools/call")) == 1


async def test_a_refusal_of_a_server_that_lists_nothing_is_told_as_it_is() -> None:
    server = CoreServer().on("tools/list", {"error": {"code": -32603, "message": "no list"}})
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(McpError, match="only as a task"):
            await session.call_tool("work", {})


async def test_a_tool_that_may_be_a_task_is_one_only_if_that_is_asked_for() -> None:
    server = CoreServer(support="optional")
    async with connected(server, revision=REVISION) as (session, _):
        at_once = await session.call_tool("work", {})
        later = await session.call_tool("work", {}, task=True)
    assert (text_of(at_once), text_of(later)) == ("at once", "done")


async def test_how_long_a_task_is_to_be_kept_is_told() -> None:
    server = CoreServer()
    async with connected(server, revision=REVISION) as (session, _):
        await session.call_tool("work", {}, task=v2025_11_25.TaskMetadata(ttl=1500))
        await session.start_tool("work", {}, ttl_s=2.5)
    assert [call["task"] for call in server.sent("tools/call")] == [{"ttl": 1500}, {"ttl": 2500}]


@pytest.mark.parametrize("support", [None, "forbidden"])
async def test_a_tool_that_is_no_task_is_never_asked_to_be_one(support: str | None) -> None:
    server = CoreServer(support=support)
    async with connected(server, revision=REVISION) as (session, _):
        result = await session.call_tool("work", {}, task=True)
    assert text_of(result) == "at once"
    assert [call.get("task") for call in server.sent("tools/call")] == [None]


async def test_a_server_that_declares_no_tasks_is_asked_for_none() -> None:
    server = CoreServer(support="optional", declares={"list": {}})
    async with connected(server, revision=REVISION) as (session, _):
        await session.call_tool("work", {}, task=True)
    assert [call.get("task") for call in server.sent("tools/call")] == [None]
    assert server.sent("tools/list") == []


async def test_a_server_may_answer_at_once_all_the_same() -> None:
    server = CoreServer().on("tools/call", {"result": text("soon")})
    async with connected(server, revision=REVISION) as (session, _):
        result = await session.call_tool("work", {}, task=True)
    assert text_of(result) == "soon"


async def test_a_task_that_nobody_asked_for_is_a_protocol_error() -> None:
    server = CoreServer(support=None)
    server.on("tools/call", {"result": {"task": server.task("working")}})
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(ProtocolError, match="CreateTaskResult, unasked for"):
            await session.call_tool("work", {})


async def test_the_result_comes_with_the_types_that_were_asked_for() -> None:
    server = CoreServer()
    async with connected(server, revision=REVISION, result_revision="2025-06-18") as (session, _):
        result: Any = await session.call_tool("work", {})
    assert type(result) is v2025_06_18.CallToolResult


async def test_a_block_of_a_kind_that_is_unknown_is_kept_as_it_is() -> None:
    block = {"type": "hologram", "depth": 3}
    server = CoreServer(outcome={"content": [block]})
    async with connected(server, revision=REVISION) as (session, _):
        result = await session.call_tool("work", {})
    assert msgspec.to_builtins(msgspec.json.decode(mcp_wire.encode(result)))["content"] == [block]


async def test_structured_content_comes_as_a_value_of_a_type() -> None:
    server = CoreServer(outcome=text("7", structuredContent={"n": 7}))
    async with connected(server, revision=REVISION) as (session, _):
        assert await session.call_tool("work", {}, returns=Counted) == Counted(7)


async def test_a_tool_that_failed_as_a_task_is_a_tool_error_where_a_value_was_asked_for() -> None:
    server = CoreServer("failed", outcome=text("no luck", isError=True))
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(ToolError, match="no luck"):
            await session.call_tool("work", {}, returns=Counted)


async def test_an_error_that_came_of_a_task_is_raised_as_it_is() -> None:
    error = {"code": -32602, "message": "bad arguments", "data": {"at": "a"}}
    server = CoreServer("failed", outcome={"error": error})
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(McpError) as caught:
            await session.call_tool("work", {})
    raised = caught.value
    assert (raised.code, raised.message, raised.data) == (-32602, "bad arguments", {"at": "a"})
    assert not isinstance(raised, TaskGone)
    assert server.sent("tasks/cancel") == []


async def test_a_task_that_needs_the_user_on_a_page_first_is_begun_again_after_that() -> None:
    page = {"mode": "url", "message": "Log in", "url": "https://e.org/", "elicitationId": "e"}
    error = {"code": -32042, "message": "log in first", "data": {"elicitations": [page]}}
    server = CoreServer("failed", "completed")
    outcomes: list[dict[str, Any]] = [{"error": error}, {"result": DONE}]
    server.on("tasks/result", lambda params: outcomes.pop(0))
    visited: list[str] = []

    def visit(session: Any, page: Any) -> Literal["accept"]:
        visited.append(page.url)
        return "accept"

    recorded = Recorded(server)
    async with Client("c", url_elicitation=visit) as client:
        session = await client.connect(recorded, revision=REVISION)
        result = await session.call_tool("work", {}, task=True)
    assert (text_of(result), visited) == ("done", ["https://e.org/"])
    assert len(server.sent("tools/call")) == 2


async def test_a_task_that_the_server_called_off_is_told_apart() -> None:
    server = CoreServer("cancelled")
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(TaskCancelled, match="'t1' was cancelled"):
            await session.call_tool("work", {})
    assert server.sent("tasks/cancel") == []


async def test_a_task_that_the_server_forgot_is_told_apart() -> None:
    server = CoreServer().on("tasks/get", {"error": {"code": -32602, "message": "expired"}})
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(TaskGone, match=r"'t1' .*expired"):
            await session.call_tool("work", {})


async def test_a_server_that_tells_of_the_end_is_not_asked_again() -> None:
    server = CoreServer(poll_ms=60_000)
    async with connected(server, revision=REVISION) as (session, _):
        calling = asyncio.create_task(session.call_tool("work", {}, task=True))
        await server.next("tools/call")
        server.tell("completed")
        async with asyncio.timeout(WAIT_S):
            assert text_of(await calling) == "done"
    assert server.sent("tasks/get") == []


async def test_progress_is_told_as_long_as_the_task_runs() -> None:
    server = CoreServer(poll_ms=60_000)
    told: list[float] = []
    async with connected(server, revision=REVISION) as (session, _):
        work = session.call_tool(
            "work", {}, task=True, progress=lambda done, total, message: told.append(done)
        )
        calling = asyncio.create_task(work)
        token = (await server.next("tools/call"))["params"]["_meta"]["progressToken"]
        for done in (1, 2):
            params = {"progressToken": token, "progress": done}
            server.send(method="notifications/progress", params=params)
        server.tell("completed")
        await calling
        server.send(method="notifications/progress", params={"progressToken": token, "progress": 3})
        await session.ping()
    assert told == [1, 2]


async def test_progress_is_not_told_once_the_answer_is_there() -> None:
    server = CoreServer().on("tools/call", {"result": text("soon")})
    told: list[float] = []
    async with connected(server, revision=REVISION) as (session, _):
        await session.call_tool(
            "work", {}, task=True, progress=lambda done, total, message: told.append(done)
        )
        token = (await server.next("tools/call"))["params"]["_meta"]["progressToken"]
        server.send(method="notifications/progress", params={"progressToken": token, "progress": 1})
        await session.ping()
    assert told == []


async def test_cancelling_whoever_waits_calls_the_task_off() -> None:
    server = CoreServer(poll_ms=60_000)
    async with connected(server, revision=REVISION) as (session, _):
        calling = asyncio.create_task(session.call_tool("work", {}, task=True))
        await server.next("tools/call")
        await session.ping()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        called_off = await server.next("tasks/cancel")
    assert called_off["params"] == {"taskId": "t1"}


async def test_a_call_that_asks_for_a_task_is_not_cancelled_but_the_task_that_it_becomes() -> None:
    server = CoreServer()
    answer = server.replies["tools/call"]
    server.on("tools/call", lambda params: None)
    async with connected(server, revision=REVISION) as (session, _):
        calling = asyncio.create_task(session.call_tool("work", {}, task=True))
        call = await server.next("tools/call")
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await session.ping()
        server.send(id=call["id"], **(answer(call["params"]) or {}))
        await server.next("tasks/cancel")
    assert server.sent("notifications/cancelled") == []


async def test_a_task_that_does_not_begin_in_time_is_called_off_when_it_does() -> None:
    server = CoreServer()
    answer = server.replies["tools/call"]
    server.on("tools/call", lambda params: None)
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(RequestTimeout, match="asks for a task"):
            await session.call_tool("work", {}, task=True, timeout_s=0.02)
        call = await server.next("tools/call")
        server.send(id=call["id"], **(answer(call["params"]) or {}))
        await server.next("tasks/cancel")
    assert server.sent("notifications/cancelled") == []


async def test_progress_puts_off_the_limit_of_a_call_that_asks_for_a_task() -> None:
    server = CoreServer()
    server.on("tools/call", lambda params: None)
    told = asyncio.Event()
    async with connected(server, revision=REVISION) as (session, _):
        work = session.call_tool(
            "work", {}, task=True, timeout_s=0.1, progress=lambda *report: told.set()
        )
        calling = asyncio.create_task(work)
        call = await server.next("tools/call")
        token = call["params"]["_meta"]["progressToken"]
        for done in range(4):
            params = {"progressToken": token, "progress": done}
            server.send(method="notifications/progress", params=params)
            await told.wait()
            told.clear()
            await asyncio.wait({calling}, timeout=0.05)
        server.send(id=call["id"], result=text("at once, but slow"))
        assert text_of(await calling) == "at once, but slow"


async def test_a_task_is_called_off_though_the_session_ends_in_the_same_moment() -> None:
    server = CoreServer(poll_ms=60_000)
    async with Client("c") as client:
        session = await client.connect(Recorded(server), revision=REVISION)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await session.call_tool("work", {}, task=True)
        await session.aclose()
    await server.left()
    assert server.sent("tasks/cancel") == [{"taskId": "t1"}]


async def test_a_server_that_cannot_call_tasks_off_is_not_asked_to() -> None:
    server = CoreServer(poll_ms=60_000, declares={"requests": {"tools": {"call": {}}}})
    async with connected(server, revision=REVISION) as (session, _):
        calling = asyncio.create_task(session.call_tool("work", {}, task=True))
        await server.next("tools/call")
        await session.ping()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await session.ping()
    assert server.sent("tasks/cancel") == []


async def test_a_server_that_says_nothing_of_its_task_is_given_up_and_told_so() -> None:
    server = CoreServer()
    server.on("tasks/get", lambda params: None)
    async with connected(server, revision=REVISION) as (session, _):
        with pytest.raises(RequestTimeout, match="tasks/get"):
            await session.call_tool("work", {}, task=True, timeout_s=0.05)
        await session.ping()
    assert server.sent("tasks/cancel") == [{"taskId": "t1"}]


async def test_a_task_may_take_longer_than_each_request_but_not_longer_than_the_client_has() -> (
    None
):
    server = CoreServer(then="working")
    recorded = Recorded(server)
    async with Client("c", max_timeout_s=1) as client:
        session = await client.connect(recorded, revision=REVISION)
        with pytest.raises(RequestTimeout, match=r"'t1' was not over in 1 s"):
            await session.call_tool("work", {}, task=True, timeout_s=0.5)
        await session.ping()
    assert len(server.sent("tasks/get")) > 1
    assert server.sent("tasks/cancel") == [{"taskId": "t1"}]
    assert client_violations(REVISION, recorded.frames) == []


async def test_who_waits_for_a_task_is_told_that_the_server_went_away() -> None:
    server = CoreServer(poll_ms=60_000)
    async with connected(server, revision=REVISION, reconnect=False) as (session, _):
        calling = asyncio.create_task(session.call_tool("work", {}, task=True))
        await server.next("tools/call")
        await session.ping()
        await server.hang_up()
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(SessionLost):
                await calling


async def test_where_there_are_no_tasks_a_call_is_made_as_it_is() -> None:
    server: Any = CoreServer(support=None)
    server.revision = "2025-06-18"
    opening = server.replies["initialize"]({"capabilities": {}})["result"]
    opening["protocolVersion"], opening["capabilities"] = "2025-06-18", {"tools": {}}
    server.on("initialize", {"result": opening})
    async with connected(server, revision="2025-06-18") as (session, _):
        result = await session.call_tool("work", {}, task=True)
        task = await session.start_tool("work", {}, ttl_s=1)
    assert (text_of(result), task.id, task.status) == ("at once", None, "completed")
    assert [call.get("task") for call in server.sent("tools/call")] == [None, None]


def test_what_comes_of_it_names_its_task() -> None:
    assert "io.modelcontextprotocol/related-task" in DONE["_meta"]
