"""Spec tests of the tasks extension at 2026-07-28: servers that turn calls into tasks."""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise
from typing import Any

import pytest

from mcp_gen import Client, ProtocolError, TaskCancelled, text_of
from tests.client.spec.input_requests import declared
from tests.client.spec.scripted_servers import DONE, far, listed, tool, whole
from tests.client.tasks.core_server import text
from tests.client.tasks.extension_server import ASKS, ExtensionServer, Until
from tests.support.peers.reach import Reach
from tests.support.requirement import requirement

TASKS = "io.modelcontextprotocol/tasks"
POLL_S = 0.15
ADA = {"action": "accept", "content": {"name": "Ada"}}


class User:
    """Elicitation handler that answers with a name, and records the input requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, session: Any, params: Any) -> dict[str, str]:
        self.asked.append(params.message)
        return {"name": "Ada"}


def knowing(user: Any = None) -> Client:
    """Return a client that supports tasks and has an elicitation handler."""
    return Client("test", elicitation=user or User(), tasks=True)


def asks(*keys: str) -> dict[str, Any]:
    """Return a task with input requests under these keys."""
    return {"status": "input_required", "inputRequests": dict.fromkeys(keys, ASKS)}


# --- answers as tasks ---


@requirement("tasks-extension:client:either")
async def test_a_client_takes_an_answer_at_once_as_well_as_a_task(reach: Reach) -> None:
    server = ExtensionServer("working", "completed")
    async with reach(server, knowing()) as reached:
        assert text_of(await reached.session.call_tool("work", {})) == "done"
        server.on("tools/call", server.complete(text("at once")))
        assert text_of(await reached.session.call_tool("work", {})) == "at once"


@requirement("tasks-extension:client:elsewhere")
async def test_a_task_is_no_answer_to_anything_else(reach: Reach) -> None:
    server = ExtensionServer()
    task = {"result": {"resultType": "task", **server.task("working")}}
    server.on("prompts/get", task).on("resources/read", task).on("tools/list", task)
    async with reach(server, knowing()) as reached:
        for call in (
            reached.session.get_prompt("p"),
            reached.session.read_resource("test://a"),
            reached.session.list_tools(),
        ):
            with pytest.raises(ProtocolError):
                await call
        assert reached.asked("tasks/get") == []


@requirement("lifecycle:client:extensions:off")
async def test_a_client_that_was_given_no_extension_declares_none_and_takes_no_task(
    reach: Reach,
) -> None:
    async with reach(ExtensionServer()) as reached:
        with pytest.raises(ProtocolError):
            await reached.session.call_tool("work", {})
        assert "extensions" not in declared(reach, reached)
        assert reached.asked("tasks/get") == []


@requirement("lifecycle:client:extensions:names")
async def test_what_a_client_declares_has_a_prefix_and_a_name(reach: Reach) -> None:
    async with reach(ExtensionServer(), knowing()) as reached:
        await reached.session.call_tool("work", {})
        names = declared(reach, reached)["extensions"]
    label, name = r"[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?", r"[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?"
    assert all(re.fullmatch(rf"{label}(\.{label})*/{name}", one) for one in names)
    assert names == {TASKS: {}}


@requirement("lifecycle:client:extensions:one-sided")
async def test_a_server_without_the_extension_is_spoken_to_as_without_it(reach: Reach) -> None:
    server = far(reach, {"tools/list": listed(reach, tools=[tool()])})
    server.on("tools/call", whole(reach, **DONE))
    async with reach(server, knowing()) as reached:
        assert text_of(await reached.session.call_tool("t", {}, task=True)) == "done"
        methods = {one["method"] for one in reached.sent}
        assert methods <= {"server/discover", "tools/list", "tools/call"}
        assert [one["params"].get("task") for one in reached.asked("tools/call")] == [None]


# --- polling ---


@requirement("tasks-extension:client:interval", "tasks-extension:client:polls")
async def test_a_task_is_asked_for_until_its_end_and_not_more_often_than_it_says(
    reach: Reach,
) -> None:
    server, loop = ExtensionServer(poll_ms=round(POLL_S * 1000)), asyncio.get_running_loop()
    told: list[float] = []

    def at(params: Any) -> dict[str, Any]:
        told.append(loop.time())
        if len(told) < 4:
            return server.complete(server.task("working"))
        return server.complete(server.task("completed", result=text("done")))

    def begun(params: Any) -> dict[str, Any]:
        told.append(loop.time())
        return {"result": {"resultType": "task", **server.task("working")}}

    server.on("tools/call", begun).on("tasks/get", at)
    async with reach(server, knowing()) as reached:
        assert text_of(await reached.session.call_tool("work", {})) == "done"
        assert len(reached.asked("tasks/get")) == 3
    assert all(later - sooner >= POLL_S for sooner, later in pairwise(told))


@requirement("tasks-extension:client:answers", "tasks-extension:client:polls")
async def test_what_a_task_asks_is_answered_by_an_update(reach: Reach) -> None:
    server = ExtensionServer(Until(1, asks("k")), "working", "completed")
    async with reach(server, knowing()) as reached:
        assert text_of(await reached.session.call_tool("work", {})) == "done"
        assert [one["params"]["taskId"] for one in reached.asked("tasks/update")] == ["t1"]
    assert server.answers == [{"k": ADA}]
    assert server.told[-3:] == ["input_required", "working", "completed"]


@requirement("tasks-extension:client:as-asked")
async def test_the_user_is_asked_as_the_server_itself_would(reach: Reach) -> None:
    user, server = User(), ExtensionServer(Until(1, asks("k")))

    def again(params: Any) -> dict[str, Any]:
        if "inputResponses" in params:
            return server.complete(text(str(params["inputResponses"])))
        return {"result": {"resultType": "input_required", "inputRequests": {"k": ASKS}}}

    async with reach(server, knowing(user)) as reached:
        await reached.session.call_tool("work", {})
        server.on("tools/call", again)
        said = text_of(await reached.session.call_tool("work", {}))
    assert user.asked == ["Name?"] * 2
    assert said == str(server.answers[0])


@requirement("tasks-extension:client:once", "tasks-extension:client:keys")
async def test_each_question_is_asked_and_answered_once(reach: Reach) -> None:
    user = User()
    # The server handles the answers slowly, and then makes more input requests.
    one, both = asks("a"), asks("a", "b")
    server = ExtensionServer(one, Until(1, one), one, Until(2, both), asks("b"), "completed")
    async with reach(server, knowing(user)) as reached:
        assert text_of(await reached.session.call_tool("work", {})) == "done"
    assert server.answers == [{"a": ADA}, {"b": ADA}]
    assert user.asked == ["Name?"] * 2


# --- cancellation ---


@requirement("tasks-extension:client:cancels")
async def test_a_task_is_cancelled_by_its_own_request(reach: Reach) -> None:
    server = ExtensionServer("working", "cancelled", poll_ms=60_000)
    async with reach(server, knowing()) as reached:
        task = await reached.session.start_tool("work", {})
        await task.cancel()
        (asked,) = reached.asked("tasks/cancel")
        assert asked["params"]["taskId"] == "t1"
        assert reached.asked("notifications/cancelled") == []
        await task.refresh()
        with pytest.raises(TaskCancelled):
            await task.result()


@requirement("tasks-extension:client:cancels")
async def test_who_no_longer_waits_for_a_call_cancels_its_task(reach: Reach) -> None:
    server = ExtensionServer(then="working", poll_ms=60_000)
    async with reach(server, knowing()) as reached:
        call = asyncio.create_task(reached.session.call_tool("work", {}))
        await server.next("tools/call")
        await reached.session.list_tools()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.next("tasks/cancel")
        assert reached.asked("notifications/cancelled") == []


# --- over HTTP ---


@requirement("tasks-extension:client:name-header")
async def test_requests_about_a_task_name_it_in_their_header(reach: Reach) -> None:
    server = ExtensionServer(Until(1, asks("k")), "working", "completed")
    async with reach(server, knowing()) as reached:
        task = await reached.session.start_tool("work", {})
        await task.result()
        server.on("tasks/get", server.complete(server.task("cancelled")))
        await reached.session.task("t2").cancel()
        about = [
            (one.asks, one.headers["mcp-method"], one.headers["mcp-name"], one.json["params"])
            for one in reached.web.got
            if one.asks.startswith("tasks/")
        ]
    assert {method for method, *_ in about} == {"tasks/get", "tasks/update", "tasks/cancel"}
    assert all(method == header for method, header, *_ in about)
    assert all(name == params["taskId"] for _, _, name, params in about)
