"""Input requests of tasks at 2025-11-25: sent where the client listens (`input_required`)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from mcp_gen import Accepted, Context, RequestTimeout, Server
from mcp_wire import latest
from tests.server.tasks.raw_client import CORE, Conversation, conversing, related
from tests.support.frames import encoded
from tests.support.loop import until
from tests.support.peers.answering import accept
from tests.support.peers.raw import talking


@dataclass
class Name:
    name: str


def asking() -> Server:
    server = Server("asking")

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name)
        return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else "Hello"

    return server


def reply(client: Conversation, asked: Any, result: Any) -> None:
    client.client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "result": result}))


async def test_a_question_names_its_task_which_waits_for_input() -> None:
    async with conversing(asking()) as client:
        id = await client.make("greet")
        asked = await client.came("elicitation/create")
        assert asked["params"]["_meta"] == related(id)
        assert await client.status(id) == "input_required"
        reply(client, asked, accept(name="Ann"))
        assert await client.text(id) == "Hello, Ann"
        stood = [await client.told("notifications/tasks/status") for _ in range(3)]
        assert [one["status"] for one in stood] == ["input_required", "working", "completed"]


async def test_every_kind_of_question_names_its_task() -> None:
    server = Server("asking")

    @server.tool(task="required")
    async def ask(ctx: Context) -> str:
        await ctx.sample("Hi", max_tokens=5)
        await ctx.list_roots()
        await ctx.elicit_url("Sign", "https://example.org/sign")
        return "asked"

    model = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Ho"}}
    answers = {
        "sampling/createMessage": model,
        "roots/list": {"roots": []},
        "elicitation/create": {"action": "accept"},
    }
    async with conversing(server) as client:
        id = await client.make("ask")
        for method, answer in answers.items():
            asked = await client.came(method)
            assert asked["params"]["_meta"] == related(id)
            reply(client, asked, answer)
        assert await client.text(id) == "asked"


async def test_questions_that_are_returned_are_asked_too() -> None:
    server = Server("asking")

    @server.tool(task="optional")
    async def greet(ctx: Context) -> Any:
        if ctx.input_responses is None:
            schema = {"type": "object", "properties": {"name": {"type": "string"}}}
            params = latest.ElicitRequestFormParams(message="Who?", requested_schema=schema)
            return latest.InputRequiredResult(
                input_requests={"who": latest.ElicitRequest(params=params)}
            )
        return f"Hello, {ctx.input_responses['who'].content['name']}"

    async with conversing(server) as client:
        id = await client.make("greet")
        reply(client, await client.came("elicitation/create"), accept(name="Bo"))
        assert await client.text(id) == "Hello, Bo"


async def test_two_questions_make_one_time_of_waiting() -> None:
    server = Server("asking")

    @server.tool(task="optional")
    async def both(ctx: Context) -> str:
        await ctx.ask_all(ctx.elicit("A?", Name), ctx.elicit("B?", Name))
        return "both"

    async with conversing(server) as client:
        id = await client.make("both")
        first, second = [await client.came("elicitation/create") for _ in range(2)]
        reply(client, first, accept(name="a"))
        assert await client.status(id) == "input_required"
        reply(client, second, accept(name="b"))
        assert await client.text(id) == "both"


async def test_a_question_follows_its_client_to_the_next_connection() -> None:
    server = asking()
    async with conversing(server, last=False) as first:
        id = await first.make("greet")
        asked = await first.came("elicitation/create")
    async with conversing(server) as second:
        assert await second.status(id) == "input_required"
        again = await second.came("elicitation/create")
        assert again["params"] == asked["params"]
        reply(second, again, accept(name="Cy"))
        assert await second.text(id) == "Hello, Cy"


async def test_nothing_is_asked_of_a_client_that_has_given_up_waiting_for_the_result() -> None:
    server, go = Server("asking"), asyncio.Event()

    @server.tool(task="required")
    async def greet(ctx: Context) -> None:
        await go.wait()
        await ctx.elicit("Who?", Name)

    async with conversing(server, last=False) as first, conversing(server) as second:
        id = await first.make("greet")
        result = first.send("tasks/result", taskId=id)
        await first.status(id)
        first.client.send(first.client.speaker.cancel(result))
        await first.status(id)
        await second.status(id)
        go.set()
        assert (await second.came("elicitation/create"))["params"]["_meta"] == related(id)


async def test_a_task_that_is_cancelled_takes_its_question_back() -> None:
    async with conversing(asking()) as client:
        id = await client.make("greet")
        asked = await client.came("elicitation/create")
        await client.ask("tasks/cancel", taskId=id)
        taken = await client.told("notifications/cancelled")
        assert taken == {"requestId": asked["id"], "_meta": related(id)}


async def test_a_question_that_is_not_answered_in_time_fails_where_it_was_asked() -> None:
    server = Server("asking")

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        try:
            await ctx.elicit("Who?", Name, timeout_s=0.01)
        except RequestTimeout:
            return "nobody"
        return "somebody"

    async with conversing(server) as client:
        assert await client.text(await client.make("greet")) == "nobody"


async def test_a_client_that_cannot_be_asked_is_not() -> None:
    server = asking()
    async with talking(server, CORE) as client:
        request = client.speaker.request(
            1, "tools/call", {"name": "greet", "arguments": {}, "task": {}}
        )
        id = (await client.ask(request))["result"]["task"]["taskId"]
        answer = await client.ask(client.speaker.request(2, "tasks/result", {"taskId": id}))
        assert answer["error"]["data"]["requiredCapabilities"] == {"elicitation": {}}


async def test_a_handler_in_a_thread_asks_from_its_task() -> None:
    server = Server("asking")

    @server.tool(task="required")
    def greet(ctx: Context) -> str:
        answer = ctx.blocking.elicit("Who?", Name)
        return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else "Hello"

    async with conversing(server) as client:
        id = await client.make("greet")
        reply(client, await client.came("elicitation/create"), accept(name="Di"))
        assert await client.text(id) == "Hello, Di"


async def test_a_task_goes_on_asking_after_its_call_was_answered_long_ago() -> None:
    server, go = Server("asking"), asyncio.Event()

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        await go.wait()
        first = await ctx.elicit("Who?", Name)
        second = await ctx.elicit("Who else?", Name)
        both = [one.content.name for one in (first, second) if isinstance(one, Accepted)]
        return " and ".join(both)

    async with conversing(server) as client:
        id = await client.make("greet")
        await client.status(id)
        go.set()
        for name in ("Ed", "Flo"):
            reply(client, await client.came("elicitation/create"), accept(name=name))
        assert await client.text(id) == "Ed and Flo"
        assert server.tasks is not None
        await until(lambda: server.tasks and not server.tasks.running)
