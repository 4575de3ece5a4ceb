"""ToolTask: status, result and cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from mcp_gen import (
    InvalidResult,
    McpError,
    RequestTimeout,
    TaskCancelled,
    TaskGone,
    ToolTask,
    UsageError,
    text_of,
)
from tests.client.scripted import connected
from tests.client.tasks.core_server import NOW, REVISION, CoreServer, text

WAIT_S = 30.0


class Counted(msgspec.Struct):
    n: int


async def test_a_task_is_begun_and_left_alone() -> None:
    server = CoreServer()
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {"a": 1})
    assert (task.id, task.tool, task.status, task.done) == ("t1", "work", "working", False)
    assert server.sent("tasks/get") == []


async def test_what_the_server_said_of_a_task_is_there_to_read() -> None:
    server = CoreServer(poll_ms=7)
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        server.on("tasks/get", {"result": server.task("failed", statusMessage="no", ttl=9)})
        refreshed = await task.refresh()
    assert refreshed == task.state == ("t1", "failed", "no", NOW, NOW, 9, 7)


async def test_a_call_whose_progress_nobody_wants_to_know_asks_for_none() -> None:
    server = CoreServer()
    async with connected(server, revision=REVISION) as (session, _):
        await session.start_tool("work", {})
    assert "_meta" not in server.sent("tools/call")[0]


async def test_what_is_told_of_a_task_before_it_is_known_is_not_lost_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_gen.client.tasks.tasks.MAX_EARLY_SNAPSHOTS", 1)
    server, told = CoreServer(), ["of nobody", "t1"]

    def call(params: Any) -> Any:
        server.tell("completed", taskId=told.pop(0))
        return {"result": {"task": server.task("working")}}

    server.on("tools/call", call)
    async with connected(server, revision=REVISION) as (session, _):
        statuses = [(await session.start_tool("work", {})).status for _ in range(2)]
    assert statuses == ["working", "completed"]


async def test_its_result_is_awaited_as_often_as_one_likes_and_fetched_once() -> None:
    server = CoreServer("working", "completed")
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        results = [await task.result(), await task.result()]
    assert [text_of(one) for one in results] == ["done", "done"]
    assert len(server.sent("tasks/result")) == 1


async def test_its_result_is_compared_with_what_the_tool_promised() -> None:
    server = CoreServer(outcome=text("x", structuredContent={"n": "many"}))
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        with pytest.raises(InvalidResult, match="not what the tool promised"):
            await task.result(dict)


async def test_a_task_of_an_earlier_connection_is_taken_up_by_its_id() -> None:
    server = CoreServer("working", "completed", outcome=text("x", structuredContent={"n": 7}))
    async with connected(server, revision=REVISION) as (session, _):
        task = session.task("t1", tool="work")
        before = task.status
        assert await task.result(Counted) == Counted(7)
    assert (before, task.status) == (None, "completed")
    assert server.sent("tools/call") == []


async def test_a_task_that_nobody_knows_is_told_apart() -> None:
    async with connected(CoreServer(), revision=REVISION) as (session, _):
        with pytest.raises(TaskGone) as caught:
            await session.task("t2").refresh()
    assert (caught.value.id, caught.value.code) == ("t2", -32602)


async def test_its_changes_are_told_each_once_until_it_is_over() -> None:
    server = CoreServer("working", "working", "input_required", "working", "completed")
    server.on("tasks/result", lambda params: None)
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        statuses = [state.status async for state in task]
    assert statuses == ["working", "input_required", "working", "completed"]


async def test_several_may_wait_for_one_task_and_the_server_is_asked_once() -> None:
    server = CoreServer("working", "working", "completed")
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})

        async def statuses() -> list[str]:
            return [state.status async for state in task]

        followed, one, two = await asyncio.gather(statuses(), task.result(), task.result())
    assert followed == ["working", "completed"]
    assert text_of(one) == text_of(two) == "done"
    assert len(server.sent("tasks/get")) == 3


async def test_nobody_asks_once_nobody_waits() -> None:
    server = CoreServer(then="working")
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        async for state in task:
            assert state.status == "working"
            break
        await session.ping()
        asked = len(server.sent("tasks/get"))
        with pytest.raises(RequestTimeout, match=r"'t1' was not over in 0\.01 s"):
            await task.result(timeout_s=0.01)
        again = len(server.sent("tasks/get"))
    assert (asked, again) == (0, 0)
    assert server.sent("tasks/cancel") == []


async def test_a_task_is_called_off() -> None:
    server = CoreServer()
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        state = await task.cancel()
        with pytest.raises(TaskCancelled, match="'t1' was cancelled"):
            await task.result()
    assert state == task.state
    assert task.status == "cancelled"
    assert server.sent("tasks/cancel") == [{"taskId": "t1"}]


async def test_a_task_that_ended_meanwhile_is_not_called_off_any_more() -> None:
    over = {"error": {"code": -32602, "message": "already completed"}}
    server = CoreServer().on("tasks/cancel", over)
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        state = await task.cancel()
        await task.cancel()
        result = await task.result()
    assert state == task.state
    assert task.status == "completed"
    assert text_of(result) == "done"
    assert len(server.sent("tasks/cancel")) == 1


async def test_a_task_that_cannot_be_called_off_says_so() -> None:
    no = {"error": {"code": -32601, "message": "not here"}}
    server = CoreServer("working").on("tasks/cancel", no)
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        with pytest.raises(McpError, match="not here"):
            await task.cancel()


async def test_what_came_late_does_not_begin_anew_what_is_over() -> None:
    server = CoreServer().on("tasks/get", lambda params: None)
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        asking = asyncio.create_task(task.refresh())
        asked = await server.next("tasks/get")
        following = asyncio.create_task(task.result())
        await session.ping()
        server.tell("completed")
        await following
        server.send(id=asked["id"], result=server.task("working"))
        await asking
    assert task.status == "completed"


async def test_all_tasks_are_listed_page_after_page() -> None:
    server = CoreServer()

    def page(params: dict[str, str]) -> dict[str, object]:
        one = server.task("working", taskId=params.get("cursor", "a"))
        return {"result": {"tasks": [one], **({} if "cursor" in params else {"nextCursor": "b"})}}

    server.on("tasks/list", page)
    async with connected(server, revision=REVISION) as (session, _):
        tasks: list[ToolTask] = [task async for task in session.tasks()]
    assert [(task.id, task.status) for task in tasks] == [("a", "working"), ("b", "working")]


async def test_what_was_answered_at_once_is_a_task_that_is_over() -> None:
    server = CoreServer(support=None)
    async with connected(server, revision=REVISION) as (session, _):
        task = await session.start_tool("work", {})
        result = await task.result()
        unchanged = [await task.refresh(), await task.cancel()]
        with pytest.raises(UsageError, match="no task to follow"):
            _ = [state async for state in task]
    assert (task.id, task.done, task.status) == (None, True, "completed")
    assert (text_of(result), unchanged) == ("at once", [None, None])
    assert server.sent("tasks/cancel") == []


async def test_a_task_outlives_the_connection_if_the_server_does() -> None:
    first = CoreServer(poll_ms=60_000)
    async with connected(first, revision=REVISION) as (session, _):
        begun = await session.start_tool("work", {})
        await first.hang_up()
    second = CoreServer("working", "completed")
    async with connected(second, revision=REVISION) as (session, _):
        result = await session.task(begun.id or "").result()
    assert text_of(result) == "done"
