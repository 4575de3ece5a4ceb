"""Task-augmented server requests: the client answers as a task, if it has declared so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Accepted, Context, McpError, RequestTimeout, Server
from tests.server.tasks.raw_client import Conversation, conversing
from tests.support.frames import encoded
from tests.support.peers.answering import EVERYTHING, accept

TASKS: Mapping[str, Any] = {
    **EVERYTHING,
    "tasks": {
        "cancel": {},
        "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
    },
}
MODEL = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Ho"}}


@dataclass
class Name:
    name: str


def a_task(status: str = "working", **more: Any) -> dict[str, Any]:
    at = "2030-01-01T00:00:00Z"
    task = {"taskId": "c1", "status": status, "createdAt": at, "lastUpdatedAt": at, "ttl": 1}
    return {**task, "pollInterval": 0, **more}


def asking(timeout_s: float | None = None) -> Server:
    server = Server("asking")

    @server.tool
    async def form(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name, task=True, timeout_s=timeout_s)
        return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else "Hello"

    @server.tool
    async def page(ctx: Context) -> str:
        return type(await ctx.elicit_url("Sign", "https://example.org/sign")).__name__

    @server.tool
    async def model(ctx: Context) -> str:
        answer = await ctx.sample("Hi", max_tokens=5, task=True, timeout_s=timeout_s)
        return str(getattr(answer.content, "text", ""))

    return server


def reply(client: Conversation, asked: Any, result: Any) -> None:
    client.client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "result": result}))


def refuse(client: Conversation, asked: Any) -> None:
    error = {"code": -1, "message": "the user has gone"}
    client.client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "error": error}))


async def test_the_wish_to_open_a_page_is_no_task_also_for_a_client_that_has_tasks() -> None:
    async with conversing(asking(), capabilities=TASKS) as client:
        call = client.send("tools/call", name="page", arguments={})
        asked = await client.came("elicitation/create")
        assert "task" not in asked["params"]
        reply(client, asked, {"action": "accept"})
        assert (await client.answer(call))["content"][0]["text"] == "Accepted"


@pytest.mark.parametrize(
    ("tool", "method", "answer", "text"),
    [
        ("form", "elicitation/create", accept(name="Ann"), "Hello, Ann"),
        ("model", "sampling/createMessage", MODEL, "Ho"),
    ],
)
async def test_a_question_becomes_a_task_that_is_polled_and_fetched(
    tool: str, method: str, answer: Any, text: str
) -> None:
    async with conversing(asking(60), capabilities=TASKS) as client:
        call = client.send("tools/call", name=tool, arguments={})
        asked = await client.came(method)
        assert asked["params"]["task"] == {"ttl": 60_000}
        reply(client, asked, {"task": a_task()})
        for status in ("working", "input_required", "completed"):
            look = await client.came("tasks/get")
            assert look["params"] == {"taskId": "c1"}
            reply(client, look, a_task(status))
        reply(client, await client.came("tasks/result"), answer)
        assert (await client.answer(call))["content"][0]["text"] == text


async def test_a_client_may_answer_at_once_all_the_same() -> None:
    async with conversing(asking(), capabilities=TASKS) as client:
        call = client.send("tools/call", name="form", arguments={})
        reply(client, await client.came("elicitation/create"), accept(name="Bo"))
        assert (await client.answer(call))["content"][0]["text"] == "Hello, Bo"


async def test_a_client_that_does_not_say_so_is_asked_as_ever() -> None:
    async with conversing(asking()) as client:
        call = client.send("tools/call", name="form", arguments={})
        asked = await client.came("elicitation/create")
        assert "task" not in asked["params"]
        reply(client, asked, accept(name="Cy"))
        assert (await client.answer(call))["content"][0]["text"] == "Hello, Cy"


async def test_a_task_that_fails_fails_the_question() -> None:
    server, caught = Server("asking"), asyncio.get_running_loop().create_future()

    @server.tool
    async def form(ctx: Context) -> str:
        try:
            await ctx.elicit("Who?", Name, task=True)
        except McpError as error:
            caught.set_result(error.message)
        return ""

    async with conversing(server, capabilities=TASKS) as client:
        call = client.send("tools/call", name="form", arguments={})
        reply(client, await client.came("elicitation/create"), {"task": a_task("failed")})
        refuse(client, await client.came("tasks/result"))
        await client.answer(call)
        assert await caught == "the user has gone"


async def test_a_task_that_nobody_waits_for_is_cancelled() -> None:
    async with conversing(asking(), capabilities=TASKS) as client:
        call = client.send("tools/call", name="form", arguments={})
        reply(client, await client.came("elicitation/create"), {"task": a_task(pollInterval=9999)})
        await client.ask("ping")
        client.client.send(client.client.speaker.cancel(call))
        taken = await client.came("tasks/cancel")
        assert taken["params"] == {"taskId": "c1"}
        reply(client, taken, a_task("cancelled"))


async def test_a_task_that_takes_too_long_is_cancelled_and_the_question_fails() -> None:
    server, caught = Server("asking"), asyncio.get_running_loop().create_future()

    @server.tool
    async def form(ctx: Context) -> str:
        try:
            await ctx.elicit("Who?", Name, task=True, timeout_s=0.01)
        except RequestTimeout as error:
            caught.set_result(str(error))
        return ""

    async with conversing(server, capabilities=TASKS) as client:
        call = client.send("tools/call", name="form", arguments={})
        reply(client, await client.came("elicitation/create"), {"task": a_task(pollInterval=9999)})
        reply(client, await client.came("tasks/cancel"), a_task("cancelled"))
        await client.answer(call)
        assert "no answer within 0.01 s" in await caught


async def test_a_task_asks_for_a_task() -> None:
    server = Server("asking")

    @server.tool(task="optional")
    async def form(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name, task=True)
        return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else "Hello"

    async with conversing(server, capabilities=TASKS) as client:
        id = await client.make("form")
        reply(client, await client.came("elicitation/create"), {"task": a_task("completed")})
        reply(client, await client.came("tasks/result"), accept(name="Di"))
        assert await client.text(id) == "Hello, Di"
