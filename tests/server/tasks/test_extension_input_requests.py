"""Input requests of tasks at 2026-07-28: in `tasks/get`, answered by `tasks/update`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import (
    Accepted,
    Context,
    RequestTimeout,
    Server,
    Tasks,
    UrlElicitation,
    UrlElicitationRequired,
)
from mcp_wire import latest
from mcp_wire.extensions.tasks import EXTENSION
from tests.server.tasks.raw_client import Conversation, directed
from tests.support.peers.answering import EVERYTHING, accept

INVALID_PARAMS, MISSING = -32602, -32021


@dataclass
class Name:
    name: str


def name_of(answer: Any) -> str:
    return answer.content.name if isinstance(answer, Accepted) else "nobody"


def asking(**options: Any) -> Server:
    server = Server("asking", tasks=Tasks(grace_s=10), **options)

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        return f"Hello, {name_of(await ctx.elicit('Who?', Name))}"

    @server.tool(task="optional")
    async def both(ctx: Context) -> str:
        answers = await ctx.ask_all(ctx.elicit("A?", Name), ctx.elicit("B?", Name))
        return " and ".join(map(name_of, answers))

    return server


async def questions(client: Conversation, id: str) -> dict[str, Any]:
    """Return the input requests of a task, once it has some."""
    task = await client.standing(id, "input_required")
    asked: dict[str, Any] = task["inputRequests"]
    return asked


async def answered(client: Conversation, id: str, answer: Any) -> str:
    """Answer the only input request of a task, and return its key."""
    (key,) = await questions(client, id)
    await client.ask("tasks/update", taskId=id, inputResponses={key: answer})
    return key


async def text(client: Conversation, id: str) -> str:
    task = await client.standing(id, "completed")
    return str(task["result"]["content"][0]["text"])


async def test_a_question_makes_a_call_a_task_that_goes_on_with_the_answer() -> None:
    async with directed(asking()) as client:
        id = await client.begin("greet")
        (asked,) = (await questions(client, id)).values()
        assert (asked["method"], asked["params"]["message"]) == ("elicitation/create", "Who?")
        assert "id" not in asked
        key = await answered(client, id, accept(name="Ann"))
        assert await text(client, id) == "Hello, Ann"
        ack = await client.ask("tasks/update", taskId=id, inputResponses={key: accept(name="B")})
        assert ack.keys() == {"resultType", "_meta"}


async def test_a_handler_runs_once_however_often_it_asks() -> None:
    server, runs = Server("asking", tasks=Tasks(grace_s=10)), list[int]()

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        runs.append(ctx.round)
        names = [name_of(await ctx.elicit("Who?", Name)) for _ in range(3)]
        return " ".join(names)

    async with directed(server) as client:
        id = await client.begin("greet")
        keys = [await answered(client, id, accept(name=name)) for name in "abc"]
        assert await text(client, id) == "a b c"
        assert (len(set(keys)), runs) == (3, [1])


async def test_questions_that_are_open_together_are_answered_one_by_one() -> None:
    async with directed(asking()) as client:
        id = await client.begin("both")
        asked = await questions(client, id)
        (first, one), (second, _) = asked.items()
        assert one["params"]["message"] == "A?"
        ack = await client.ask("tasks/update", taskId=id, inputResponses={first: accept(name="a")})
        assert ack["resultType"] == "complete"
        task = await client.look(id)
        assert (task["status"], task["inputRequests"].keys()) == ("input_required", {second})
        await client.ask("tasks/update", taskId=id, inputResponses={second: accept(name="b")})
        assert await text(client, id) == "a and b"


async def test_answers_to_nothing_are_ignored() -> None:
    async with directed(asking()) as client:
        id = await client.begin("greet")
        for odd in ({"ignored": True}, 7, None, accept(name="x")):
            ack = await client.ask("tasks/update", taskId=id, inputResponses={"unknown": odd})
            assert ack["resultType"] == "complete"
        assert (await client.look(id))["status"] == "input_required"


@pytest.mark.parametrize("odd", [{"ignored": True}, 7, {"action": "perhaps"}])
async def test_what_is_no_answer_is_an_error_and_leaves_the_question(odd: Any) -> None:
    async with directed(asking()) as client:
        id = await client.begin("greet")
        (key,) = await questions(client, id)
        error = await client.ask("tasks/update", taskId=id, inputResponses={key: odd})
        assert error["code"] == INVALID_PARAMS
        await answered(client, id, accept(name="Ann"))
        assert await text(client, id) == "Hello, Ann"


async def test_an_answer_that_does_not_fit_is_asked_for_again_under_another_key() -> None:
    async with directed(asking()) as client:
        id = await client.begin("greet")
        first = await answered(client, id, accept(name=7))
        second = await answered(client, id, accept(name="Bo"))
        assert first != second
        assert await text(client, id) == "Hello, Bo"


async def test_every_kind_of_question_is_asked_so() -> None:
    server = Server("asking", tasks=Tasks(grace_s=10))

    @server.tool(task="required")
    async def ask(ctx: Context) -> str:
        model = await ctx.sample("Hi", max_tokens=5)
        roots = await ctx.list_roots()
        page = await ctx.elicit_url("Sign", "https://example.org/sign")
        return f"{model.model} {len(roots)} {page.action}"

    model = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Ho"}}
    async with directed(server) as client:
        id = await client.begin("ask")
        for answer in (model, {"roots": [{"uri": "file:///a"}]}, {"action": "accept"}):
            await answered(client, id, answer)
        assert await text(client, id) == "m 1 accept"


async def test_a_question_has_the_key_that_it_was_given() -> None:
    server = Server("asking", tasks=Tasks(grace_s=10))

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        return name_of(await ctx.elicit("Who?", Name, key="who"))

    async with directed(server) as client:
        id = await client.begin("greet")
        assert (await questions(client, id)).keys() == {"who"}


def plainly(server: Server, *, waits: bool = False) -> None:
    """Add a tool that returns its input request, after a delay if it `waits`."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = latest.ElicitRequestFormParams(message="Who?", requested_schema=schema)

    @server.tool(task="required")
    async def greet(ctx: Context) -> Any:
        if waits:
            await asyncio.sleep(0.01)
        if ctx.input_responses is None:
            asked = {"who": latest.ElicitRequest(params=params)}
            return latest.InputRequiredResult(input_requests=asked, request_state="mine")
        await asyncio.sleep(0)
        return f"Hello, {ctx.input_responses['who'].content['name']}, {ctx.request_state}"


async def test_questions_that_are_returned_at_once_come_before_the_task() -> None:
    server = Server("asking", tasks=Tasks(grace_s=10))
    plainly(server)
    async with directed(server) as client:
        first = await client.call("greet")
        assert (first["resultType"], "taskId" in first) == ("input_required", False)
        again = {
            "name": "greet",
            "arguments": {},
            "inputResponses": {"who": accept(name="Cy")},
            "requestState": first["requestState"],
        }
        made = await client.ask("tools/call", **again)
        assert made["resultType"] == "task"
        assert not {"requestState", "inputRequests"} & made.keys()
        assert await text(client, made["taskId"]) == "Hello, Cy, mine"


async def test_a_state_that_was_not_given_makes_no_task() -> None:
    server = Server("asking", tasks=Tasks(grace_s=10))
    plainly(server)
    async with directed(server) as client:
        call = {"name": "greet", "arguments": {}, "inputResponses": {}, "requestState": "forged"}
        assert (await client.ask("tools/call", **call))["code"] == INVALID_PARAMS
        assert server.tasks is not None
        assert server.tasks.running == {}


async def test_questions_that_are_returned_later_are_asked_by_the_task() -> None:
    server = Server("asking", tasks=Tasks(grace_s=0.001))
    plainly(server, waits=True)
    async with directed(server) as client:
        id = await client.begin("greet")
        assert await answered(client, id, accept(name="Di")) == "who"
        assert await text(client, id) == "Hello, Di, mine"


@pytest.mark.parametrize(("action", "status"), [("accept", "completed"), ("decline", "failed")])
async def test_pages_that_a_task_insists_on_are_asked_for(action: str, status: str) -> None:
    server, runs = Server("asking", tasks=Tasks(grace_s=0)), list[int]()

    @server.tool(task="required")
    async def sign(ctx: Context) -> str:
        await asyncio.sleep(0.001)
        runs.append(1)
        if len(runs) == 1:
            page = UrlElicitation("Sign", "https://example.org/sign", "1")
            raise UrlElicitationRequired([page])
        return "signed"

    async with directed(server) as client:
        id = await client.begin("sign")
        await answered(client, id, {"action": action})
        await client.standing(id, status)


async def test_a_task_that_is_cancelled_asks_no_more() -> None:
    async with directed(asking()) as client:
        id = await client.begin("greet")
        await client.ask("tasks/cancel", taskId=id)
        task = await client.look(id)
        assert (task["status"], "inputRequests" in task) == ("cancelled", False)


async def test_a_question_that_is_not_answered_in_time_fails_where_it_was_asked() -> None:
    server = Server("asking", tasks=Tasks(grace_s=10))

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        try:
            await ctx.elicit("Who?", Name, timeout_s=0.01)
        except RequestTimeout:
            return "nobody"
        return "somebody"

    async with directed(server) as client:
        assert await text(client, await client.begin("greet")) == "nobody"


async def test_an_answer_may_come_on_another_connection() -> None:
    server = asking()
    async with directed(server, last=False) as client:
        id = await client.begin("greet")
    async with directed(server) as client:
        await answered(client, id, accept(name="Ed"))
        assert await text(client, id) == "Hello, Ed"


async def test_a_handler_in_a_thread_asks_from_its_task() -> None:
    server = Server("asking", tasks=Tasks(grace_s=10))

    @server.tool(task="required")
    def greet(ctx: Context) -> str:
        return f"Hello, {name_of(ctx.blocking.elicit('Who?', Name))}"

    async with directed(server) as client:
        id = await client.begin("greet")
        await answered(client, id, accept(name="Flo"))
        assert await text(client, id) == "Hello, Flo"


async def test_a_client_that_knows_of_no_tasks_is_asked_in_the_result() -> None:
    async with directed(asking(), EVERYTHING) as client:
        first = await client.call("greet")
        assert first["resultType"] == "input_required"
        (key,) = first["inputRequests"]
        again = {"inputResponses": {key: accept(name="Gil")}, "requestState": first["requestState"]}
        answer = await client.ask("tools/call", name="greet", arguments={}, **again)
        assert answer["content"][0]["text"] == "Hello, Gil"


async def test_a_client_that_cannot_be_asked_is_not() -> None:
    only_tasks = {"extensions": {EXTENSION.identifier: {}}}
    async with directed(asking(), only_tasks) as client:
        error = await client.call("greet")
        assert (error["code"], error["data"]) == (
            MISSING,
            {"requiredCapabilities": {"elicitation": {}}},
        )


async def test_who_listens_sees_the_questions() -> None:
    async with directed(asking()) as client:
        id = await client.begin("greet")
        listening = client.send("subscriptions/listen", notifications={"taskIds": [id]})
        told = await client.told("notifications/tasks")
        assert told["status"] == "input_required"
        (key,) = told["inputRequests"]
        await client.ask("tasks/update", taskId=id, inputResponses={key: accept(name="Hal")})
        stood = [(await client.told("notifications/tasks"))["status"] for _ in range(2)]
        assert stood == ["working", "completed"]
        client.client.send(client.client.speaker.cancel(listening))


async def test_a_question_does_not_end_with_the_session_that_heard_it() -> None:
    server = asking()
    async with directed(server, last=False) as client:
        id = await client.begin("both")
        first, _ = await questions(client, id)
        await client.ask("tasks/update", taskId=id, inputResponses={first: accept(name="a")})
    async with directed(server) as client:
        await answered(client, id, accept(name="b"))
        assert await text(client, id) == "a and b"
