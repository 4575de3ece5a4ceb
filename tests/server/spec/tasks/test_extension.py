"""Spec tests of the extension io.modelcontextprotocol/tasks."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from mcp_gen import Client, InvalidParams, Server, UsageError
from mcp_wire.extensions.tasks import EXTENSION
from tests.server.spec.servers import rich
from tests.server.spec.tasks.servers import (
    ASK,
    BLUE,
    RED,
    RELATED,
    TASK_CLIENT,
    TASKS,
    arrives,
    begun,
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
LACKING = -32021
NAMED = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
NEWS = "notifications/tasks"
MANY = {"tasks/get": {}, "tasks/update": {"inputResponses": {}}, "tasks/cancel": {}}
"""Requests about a task, with their params beside the id."""


def knowing(
    connect: Connect, answers: dict[str, Answer] | None = None
) -> AbstractAsyncContextManager[Conversation]:
    """Return a client that declares the tasks extension."""
    return connect(working, answers=answers, capabilities=TASK_CLIENT)


async def answer(client: Conversation, id: str, **answers: Any) -> dict[str, Any]:
    params = {"taskId": id, "inputResponses": answers}
    return await client.request("tasks/update", params)


# --- task ownership ---


@requirement("lifecycle:extensions:names", "tasks-extension:legacy")
async def test_a_server_declares_the_extension_and_not_what_was_before_it(
    connect: Connect,
) -> None:
    async with knowing(connect) as client:
        declared = (await client.server())["capabilities"]
        assert declared["extensions"] == {TASKS: {}}
        assert "tasks" not in declared
        for method in ("tasks/list", "tasks/result"):
            assert (await client.refusal(method, {"taskId": "a"})).code == NOT_FOUND


@requirement("lifecycle:extensions:names", "lifecycle:client:extensions:names")
@pytest.mark.parametrize(
    "name",
    ["tasks", "/tasks", "org.example/", "org..example/a", "-org/a", "org./a", "org/a/b", "org/a b"],
)
def test_what_is_no_name_of_an_extension_is_never_declared(name: str, revision: str) -> None:
    with pytest.raises(UsageError, match="expected a name like"):
        Client("c", extensions={name: {}})
    with pytest.raises(UsageError, match="expected a name like"):
        Server("s", extensions=[replace(EXTENSION, identifier=name)])


@requirement("tasks-extension:legacy", "tasks-extension:declared-only")
async def test_the_wish_for_a_task_counts_for_nothing(connect: Connect) -> None:
    wish = {"task": {"ttl": 1000}}
    # Nor does a client's declaration of the earlier task capability.
    capabilities = {"tasks": {"requests": {"elicitation": {"create": {}}}}}
    async with knowing(connect) as client:
        params = {"name": "plain", "arguments": {"text": "a"}, **wish}
        assert (await client.request("tools/call", params))["resultType"] == "complete"
    async with connect(working, capabilities=capabilities) as client:
        params = {"name": "echo", "arguments": {"text": "a"}, **wish}
        assert (await client.request("tools/call", params))["resultType"] == "complete"


@requirement("tasks-extension:declared-only", "lifecycle:extensions:one-sided")
async def test_who_has_not_declared_it_with_the_request_gets_no_task(connect: Connect) -> None:
    async with knowing(connect) as client:
        await start(client, "only_echo", text="a")
        client.capabilities = {}
        asked = begun(client, "hold")
        await client.settled()
        assert not asked.answer.done()
        await client.call("release")
        result = await asked.result()
        assert result["resultType"] == "complete"
        assert result["content"][0]["text"] == "held"
        client.capabilities = TASK_CLIENT
        await start(client, "only_echo", text="a")


@requirement("tasks-extension:required", "lifecycle:extensions:one-sided")
async def test_a_tool_that_must_be_a_task_says_what_the_client_lacks(connect: Connect) -> None:
    async with connect(working) as client:
        with pytest.raises(Refused) as refused:
            await client.call("only_echo", text="a")
    assert refused.value.code == LACKING
    assert refused.value.data == NAMED


@requirement("tasks-extension:methods", "lifecycle:extensions:one-sided")
async def test_requests_about_tasks_say_what_the_client_lacks(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "hold"))["taskId"]
        client.capabilities = {}
        for method, more in MANY.items():
            refused = await client.refusal(method, {"taskId": id, **more})
            assert (refused.code, refused.data) == (LACKING, NAMED)
        client.capabilities = TASK_CLIENT
        assert (await state(client, id))["status"] == "working"


# --- task states ---


@requirement("tasks-extension:result-type", "tasks-extension:durable", "base:result-type:known")
async def test_a_task_is_flat_and_can_be_asked_for_at_once(connect: Connect) -> None:
    async with knowing(connect) as client:
        task = await start(client, "hold")
        found = await state(client, task["taskId"])
    needed = {"resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"}
    known = {"statusMessage", "pollIntervalMs", "_meta"}
    assert needed <= task.keys() <= needed | known
    assert (task.pop("resultType"), found.pop("resultType")) == ("task", "complete")
    same = ("taskId", "createdAt", "ttlMs")
    assert [found[key] for key in same] == [task[key] for key in same]
    assert datetime.fromisoformat(task["createdAt"]).tzinfo is not None
    assert task["ttlMs"] is None or (type(task["ttlMs"]) is int and task["ttlMs"] > 0)
    interval = task.get("pollIntervalMs", 1)
    assert type(interval) is int
    assert interval > 0


@requirement("tasks-extension:ids")
async def test_no_two_ids_are_alike_and_none_can_be_guessed(connect: Connect) -> None:
    async with knowing(connect) as client:
        ids = [(await start(client, "only_echo", text="a"))["taskId"] for _ in range(20)]
    assert len(set(ids)) == 20
    # 128 bits take 22 characters at least.
    assert all(isinstance(id, str) and len(id) >= 22 for id in ids)


@requirement("tasks-extension:get:working", "tasks-extension:get:completed")
async def test_a_state_has_a_result_as_soon_as_the_task_has_ended(connect: Connect) -> None:
    async with knowing(connect) as client:
        client.capabilities = {}
        plain = await client.call("echo", text="a")
        client.capabilities = TASK_CLIENT
        id = (await start(client, "hold"))["taskId"]
        assert (await state(client, id)).keys().isdisjoint({"result", "error", "inputRequests"})
        await client.call("release")
        assert (await arrives(client, id, "completed"))["result"]["content"][0]["text"] == "held"
        id = (await start(client, "only_echo", text="a"))["taskId"]
        ended = await arrives(client, id, "completed")
    assert ended.keys().isdisjoint({"error", "inputRequests", "requestState"})
    assert without_meta(ended["result"]) == without_meta(plain)
    assert RELATED not in ended["result"].get("_meta", {})


def without_meta(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without `_meta` and `resultType`."""
    return {key: value for key, value in result.items() if key not in {"_meta", "resultType"}}


@requirement("tasks-extension:failed-only")
async def test_a_tool_that_tells_of_an_error_has_completed(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "only_fail", reason="no paper"))["taskId"]
        ended = await arrives(client, id, "completed")
    assert ended["result"]["isError"] is True
    assert ended["result"]["content"][0]["text"] == "no paper"


@requirement("tasks-extension:get:failed")
async def test_a_task_that_failed_has_the_error_of_its_request(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "only_refuse"))["taskId"]
        ended = await arrives(client, id, "failed")
        client.capabilities = {}
        with pytest.raises(Refused) as plain:
            await client.call("refuse")
    assert ended["error"] == plain.value.error
    assert "not today" in ended["statusMessage"]
    assert "result" not in ended


@requirement("tasks-extension:unknown")
async def test_what_is_unknown_is_said_to_be(connect: Connect) -> None:
    async with knowing(connect) as client:
        known = (await start(client, "hold"))["taskId"]
        refused = [
            await client.refusal(method, {"taskId": id, **more})
            for method, more in MANY.items()
            for id in ("", "nothing", known[:-1], known + "a", known.swapcase())
        ]
    assert {one.code for one in refused} == {INVALID_PARAMS}
    assert all(len(str(one)) > 10 for one in refused)


# --- input requests ---


@requirement("tasks-extension:get:input", "tasks-extension:update:empty")
async def test_a_task_asks_until_all_is_answered(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "choose_at_once"))["taskId"]
        asks = (await arrives(client, id, "input_required"))["inputRequests"]
        first, second = asks
        assert {one["method"] for one in asks.values()} == {ASK}
        taken = await answer(client, id, **{first: RED})
        assert taken.keys() <= {"resultType", "_meta"}
        assert taken["resultType"] == "complete"
        left = await state(client, id)
        assert (left["status"], left["inputRequests"]) == ("input_required", {second: asks[second]})
        await answer(client, id, **{second: BLUE})
        ended = await arrives(client, id, "completed")
    assert ended["result"]["content"][0]["text"] == "red blue"
    assert "inputRequests" not in ended
    assert client.questions == []


@requirement("tasks-extension:keys", "tasks-extension:update:stale")
async def test_a_key_is_used_once_and_answers_to_others_count_for_nothing(
    connect: Connect,
) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "choose_twice"))["taskId"]
        (first,) = (await arrives(client, id, "input_required"))["inputRequests"]
        await answer(client, id, **{f"{first}?": BLUE, "": BLUE})
        assert list((await state(client, id))["inputRequests"]) == [first]
        await answer(client, id, **{first: RED})
        async with asyncio.timeout(30):
            while first in (found := (await state(client, id)).get("inputRequests", {first: 0})):
                pass
        (second,) = found
        await answer(client, id, **{first: BLUE})
        assert list((await state(client, id))["inputRequests"]) == [second]
        await answer(client, id, **{first: RED, second: BLUE})
        ended = await arrives(client, id, "completed")
        assert ended["result"]["content"][0]["text"] == "red blue"
        assert (await answer(client, id, **{second: RED}))["resultType"] == "complete"
        assert await state(client, id) == ended


@requirement("tasks-extension:keys")
async def test_what_is_asked_again_has_another_key(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "choose"))["taskId"]
        (first,) = (await arrives(client, id, "input_required"))["inputRequests"]
        await answer(client, id, **{first: {"action": "accept", "content": {"colour": "mauve"}}})
        (second,) = (await arrives(client, id, "input_required"))["inputRequests"]
        assert second != first
        await answer(client, id, **{second: RED})
        ended = await arrives(client, id, "completed")
    assert ended["result"]["content"][0]["text"] == "red"


@requirement("tasks-extension:rounds-first")
async def test_what_is_asked_before_there_is_a_task_is_asked_in_rounds(connect: Connect) -> None:
    async with knowing(connect, {ASK: lambda params: RED}) as client:
        params = {"name": "ask_first", "arguments": {}}
        asks = await client.begin("tools/call", params).result()
        assert asks["resultType"] == "input_required"
        assert "taskId" not in asks
        made = await client.request("tools/call", {**params, **await client.answers_to(asks)})
        assert made["resultType"] == "task"
        assert made.keys().isdisjoint({"inputRequests", "requestState"})
        ended = await arrives(client, made["taskId"], "completed")
    assert ended["result"]["content"][0]["text"] == "red"


# --- cancelling ---


@requirement("tasks-extension:cancel:empty", "tasks-extension:get:cancelled")
async def test_a_task_that_is_cancelled_is_stopped(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "hold"))["taskId"]
        for _ in "12":
            taken = await client.request("tasks/cancel", {"taskId": id})
            assert taken.keys() <= {"resultType", "_meta"}
            assert taken["resultType"] == "complete"
        assert await client.text("until_stopped") == "stopped"
        ended = await arrives(client, id, "cancelled")
    assert ended.keys().isdisjoint({"result", "error"})


# --- notifications ---


@requirement("tasks-extension:listen:whole", "tasks-extension:listen:quiet")
async def test_who_listens_hears_how_a_task_stands(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "hold"))["taskId"]
        other = (await start(client, "hold"))["taskId"]
        listening = await client.listen(taskIds=[id])
        (heard,) = client.params_of("notifications/subscriptions/acknowledged")
        assert heard["notifications"]["taskIds"] == [id]
        await client.call("release")
        await client.hears(NEWS)
        while (told := client.params_of(NEWS))[-1]["status"] != "completed":
            await client.hears(NEWS, len(told) + 1)
        whole = await arrives(client, id, "completed")
        await arrives(client, other, "completed")
        await client.settled()
        told = client.params_of(NEWS)
        assert listening is not None
        client.cancel(listening)
    assert without_meta(told[-1]) == without_meta(whole)
    assert {one["taskId"] for one in told} == {id}
    methods = {one["method"] for one in client.heard}
    assert methods == {"notifications/subscriptions/acknowledged", NEWS}


@requirement("tasks-extension:listen:refused")
async def test_news_are_not_for_clients_that_have_not_declared_it(connect: Connect) -> None:
    async with knowing(connect) as client:
        id = (await start(client, "hold"))["taskId"]
        client.capabilities = {}
        wanted = {"notifications": {"taskIds": [id]}}
        refused = await client.refusal("subscriptions/listen", wanted)
    assert (refused.code, refused.data) == (LACKING, NAMED)


# --- undeclared extensions ---


@requirement("lifecycle:extensions:off")
async def test_a_server_that_was_given_no_extension_has_none(connect: Connect) -> None:
    async with connect(rich, capabilities=TASK_CLIENT) as client:
        assert "extensions" not in (await client.server())["capabilities"]
        assert (await begun(client, "echo", text="a").result())["resultType"] == "complete"
        for method, more in MANY.items():
            assert (await client.refusal(method, {"taskId": "a", **more})).code == NOT_FOUND
