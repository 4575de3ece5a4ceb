"""Spec tests of tasks at 2025-11-25: those that a client requests, and those that it runs."""

from __future__ import annotations

import asyncio
from itertools import count, pairwise
from typing import Any

import pytest

from mcp_gen import Client, ClientSession, InvalidParams, TaskCancelled, text_of
from mcp_gen.types import CreateMessageResult, TextContent
from tests.client.tasks.core_server import DONE, CoreServer
from tests.support.peers.asked import WAIT_S
from tests.support.peers.reach import Reach, Reached
from tests.support.requirement import requirement

RELATED = "io.modelcontextprotocol/related-task"
POLL_S = 0.15
FORM: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    "_meta": {RELATED: {"taskId": "t1"}},
}
SAMPLING = "sampling/createMessage"
SAMPLE: dict[str, Any] = {"messages": [], "maxTokens": 9}
NUMBERS = count()
ADA = {"action": "accept", "content": {"name": "Ada"}, "_meta": FORM["_meta"]}
"""Elicitation result of the client, which names the task that asks."""


def able() -> Client:
    """Return a client with an elicitation handler."""
    return Client("test", elicitation=lambda session, params: {"name": "Ada"})


def wishes(reached: Reached) -> list[Any]:
    """Return the `task` param of each tool call."""
    return [one["params"].get("task") for one in reached.asked("tools/call")]


# --- calls that become tasks ---


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


@requirement("tasks:client:required")
async def test_a_tool_that_was_listed_as_only_ever_a_task_is_never_called_plainly(
    reach: Reach,
) -> None:
    async with reach(CoreServer()) as reached:
        _ = [tool async for tool in reached.session.tools()]
        assert text_of(await reached.session.call_tool("work", {})) == "done"
        assert wishes(reached) == [{}]
        assert len(reached.asked("tools/list")) == 1


@requirement("tasks:client:required")
@pytest.mark.parametrize("execution", [None, 7, {"taskSupport": 7}])
async def test_a_tool_whose_task_support_is_malformed_is_listed_and_called_plainly(
    reach: Reach, execution: Any
) -> None:
    tool = {"name": "work", "inputSchema": {"type": "object"}, "execution": execution}
    server = CoreServer(support=None).on("tools/list", {"result": {"tools": [tool]}})
    async with reach(server) as reached:
        assert [one.name async for one in reached.session.tools()] == ["work"]
        assert text_of(await reached.session.call_tool("work", {})) == "at once"
        assert wishes(reached) == [None]


@requirement("tasks:client:required")
@pytest.mark.parametrize("code", [-32601, -32600, -32603])
async def test_whatever_a_tool_that_must_be_a_task_is_refused_with_it_is_called_as_one(
    reach: Reach, code: int
) -> None:
    server = CoreServer()

    def call(params: Any) -> dict[str, Any]:
        if "task" in params:
            return {"result": {"task": server.task("working")}}
        return {"error": {"code": code, "message": "only as a task"}}

    async with reach(server.on("tools/call", call)) as reached:
        assert text_of(await reached.session.call_tool("work", {})) == "done"
        assert wishes(reached) == [None, {}]


# --- polling ---


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


@requirement("tasks:client:input", "tasks:client:related")
async def test_what_a_task_asks_is_answered_where_its_result_is_asked_for(reach: Reach) -> None:
    server = CoreServer(then="input_required").on("tasks/result", lambda params: None)
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


# --- cancellation ---


@requirement("tasks:client:cancels", "tasks:client:related-absent")
async def test_a_task_is_cancelled_by_its_own_request(reach: Reach) -> None:
    async with reach(CoreServer(then="working", poll_ms=60_000)) as reached:
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
    server = CoreServer(then="working", poll_ms=60_000)
    async with reach(server) as reached:
        call = asyncio.create_task(reached.session.call_tool("work", {}, task=True))
        await server.next("tools/call")
        await reached.session.ping()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.next("tasks/cancel")
        assert reached.asked("notifications/cancelled") == []


# --- tasks of the client ---


class Model:
    """Sampling handler that waits for its release, and records its cancellation."""

    def __init__(self) -> None:
        self.released, self.stopped = asyncio.Event(), asyncio.Event()

    async def __call__(self, session: ClientSession, params: Any) -> CreateMessageResult:
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        said = TextContent(text="hello")
        return CreateMessageResult(role="assistant", content=said, model="m")


async def ask(server: CoreServer, method: str, **params: Any) -> Any:
    """Return the client's answer to a server request."""
    id = f"{method} {next(NUMBERS)}"
    server.send(id=id, method=method, params=params)
    while (answer := await server.next(None))["id"] != id:
        pass
    return answer


@requirement("tasks:client:receives:declared")
async def test_a_client_says_what_it_takes_tasks_for(reach: Reach) -> None:
    client = Client("test", sampling=Model(), elicitation=lambda session, params: {}, tasks=True)
    async with reach(CoreServer(), client) as reached:
        (opening,) = reached.asked("initialize")
    declared = opening["params"]["capabilities"]["tasks"]
    asked = {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}
    assert declared["requests"] == asked


@requirement("tasks:client:receives:created")
async def test_a_question_that_is_a_task_is_answered_later(reach: Reach) -> None:
    server, model = CoreServer(), Model()
    async with reach(server, Client("test", sampling=model, tasks=True)):
        made = (await ask(server, SAMPLING, **SAMPLE, task={"ttl": 60_000}))["result"]
        task = made["task"]
        assert made.keys() <= {"task", "_meta"}
        assert (task["status"], task["ttl"]) == ("working", 60_000)
        assert (await ask(server, "tasks/get", taskId=task["taskId"]))["result"] == task
        server.send(id="later", method="tasks/result", params={"taskId": task["taskId"]})
        model.released.set()
        while (answer := await server.next(None))["id"] != "later":
            pass
    assert answer["result"]["content"]["text"] == "hello"
    assert answer["result"]["_meta"] == {RELATED: {"taskId": task["taskId"]}}


@requirement("tasks:client:receives:ignored")
async def test_a_client_without_tasks_passes_over_that_a_question_is_to_be_one(
    reach: Reach,
) -> None:
    server = CoreServer()
    async with reach(server, able()):
        answer = await ask(server, "elicitation/create", **FORM, task={"ttl": 1000})
    assert answer["result"] == ADA


@requirement("tasks:client:receives:errors")
async def test_a_client_says_that_a_task_is_unknown(reach: Reach) -> None:
    server = CoreServer()
    async with reach(server, Client("test", sampling=Model(), tasks=True)):
        asked = ("tasks/get", "tasks/result", "tasks/cancel")
        answers = [await ask(server, method, taskId="nobody") for method in asked]
    assert [one["error"]["code"] for one in answers] == [InvalidParams.code] * 3


@requirement("tasks:client:receives:cancel")
async def test_a_task_of_the_client_that_is_cancelled_is_stopped(reach: Reach) -> None:
    server, model = CoreServer(), Model()
    async with reach(server, Client("test", sampling=model, tasks=True)):
        made = (await ask(server, SAMPLING, **SAMPLE, task={}))["result"]
        about = {"taskId": made["task"]["taskId"]}
        cancelled = (await ask(server, "tasks/cancel", **about))["result"]
        async with asyncio.timeout(WAIT_S):
            await model.stopped.wait()
        again = (await ask(server, "tasks/cancel", **about))["error"]
        assert cancelled["status"] == "cancelled"
        assert (await ask(server, "tasks/get", **about))["result"]["status"] == "cancelled"
    assert again["code"] == InvalidParams.code
