"""Tasks over HTTP at 2025-11-25: reconnects, sessions and principals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Accepted, Context, Server
from tests.server.tasks.raw_client import CORE, related
from tests.support.frames import server_violations
from tests.support.http.asgi import Open, WebClient, request
from tests.support.loop import until
from tests.support.peers.answering import EVERYTHING, Capable, accept
from tests.support.peers.raw import WAIT_S

INVALID_PARAMS = -32602


@dataclass
class Name:
    name: str


class Surfer(WebClient):
    """Client of the app with a principal, in a session of its own, with increasing ids."""

    user = ""
    last_id = 0

    async def begin(self) -> None:
        name = str(self.speaker.profile.session_header)
        headers = {"x-user": self.user}
        reply = await request(self.app, self.speaker.initialize(0), headers)
        self.session = {name: reply.headers[name.lower()], **headers}
        await self.ask(self.speaker.initialized)

    def begun(self, method: str, **params: Any) -> Open:
        """Send a request and return it open."""
        self.last_id += 1
        return self.post(self.speaker.request(self.last_id, method, params))

    async def result(self, method: str, **params: Any) -> Any:
        """Return the result or the error of a request without streaming."""
        answer = (await self.begun(method, **params).whole()).json
        return answer.get("result", answer.get("error"))

    async def make(self, tool: str) -> str:
        made = await self.result("tools/call", name=tool, arguments={}, task={})
        return str(made["task"]["taskId"])


@asynccontextmanager
async def surfers(server: Server, *users: str) -> AsyncIterator[list[Surfer]]:
    """Open a session for each principal; every frame is checked at the end."""
    app = server.asgi(principal=lambda scope: dict(scope["headers"])[b"x-user"].decode() or None)
    clients = [Surfer(app, Capable(CORE, EVERYTHING)) for _ in users]
    try:
        async with asyncio.timeout(WAIT_S):
            for client, user in zip(clients, users, strict=True):
                client.user = user
                await client.begin()
            yield clients
    finally:
        for client in clients:
            await client.aclose()
        await server.aclose()
    for client in clients:
        assert server_violations(CORE, client.frames()) == []


def asking() -> tuple[Server, asyncio.Event]:
    server, go = Server("http"), asyncio.Event()

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name)
        return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else "Hello"

    @server.tool(task="optional")
    async def work() -> str:
        await go.wait()
        return "done"

    return server, go


def text(frame: Any) -> str:
    return str(frame["result"]["content"][0]["text"])


async def test_a_question_comes_on_the_stream_that_the_result_will_end() -> None:
    server, _ = asking()
    async with surfers(server, "") as (client,):
        id = await client.make("greet")
        await until(lambda: server.tasks and server.tasks.running[id].record.status != "working")
        waiting = client.begun("tasks/result", taskId=id)
        asked = await waiting.frame()
        assert (asked["method"], asked["params"]["_meta"]) == ("elicitation/create", related(id))
        assert (await client.result("tasks/get", taskId=id))["status"] == "input_required"
        await client.answer(asked, accept(name="Ann"))
        assert text(await waiting.frame()) == "Hello, Ann"


async def test_a_question_is_asked_again_where_its_stream_was_dropped() -> None:
    server, _ = asking()
    async with surfers(server, "") as (client,):
        id = await client.make("greet")
        first = client.begun("tasks/result", taskId=id)
        asked = await first.frame()
        first.hang_up()
        await first.ended()
        second = client.begun("tasks/result", taskId=id)
        again = await second.frame()
        assert (again["params"], again["id"] != asked["id"]) == (asked["params"], True)
        await client.answer(again, accept(name="Bo"))
        assert text(await second.frame()) == "Hello, Bo"


async def test_an_answer_may_come_when_its_stream_was_dropped() -> None:
    server, _ = asking()
    async with surfers(server, "") as (client,):
        id = await client.make("greet")
        first = client.begun("tasks/result", taskId=id)
        asked = await first.frame()
        first.hang_up()
        await first.ended()
        await client.answer(asked, accept(name="Cy"))
        assert text((await client.begun("tasks/result", taskId=id).whole()).json) == "Hello, Cy"


async def test_a_question_comes_on_the_stream_for_everything_else() -> None:
    server, _ = asking()
    async with surfers(server, "") as (client,):
        listening = client.get()
        await listening.head()
        id = await client.make("greet")
        told = await listening.frame()
        assert told["params"]["status"] == "input_required"
        await client.answer(await listening.frame(), accept(name="Di"))
        assert text((await client.begun("tasks/result", taskId=id).whole()).json) == "Hello, Di"


async def test_a_task_is_looked_at_without_a_stream() -> None:
    server, _ = asking()
    async with surfers(server, "") as (client,):
        id = await client.make("greet")
        reply = await client.begun("tasks/get", taskId=id).whole()
        assert reply.headers["content-type"] == "application/json"


async def test_a_task_outlives_its_session() -> None:
    server, go = asking()
    async with surfers(server, "", "") as (first, second):
        id = await first.make("work")
        await request(first.app, headers=first.session, method="DELETE")
        assert (await second.result("tasks/get", taskId=id))["status"] == "working"
        waiting = second.begun("tasks/result", taskId=id)
        go.set()
        assert text((await waiting.whole()).json) == "done"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
async def test_another_principal_learns_nothing_of_a_task(method: str) -> None:
    server, _ = asking()
    async with surfers(server, "ann", "bob", "") as (ann, bob, anybody):
        id = await ann.make("work")
        for other in (bob, anybody):
            unknown = await other.result(method, taskId="x")
            assert unknown["code"] == INVALID_PARAMS
            assert await other.result(method, taskId=id) == unknown
        assert (await ann.result("tasks/get", taskId=id))["status"] == "working"


async def test_a_principal_lists_its_own_tasks_from_any_session() -> None:
    server, _ = asking()
    async with surfers(server, "ann", "ann", "bob") as (ann, again, bob):
        id = await ann.make("work")
        for client, ids in ((ann, [id]), (again, [id]), (bob, [])):
            listed = await client.result("tasks/list")
            assert [task["taskId"] for task in listed["tasks"]] == ids


async def test_without_principals_a_session_lists_its_own_tasks() -> None:
    server, _ = asking()
    async with surfers(server, "", "") as (one, other):
        id = await one.make("work")
        assert [task["taskId"] for task in (await one.result("tasks/list"))["tasks"]] == [id]
        assert (await other.result("tasks/list"))["tasks"] == []


async def test_the_end_of_an_app_ends_its_tasks() -> None:
    server, ended = Server("http"), asyncio.Event()

    @server.tool(task="optional")
    async def forever() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with surfers(server, "") as (client,):
        id = await client.make("forever")
        await client.result("tasks/get", taskId=id)
        await client.app.aclose()
        assert ended.is_set()


async def test_without_sessions_tasks_are_made_and_read() -> None:
    server, go = asking()
    app = server.asgi(stateless=True)
    client = WebClient(app, Capable(CORE, {}))
    call = {"name": "work", "arguments": {}, "task": {}}
    made = (await client.ask(client.speaker.request(1, "tools/call", call))).json
    id = made["result"]["task"]["taskId"]
    waiting = client.post(client.speaker.request(2, "tasks/result", {"taskId": id}))
    go.set()
    assert text((await waiting.whole()).json) == "done"
    asked = (await client.ask(client.speaker.initialize(3))).json
    assert "list" not in asked["result"]["capabilities"]["tasks"]
    await client.aclose()
    await server.aclose()
