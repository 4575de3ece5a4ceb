"""Spec tests of tasks at 2025-11-25: requests with deferred results."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from mcp_gen import InvalidParams
from tests.server.spec.servers import rich
from tests.server.spec.tasks.servers import (
    ASK,
    BLUE,
    RED,
    RELATED,
    arrives,
    begun,
    forgotten,
    names_of,
    start,
    state,
    working,
)
from tests.support.peers.asked import Answer, Refused
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

INVALID_PARAMS = InvalidParams.code
NOT_FOUND = -32601
STATUS = "notifications/tasks/status"
RESULT = "tasks/result"
ABOUT = ("tasks/get", "tasks/result", "tasks/cancel")


async def outcome(client: Conversation, id: str) -> dict[str, Any]:
    """Return the result of a task from `tasks/result`, once the task has ended."""
    return await client.request("tasks/result", {"taskId": id})


# --- declared task support ---


@requirement("tasks:declared")
async def test_a_server_says_what_it_takes_tasks_for(connect: Connect) -> None:
    async with connect(working) as client:
        declared = (await client.server())["capabilities"]["tasks"]
        tools = (await client.request("tools/list"))["tools"]
    assert declared["requests"] == {"tools": {"call": {}}}
    assert declared["cancel"] == {}
    takes = {tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in tools}
    assert takes["echo"] == "optional"
    assert takes["only_echo"] == "required"
    assert takes["plain"] in {None, "forbidden"}


@requirement("tasks:declared", "tasks:ignored")
async def test_a_server_without_tasks_passes_over_that_a_call_is_to_be_one(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        assert "tasks" not in (await client.server())["capabilities"]
        result = await begun(client, "echo", ttl=1000, text="a").result()
    assert result["content"] == [{"type": "text", "text": "a"}]
    assert "task" not in result


@requirement("tasks:tools:forbidden", "tasks:tools:required")
async def test_a_tool_is_called_in_the_way_that_it_takes(connect: Connect) -> None:
    async with connect(working) as client:
        with pytest.raises(Refused) as as_a_task:
            await begun(client, "plain", text="a").result()
        with pytest.raises(Refused) as plainly:
            await client.call("only_echo", text="a")
        assert await client.text("echo", text="a") == "a"
    assert [as_a_task.value.code, plainly.value.code] == [NOT_FOUND, NOT_FOUND]


# --- task states ---


@requirement("tasks:created", "tasks:status:begins", "tasks:times", "tasks:ttl")
async def test_a_call_is_answered_with_the_task_that_it_became(connect: Connect) -> None:
    async with connect(working) as client:
        task = await start(client, "hold", ttl=60_000)
        now = await state(client, task["taskId"])
        await client.call("release")
        ended = await arrives(client, task["taskId"], "completed")
    assert task["status"] == "working"
    for one in (task, now, ended):
        assert (one["taskId"], one["ttl"]) == (task["taskId"], 60_000)
        assert one["createdAt"] == task["createdAt"]
        assert moment(one["createdAt"]) <= moment(one["lastUpdatedAt"])


def moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    assert found.tzinfo is not None, f"{text} is of no time zone"
    return found


@requirement("tasks:ids")
async def test_no_two_ids_are_alike_and_none_can_be_guessed(connect: Connect) -> None:
    async with connect(working) as client:
        ids = [(await start(client, "echo", text="a"))["taskId"] for _ in range(20)]
    assert len(set(ids)) == 20
    # 128 bits take 22 characters at least.
    assert all(isinstance(id, str) and len(id) >= 22 for id in ids)


@requirement("tasks:status:ended")
async def test_what_has_ended_stays_as_it_is(connect: Connect) -> None:
    async with connect(working) as client:
        for tool, arguments, status in (
            ("echo", {"text": "a"}, "completed"),
            ("fail", {"reason": "a"}, "failed"),
            ("refuse", {}, "failed"),
        ):
            task = await start(client, tool, **arguments)
            ended = await arrives(client, task["taskId"], status)
            assert (await client.refusal("tasks/cancel", {"taskId": task["taskId"]})).code
            assert await state(client, task["taskId"]) == ended


@requirement("tasks:errors")
async def test_what_is_unknown_is_said_to_be(connect: Connect) -> None:
    async with connect(working) as client:
        known = (await start(client, "echo", text="a"))["taskId"]
        refused = [
            await client.refusal(method, {"taskId": id})
            for method in ABOUT
            for id in ("", "nothing", known[:-1], known + "a", known.swapcase())
        ]
        refused += [await client.refusal("tasks/list", {"cursor": c}) for c in ("", "a", known)]
    assert {one.code for one in refused} == {INVALID_PARAMS}
    assert all(len(str(one)) > 10 for one in refused)


# --- its result ---


@requirement("tasks:result:same", "tasks:related")
async def test_the_result_is_that_of_the_plain_call(connect: Connect) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("echo", {"text": "a"}),
        ("echo", {"text": 5}),
        ("fail", {"reason": "a"}),
    ]
    async with connect(working) as client:
        for tool, arguments in calls:
            plain = await client.call(tool, **arguments)
            task = await start(client, tool, **arguments)
            later = await outcome(client, task["taskId"])
            assert later.pop("_meta") == {RELATED: {"taskId": task["taskId"]}}
            assert later == plain


@requirement("tasks:result:same")
async def test_the_error_is_that_of_the_plain_call(connect: Connect) -> None:
    async with connect(working) as client:
        with pytest.raises(Refused) as plain:
            await client.call("refuse")
        task = await start(client, "refuse")
        later = await client.refusal("tasks/result", {"taskId": task["taskId"]})
    assert later.error == plain.value.error


@requirement("tasks:result:waits")
async def test_who_asks_for_the_result_too_early_waits_for_it(connect: Connect) -> None:
    async with connect(working) as client:
        task = await start(client, "hold")
        asked = [client.begin("tasks/result", {"taskId": task["taskId"]}) for _ in "12"]
        await client.settled()
        assert [one.answer.done() for one in asked] == [False, False]
        await client.call("release")
        texts = [(await one.result())["content"][0]["text"] for one in asked]
        assert texts == ["held", "held"]


@requirement("tasks:failed:says")
async def test_what_failed_says_why(connect: Connect) -> None:
    async with connect(working) as client:
        for tool, arguments, why in (
            ("fail", {"reason": "no paper"}, "no paper"),
            ("refuse", {}, "not today"),
        ):
            task = await start(client, tool, **arguments)
            ended = await arrives(client, task["taskId"], "failed")
            assert why in ended["statusMessage"]


# --- input requests ---


@requirement("tasks:input:status", "tasks:input:related", "tasks:related")
async def test_a_task_that_asks_says_so_until_it_is_answered(connect: Connect) -> None:
    answered = asyncio.Event()

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        await answered.wait()
        return RED

    async with connect(working, answers={ASK: answer}) as client:
        id = (await start(client, "choose"))["taskId"]
        assert (await arrives(client, id, "input_required"))["status"] == "input_required"
        result = client.begin("tasks/result", {"taskId": id})
        await client.asks()
        assert (await state(client, id))["status"] == "input_required"
        answered.set()
        found = await result.result()
        assert found["content"][0]["text"] == "red"
        assert (await state(client, id))["status"] == "completed"
    ((_, params),) = client.questions
    assert params["_meta"][RELATED] == {"taskId": id}


@requirement("tasks:input:related")
async def test_each_of_several_questions_is_answered(connect: Connect) -> None:
    for tool in ("choose_at_once", "choose_twice"):
        given = iter([RED, BLUE])
        answers = {ASK: lambda params, given=given: next(given)}
        async with connect(working, answers=answers) as client:
            id = (await start(client, tool))["taskId"]
            assert (await outcome(client, id))["content"][0]["text"] == "red blue"
        assert {params["_meta"][RELATED]["taskId"] for _, params in client.questions} == {id}


# --- task ids ---


@requirement("tasks:related:params", "tasks:related:absent")
async def test_the_params_say_which_task_is_meant(connect: Connect) -> None:
    async with connect(working) as client:
        one = (await start(client, "echo", text="one"))["taskId"]
        other = (await start(client, "hold"))["taskId"]
        meta = {RELATED: {"taskId": other}}
        found = await client.request("tasks/get", {"taskId": one}, meta=meta)
        result = await client.request("tasks/result", {"taskId": one}, meta=meta)
        meta = {RELATED: {"taskId": one}}
        cancelled = await client.request("tasks/cancel", {"taskId": other}, meta=meta)
        listed = await client.request("tasks/list", {}, meta=meta)
    assert (found["taskId"], cancelled["taskId"]) == (one, other)
    assert result["content"][0]["text"] == "one"
    states = [found, cancelled, listed, *client.params_of(STATUS)]
    assert all(RELATED not in one.get("_meta", {}) for one in states)
    assert all(names_of(one) is None for one in client.heard if one["method"] == STATUS)


# --- lists ---


@requirement("tasks:list:pages", "tasks:list:all")
async def test_all_tasks_are_listed_in_pages(connect: Connect) -> None:
    async with connect(paged) as client:
        ids = [(await start(client, "echo", text="a"))["taskId"] for _ in range(5)]
        pages = await client.pages("tasks/list", "tasks")
    assert [len(page) for page in pages] == [2, 2, 1]
    assert sorted(task["taskId"] for page in pages for task in page) == sorted(ids)


def paged() -> Any:
    return working(page_size=2)


# --- cancelling ---


@requirement("tasks:cancel:stops", "tasks:cancel:ended")
async def test_a_task_that_is_cancelled_is_stopped(connect: Connect) -> None:
    async with connect(working) as client:
        id = (await start(client, "hold"))["taskId"]
        waiting = client.begin("tasks/result", {"taskId": id})
        cancelled = await client.request("tasks/cancel", {"taskId": id})
        assert cancelled["status"] == "cancelled"
        assert cancelled["taskId"] == id
        assert await client.text("until_stopped") == "stopped"
        with pytest.raises(Refused):
            await waiting.result()
        again = await client.refusal("tasks/cancel", {"taskId": id})
        done = (await start(client, "echo", text="a"))["taskId"]
        await arrives(client, done, "completed")
        too_late = await client.refusal("tasks/cancel", {"taskId": done})
    assert [again.code, too_late.code] == [INVALID_PARAMS] * 2


@requirement("tasks:cancel:stays")
async def test_what_was_cancelled_stays_so_though_it_goes_on(connect: Connect) -> None:
    async with connect(working) as client:
        id = (await start(client, "insist"))["taskId"]
        cancelled = await client.request("tasks/cancel", {"taskId": id})
        assert cancelled["status"] == "cancelled"
        assert await client.text("until_stopped") == "stopped"
        await client.call("release")
        await client.settled()
        assert (await state(client, id))["status"] == "cancelled"


# --- progress ---


@requirement("tasks:progress", "tasks:related")
async def test_progress_goes_on_under_the_token_of_the_call_until_the_end(
    connect: Connect,
) -> None:
    params = {"name": "hold", "arguments": {}, "task": {}}
    async with connect(working) as client:
        created = await client.begin("tools/call", params, meta={"progressToken": "t"}).result()
        id = created["task"]["taskId"]
        waiting = client.begin("tasks/result", {"taskId": id})
        await client.hears("notifications/progress")
        await client.call("release")
        await waiting.result()
        told = await client.hears("notifications/progress", 2)
        await client.settled()
    assert client.params_of("notifications/progress") == told
    assert [(one["progressToken"], one["progress"]) for one in told] == [("t", 1), ("t", 2)]
    assert {one["_meta"][RELATED]["taskId"] for one in told} == {id}


# --- limits ---


@requirement("tasks:limits", "tasks:ttl")
async def test_a_task_is_kept_for_its_time_which_has_a_limit(connect: Connect) -> None:
    async with connect(working) as client:
        short = (await start(client, "echo", ttl=1, text="a"))["taskId"]
        endless = await start(client, "echo", ttl=10**15, text="a")
        assert endless["ttl"] < 10**15
        await forgotten(client, short)
        listed = (await client.request("tasks/list"))["tasks"]
        assert [task["taskId"] for task in listed] == [endless["taskId"]]


# --- servers that ask for tasks ---


@requirement("tasks:asking:declared")
async def test_a_client_that_has_not_declared_it_is_asked_for_no_task(connect: Connect) -> None:
    cannot: list[dict[str, Any]] = [
        {"elicitation": {}},
        {"elicitation": {}, "tasks": {"list": {}, "cancel": {}}},
        {"elicitation": {}, "tasks": {"requests": {"sampling": {"createMessage": {}}}}},
    ]
    for capabilities in cannot:
        answers: dict[str, Answer] = {ASK: lambda params: RED}
        async with connect(working, answers=answers, capabilities=capabilities) as client:
            assert await client.text("choose_later") == "red"
        ((_, params),) = client.questions
        assert "task" not in params


@requirement("tasks:asking:result", "tasks:asking:declared")
async def test_a_question_that_became_a_task_is_answered_by_its_result(connect: Connect) -> None:
    capabilities = {"elicitation": {}, "tasks": {"requests": {"elicitation": {"create": {}}}}}
    at = "2030-01-01T00:00:00Z"
    task = {"taskId": "c1", "createdAt": at, "lastUpdatedAt": at, "ttl": None, "pollInterval": 1}
    statuses = iter(["working", "completed"])
    answers: dict[str, Answer] = {
        ASK: lambda params: {"task": {**task, "status": "working"}},
        "tasks/get": lambda params: {**task, "status": next(statuses)},
        "tasks/result": lambda params: {**BLUE, "_meta": {RELATED: {"taskId": "c1"}}},
    }
    async with connect(working, answers=answers, capabilities=capabilities) as client:
        assert await client.text("choose_later") == "blue"
    assert [method for method, _ in client.questions] == [ASK, "tasks/get", "tasks/get", RESULT]
    assert "task" in client.questions[0][1]
    assert all(params["taskId"] == "c1" for _, params in client.questions[1:])
