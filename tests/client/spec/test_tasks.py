"""Tasks of 2025-11-25 that a client asks for, as the specification wants them."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from mcp_gen import Client, TaskCancelled, text_of
from tests.client.tasks.core_server import DONE, CoreServer
from tests.support.reach import Reach, Reached
from tests.support.requirement import requirement

RELATED = "io.modelcontextprotocol/related-task"
POLL_S = 0.15
FORM: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    "_meta": {RELATED: {"taskId": "t1"}},
}
ADA = {"action": "accept", "content": {"name": "Ada"}}


def able() -> Client:
    """A client that has somebody to ask."""
    return Client("test", elicitation=lambda session, params: {"name": "Ada"})


def wishes(reached: Reached) -> list[Any]:
    """What each call of a tool said of being a task."""
    return [one["params"].get("task") for one in reached.asked("tools/call")]


# --- which calls become tasks ---


@requirement("tasks:client:declared-only")
async def test_a_server_that_has_not_declared_it_is_asked_for_no_task(reach: Reach) -> None:
    server = CoreServer(support="optional", declares={"list": {}, "cancel": {}})
    async with reach(server) as reached:
        assert text_of(await reached.session.call_tool("work", {}, task=True)) == "at once"
        assert wishes(reached) == [None]


@requirement("tasks:client:forbidden")
@pytest.mark.parametrize("support", [None, "forbidden"])
async def test_a_tool_that_takes_no_tasks_is_called_plainly(
    reach: Reach, support: str | None
) -> None:
    async with reach(CoreServer(support=support)) as reached:
        assert text_of(await reached.session.call_tool("work", {}, task=True)) == "at once"
        assert wishes(reached) == [None]


@requirement("tasks:client:required")
async def test_a_tool_that_is_only_ever_a_task_is_called_as_one(reach: Reach) -> None:
    async with reach(CoreServer()) as reached:
        assert text_of(await reached.session.call_tool("work", {})) == "done"
        await reached.session.list_tools()
        assert text_of(await reached.session.call_tool("work", {})) == "done"
        assert wishes(reached)[-2:] == [{}, {}]


# --- what becomes of them ---


@requirement("tasks:client:polls", "tasks:client:notices-optional", "tasks:client:related-absent")
async def test_a_task_is_asked_for_until_it_has_ended_though_nothing_is_told(reach: Reach) -> None:
    async with reach(CoreServer("working", "working", "completed")) as reached:
        assert text_of(await reached.session.call_tool("work", {}, task=True)) == "done"
        asked = [one["params"] for one in reached.asked("tasks/get")]
        (fetched,) = reached.asked("tasks/result")
    assert [one["taskId"] for one in (*asked, fetched["params"])] == ["t1"] * 4
    assert all(RELATED not in one.get("_meta", {}) for one in (*asked, fetched["params"]))


@requirement("tasks:client:interval")
async def test_a_task_is_not_asked_for_more_often_than_it_says(reach: Reach) -> None:
    server, loop = CoreServer(poll_ms=round(POLL_S * 1000)), asyncio.get_running_loop()
    told: list[float] = []

    def at(status: str) -> dict[str, Any]:
        told.append(loop.time())
        return server.task(status)

    server.on("tools/call", lambda params: {"result": {"task": at("working")}})
    server.on(
        "tasks/get",
        lambda params: {"result": at("working" if len(told) < 3 else "completed")},
    )
    async with reach(server) as reached:
        await reached.session.call_tool("work", {}, task=True)
    assert all(later - sooner >= POLL_S for sooner, later in pairwise(told))
    assert len(told) == 4


@requirement("tasks:client:input")
async def test_what_a_task_asks_is_answered_where_its_result_is_asked_for(reach: Reach) -> None:
    server = CoreServer("input_required").on("tasks/result", lambda params: None)
    async with reach(server, able()) as reached:
        call = asyncio.create_task(reached.session.call_tool("work", {}, task=True))
        fetching = await server.next("tasks/result")
        server.send(id="q", method="elicitation/create", params=FORM)
        assert (await server.next(None))["result"] == ADA
        server.send(id=fetching["id"], result=DONE)
        assert text_of(await call) == "done"


@requirement("tasks:client:any-stream")
async def test_what_a_task_asks_is_answered_when_nothing_is_being_asked(reach: Reach) -> None:
    server = CoreServer("completed", poll_ms=300)
    async with reach(server, able()) as reached:
        await reached.web.came("GET")
        call = asyncio.create_task(reached.session.call_tool("work", {}, task=True))
        await server.next("tools/call")
        server.send(id="q", method="elicitation/create", params=FORM)
        assert (await server.next(None))["result"] == ADA
        assert text_of(await call) == "done"


@requirement("tasks:client:cursors")
async def test_a_cursor_of_a_list_of_tasks_is_sent_as_it_came(reach: Reach) -> None:
    cursor = " +/=\u00e9\n"
    server = CoreServer()

    def page(params: Any) -> dict[str, Any]:
        again = (params or {}).get("cursor") is not None
        return {"result": {"tasks": [server.task("working")], **({} if again else more)}}

    more = {"nextCursor": cursor}
    async with reach(server.on("tasks/list", page)) as reached:
        assert [task.id async for task in reached.session.tasks()] == ["t1", "t1"]
        asked = [one.get("params", {}).get("cursor") for one in reached.asked("tasks/list")]
    assert asked == [None, cursor]


# --- calling them off ---


@requirement("tasks:client:cancels", "tasks:client:related-absent")
async def test_a_task_is_cancelled_by_its_own_request(reach: Reach) -> None:
    async with reach(CoreServer(*["working"] * 9, poll_ms=60_000)) as reached:
        task = await reached.session.start_tool("work", {})
        waiting = asyncio.create_task(task.result())
        state = await task.cancel()
        assert state is not None
        assert state.status == "cancelled"
        with pytest.raises(TaskCancelled):
            await waiting
        (asked,) = reached.asked("tasks/cancel")
        assert asked["params"] == {"taskId": "t1"}
        assert reached.asked("notifications/cancelled") == []


@requirement("tasks:client:cancels")
async def test_who_no_longer_waits_for_a_call_cancels_its_task(reach: Reach) -> None:
    server = CoreServer(*["working"] * 9, poll_ms=60_000)
    async with reach(server) as reached:
        call = asyncio.create_task(reached.session.call_tool("work", {}, task=True))
        await server.next("tools/call")
        await reached.session.ping()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.next("tasks/cancel")
        assert reached.asked("notifications/cancelled") == []
