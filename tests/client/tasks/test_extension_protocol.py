"""Calls that wait for their task, at the revision where the server decides on tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    Client,
    InputRefused,
    InvalidResult,
    McpError,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TaskCancelled,
    TaskGone,
    ToolError,
    UsageError,
    text_of,
)
from mcp_wire import v2025_06_18
from mcp_wire.extensions.tasks import EXTENSION
from tests.client.tasks.core_server import text
from tests.client.tasks.extension_server import ASKS, REVISION, ExtensionServer, Until, session_with

WAIT_S = 30.0
IDENTIFIER = EXTENSION.identifier


class Counted(msgspec.Struct):
    n: int


async def test_a_call_that_becomes_a_task_gives_what_comes_of_it() -> None:
    server = ExtensionServer("working", "working", "completed")
    async with session_with(server) as session:
        result = await session.call_tool("work", {"a": 1})
    assert text_of(result) == "done"
    assert type(result) is mcp_wire.types(REVISION).CallToolResult
    assert server.sent("tools/call") == [{"name": "work", "arguments": {"a": 1}}]
    assert server.sent("tasks/get") == [{"taskId": "t1"}] * 3


async def test_a_task_that_is_over_when_it_begins_is_asked_for_once() -> None:
    server = ExtensionServer()
    over = {"resultType": "task", **server.task("completed")}
    server.on("tools/call", {"result": over})
    async with session_with(server) as session:
        assert text_of(await session.call_tool("work", {})) == "done"
    assert server.sent("tasks/get") == [{"taskId": "t1"}]


async def test_every_request_says_that_tasks_are_welcome() -> None:
    server = ExtensionServer()
    async with session_with(server) as session:
        await session.call_tool("work", {})
    key = mcp_wire.profile(REVISION).client_capabilities_key
    told = [one["params"]["_meta"][key]["extensions"] for one in server.came if "id" in one]
    assert told == [{IDENTIFIER: {}}] * 3


async def test_a_client_takes_no_tasks_unless_it_was_told_to() -> None:
    server = ExtensionServer()
    async with session_with(server, tasks=False) as session:
        with pytest.raises(InvalidResult, match="tools/call"):
            await session.call_tool("work", {})
    assert IDENTIFIER not in str(server.came)
    assert server.sent("tasks/get") == []


async def test_a_client_with_the_extension_of_the_package_takes_tasks_too() -> None:
    server = ExtensionServer("working")
    async with session_with(server, tasks=False, extensions=[EXTENSION]) as session:
        assert text_of(await session.call_tool("work", {})) == "done"


async def test_a_call_that_is_answered_at_once_is_no_task() -> None:
    server = ExtensionServer()
    server.on("tools/call", server.complete(text("at once")))
    async with session_with(server) as session:
        result = await session.call_tool("work", {}, task=True)
        task = await session.start_tool("work", {}, ttl_s=5)
    assert (text_of(result), task.id, task.done) == ("at once", None, True)
    assert server.sent("tools/call") == [{"name": "work", "arguments": {}}] * 2


async def test_a_task_as_the_answer_to_anything_else_is_invalid() -> None:
    server = ExtensionServer()
    server.on("tools/list", {"result": {"resultType": "task", **server.task("working")}})
    async with session_with(server) as session:
        with pytest.raises(InvalidResult, match="tools/list"):
            await session.list_tools()
    assert server.sent("tasks/get") == []


async def test_the_result_comes_with_the_types_that_were_asked_for() -> None:
    server = ExtensionServer("working")
    async with Client("c", tasks=True) as client:
        session = await client.connect(server, revision=REVISION, result_revision="2025-06-18")
        result: Any = await session.call_tool("work", {})
    assert type(result) is v2025_06_18.CallToolResult


async def test_structured_content_comes_as_a_value_of_a_type() -> None:
    done = {"status": "completed", "result": text("7", structuredContent={"n": 7})}
    async with session_with(ExtensionServer(done)) as session:
        assert await session.call_tool("work", {}, returns=Counted) == Counted(7)


async def test_what_was_not_promised_is_invalid() -> None:
    done = {"status": "completed", "result": text("7", structuredContent={"n": "many"})}
    async with session_with(ExtensionServer(done)) as session:
        with pytest.raises(InvalidResult, match="not what the tool promised"):
            await session.call_tool("work", {}, returns=dict)


async def test_a_tool_that_failed_is_a_tool_error_where_a_value_was_asked_for() -> None:
    done = {"status": "completed", "result": text("no luck", isError=True)}
    async with session_with(ExtensionServer(done)) as session:
        with pytest.raises(ToolError, match="no luck"):
            await session.call_tool("work", {}, returns=Counted)


async def test_an_error_that_came_of_a_task_is_raised_as_it_is() -> None:
    error = {"code": -5, "message": "rate limit", "data": {"limit": 3}}
    async with session_with(ExtensionServer({"status": "failed", "error": error})) as session:
        with pytest.raises(McpError) as caught:
            await session.call_tool("work", {})
    assert (caught.value.code, caught.value.message) == (-5, "rate limit")
    assert caught.value.data == {"limit": 3}


async def test_a_task_that_was_called_off_elsewhere_is_told_apart() -> None:
    server = ExtensionServer({"status": "cancelled", "statusMessage": "by an admin"})
    async with session_with(server) as session:
        with pytest.raises(TaskCancelled, match="'t1' was cancelled: by an admin"):
            await session.call_tool("work", {})


async def test_a_task_that_the_server_forgot_is_told_apart() -> None:
    server = ExtensionServer().on("tasks/get", {"error": {"code": -32602, "message": "expired"}})
    async with session_with(server) as session:
        with pytest.raises(TaskGone, match=r"'t1' .*expired"):
            await session.call_tool("work", {})
    assert server.sent("tasks/cancel") == []


async def test_what_comes_of_it_may_not_be_another_task() -> None:
    server = ExtensionServer()
    nested = {"resultType": "task", **server.task("working")}
    server.states = [{"status": "completed", "result": nested}]
    async with session_with(server) as session:
        with pytest.raises(ProtocolError, match="unasked for"):
            await session.call_tool("work", {})


async def test_what_a_server_tells_of_a_task_by_itself_is_heard() -> None:
    server = ExtensionServer(poll_ms=60_000)
    async with session_with(server) as session:
        calling = asyncio.create_task(session.call_tool("work", {}))
        await server.next("tools/call")
        await session.list_tools()
        over = server.task("completed", result=text("told"))
        server.send(method="notifications/tasks", params=over)
        assert text_of(await calling) == "told"
    assert server.sent("tasks/get") == []


@pytest.mark.parametrize("tag", [{}, {"resultType": "complete"}])
async def test_a_good_result_is_good_for_strict_clients_too(tag: dict[str, Any]) -> None:
    done = {"status": "completed", "result": {**text("done"), **tag}}
    async with session_with(ExtensionServer(done), validation="strict") as session:
        assert text_of(await session.call_tool("work", {})) == "done"


async def test_what_a_result_may_not_have_is_an_error_for_strict_clients() -> None:
    done = {"status": "completed", "result": text("done", mood="fine")}
    async with session_with(ExtensionServer(done), validation="strict") as session:
        with pytest.raises(ProtocolError, match="mood"):
            await session.call_tool("work", {})


# --- input requests ---


def asking(**questions: Any) -> dict[str, Any]:
    return {"status": "input_required", "inputRequests": questions}


async def test_what_a_task_asks_is_answered_once_each() -> None:
    asked: list[str] = []

    def form(session: Any, params: Any) -> dict[str, str]:
        asked.append(params.message)
        return {"name": f"answer {len(asked)}"}

    both = asking(a=ASKS, b=ASKS)
    states = [Until(1, asking(a=ASKS)), Until(2, both), both, "working", "completed"]
    server = ExtensionServer(*states)
    async with session_with(server, elicitation=form) as session:
        result = await session.call_tool("work", {})
    assert text_of(result) == "done"
    assert asked == ["Name?", "Name?"]
    answer = {"action": "accept", "content": {"name": "answer 1"}}
    other = {"action": "accept", "content": {"name": "answer 2"}}
    assert server.answers == [{"a": answer}, {"b": other}]


async def test_an_update_that_the_server_refuses_ends_the_call() -> None:
    server = ExtensionServer(then=asking(a=ASKS))
    server.on("tasks/update", {"error": {"code": -32602, "message": "no such answer"}})
    async with session_with(server, elicitation=lambda session, params: {}) as session:
        with pytest.raises(McpError, match="no such answer"):
            await session.call_tool("work", {})
        await server.next("tasks/cancel")


async def test_nobody_is_asked_again_for_an_answer_that_did_not_arrive() -> None:
    asked: list[Any] = []
    server = ExtensionServer(then=asking(a=ASKS))
    update = server.replies["tasks/update"]
    server.on("tasks/update", {"error": {"code": -32603, "message": "try again"}})

    def form(session: Any, params: Any) -> dict[str, str]:
        asked.append(params)
        return {"name": "Ada"}

    async with session_with(server, elicitation=form) as session:
        task = session.task("t1")
        with pytest.raises(McpError, match="try again"):
            await task.result()
        server.on("tasks/update", update)
        server.states, server.then = [Until(1, asking(a=ASKS))], "completed"
        await task.result()
    assert (len(asked), len(server.answers)) == (1, 1)


async def test_a_task_that_ends_while_it_is_answered_has_its_result() -> None:
    server = ExtensionServer(asking(a=ASKS), "completed")
    server.on("tasks/update", {"error": {"code": -32602, "message": "over"}})
    async with session_with(server, elicitation=lambda session, params: {}) as session:
        assert text_of(await session.call_tool("work", {})) == "done"


async def test_a_question_that_the_user_refuses_ends_the_call_and_the_task() -> None:
    sample = {"method": "sampling/createMessage", "params": {"maxTokens": 5, "messages": []}}
    server = ExtensionServer(then=asking(a=sample))
    async with session_with(server, sampling=lambda session, params: None) as session:
        with pytest.raises(InputRefused):
            await session.call_tool("work", {})
        await server.next("tasks/cancel")
    assert server.answers == []


async def test_a_handler_that_takes_its_time_is_cancelled_when_the_task_ends() -> None:
    cancelled = asyncio.Event()

    async def form(session: Any, params: Any) -> dict[str, str]:
        server.then = "cancelled"
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return {}

    server = ExtensionServer(then=asking(a=ASKS))
    async with session_with(server, elicitation=form) as session:
        with pytest.raises(TaskCancelled):
            await session.call_tool("work", {})
        async with asyncio.timeout(WAIT_S):
            await cancelled.wait()


async def test_rounds_come_before_the_task() -> None:
    server = ExtensionServer("working")
    first = {"resultType": "input_required", "inputRequests": {"a": ASKS}, "requestState": "s"}
    becomes = server.replies["tools/call"]
    server.on(
        "tools/call", lambda asks: becomes(asks) if "requestState" in asks else {"result": first}
    )
    async with session_with(server, elicitation=lambda session, params: {}) as session:
        assert text_of(await session.call_tool("work", {})) == "done"
    assert [one.get("requestState") for one in server.sent("tools/call")] == [None, "s"]
    assert server.sent("tasks/get") == [{"taskId": "t1"}] * 2


# --- closing and the lifecycle ---


async def test_cancelling_whoever_waits_calls_the_task_off() -> None:
    server = ExtensionServer(poll_ms=60_000)
    async with session_with(server) as session:
        calling = asyncio.create_task(session.call_tool("work", {}))
        await server.next("tools/call")
        await session.list_tools()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        called_off = await server.next("tasks/cancel")
    assert called_off["params"]["taskId"] == "t1"


async def test_a_task_that_begins_when_nobody_waits_any_more_is_called_off() -> None:
    server = ExtensionServer()
    answer = server.replies["tools/call"]
    server.on("tools/call", lambda params: None)
    async with session_with(server) as session:
        calling = asyncio.create_task(session.call_tool("work", {}))
        call = await server.next("tools/call")
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await server.next("notifications/cancelled")
        server.send(id=call["id"], **(answer(call["params"]) or {}))
        await server.next("tasks/cancel")


async def test_a_task_that_begins_in_the_moment_of_leaving_is_called_off() -> None:
    server = ExtensionServer(poll_ms=60_000)
    async with session_with(server) as session:
        calling = asyncio.create_task(session.call_tool("work", {}))
        await server.next("tools/call")  # it has been answered, but the response was not read yet
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await server.next("tasks/cancel")


async def test_what_comes_when_nobody_waits_any_more_is_passed_over_elsewhere() -> None:
    server = ExtensionServer().on("tools/list", lambda params: None)
    async with session_with(server) as session:
        with pytest.raises(RequestTimeout):
            await session.list_tools(timeout_s=0.01)
        asked = await server.next("tools/list")
        server.send(id=asked["id"], **server.complete({"tools": []}))
        server.send(id=asked["id"], **server.complete({"tools": []}))
        assert text_of(await session.call_tool("work", {})) == "done"


async def test_a_server_that_says_nothing_of_its_task_is_given_up_and_told_so() -> None:
    server = ExtensionServer().on("tasks/get", lambda params: None)
    async with session_with(server) as session:
        with pytest.raises(RequestTimeout, match="tasks/get"):
            await session.call_tool("work", {}, timeout_s=0.05)
        await server.next("tasks/cancel")


async def test_who_waits_is_told_that_the_server_went_away() -> None:
    server = ExtensionServer(poll_ms=60_000)
    async with session_with(server) as session:
        calling = asyncio.create_task(session.call_tool("work", {}))
        await server.next("tools/call")
        await session.list_tools()
        await server.hang_up()
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(SessionLost):
                await calling


async def test_a_task_is_begun_followed_and_called_off() -> None:
    server = ExtensionServer("working", {"status": "working", "statusMessage": "half"}, "working")
    async with session_with(server) as session:
        task = await session.start_tool("work", {})
        told: list[Any] = []
        async for state in task:
            told.append(state.message)
            if state.message:
                break
        server.then = "cancelled"
        assert await task.cancel() == task.state
        with pytest.raises(TaskCancelled):
            await task.result()
    assert (task.tool, told, task.status) == ("work", [None, "half"], "cancelled")
    assert server.sent("tasks/cancel") == [{"taskId": "t1"}]


async def test_a_task_that_goes_on_after_it_was_called_off_is_as_it_is() -> None:
    server = ExtensionServer("working", "completed")
    async with session_with(server) as session:
        task = await session.start_tool("work", {})
        await task.cancel()
        before, result = task.status, await task.result()
    assert (before, text_of(result)) == ("working", "done")


async def test_a_task_of_an_earlier_connection_is_taken_up_by_its_id() -> None:
    server = ExtensionServer("working", Until(1, asking(a=ASKS)), "completed")
    async with session_with(server, elicitation=lambda session, params: {}) as session:
        assert text_of(await session.task("t1", tool="work").result()) == "done"
    assert server.sent("tools/call") == []
    assert len(server.answers) == 1


async def test_there_is_no_list_of_tasks() -> None:
    async with session_with(ExtensionServer()) as session:
        with pytest.raises(UsageError, match="no list of tasks"):
            _ = [task async for task in session.tasks()]


async def test_a_client_that_takes_no_tasks_says_what_to_write() -> None:
    async with session_with(ExtensionServer(), tasks=False) as session:
        with pytest.raises(UsageError, match="tasks=True"):
            await session.task("t1").refresh()


async def test_what_comes_of_a_task_is_fetched_while_it_is_kept() -> None:
    server = ExtensionServer("working", poll_ms=60_000, ttl_ms=200)
    async with session_with(server) as session:
        async with asyncio.timeout(WAIT_S):
            assert text_of(await session.call_tool("work", {})) == "done"
