"""Tasks over HTTP at 2026-07-28, where requests are self-contained."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Accepted, Context, Server, Tasks
from tests.server.tasks.raw_client import DECLARED, DIRECTED
from tests.support.frames import server_violations
from tests.support.http.asgi import Open, WebClient
from tests.support.loop import until
from tests.support.peers.answering import Capable, accept
from tests.support.peers.raw import WAIT_S

INVALID_PARAMS, HEADER_MISMATCH = -32602, -32020


@dataclass
class Name:
    name: str


class Surfer(WebClient):
    """Client of the app with a principal, with increasing ids."""

    user = ""
    last_id = 0

    def begun(self, method: str, **params: Any) -> Open:
        """Send a request and return it open."""
        self.last_id += 1
        more = {"mcp_name": params["taskId"]} if "taskId" in params else {}
        message = self.speaker.request(self.last_id, method, params)
        return self.post(message, x_user=self.user, **more)

    async def ask_for(self, method: str, **params: Any) -> Any:
        """Return the result or the error of a request without streaming."""
        answer = (await self.begun(method, **params).whole()).json
        return answer.get("result", answer.get("error"))

    async def begin(self, tool: str) -> str:
        made = await self.ask_for("tools/call", name=tool, arguments={})
        return str(made["taskId"])

    async def standing(self, id: str, status: str) -> Any:
        task = await self.ask_for("tasks/get", taskId=id)
        while task["status"] != status:
            task = await self.ask_for("tasks/get", taskId=id)
        return task


@asynccontextmanager
async def surfers(server: Server, *users: str) -> AsyncIterator[list[Surfer]]:
    """Return a client for each principal; every frame is checked at the end."""
    app = server.asgi(principal=lambda scope: dict(scope["headers"])[b"x-user"].decode() or None)
    clients = [Surfer(app, Capable(DIRECTED, DECLARED)) for _ in users]
    try:
        for client, user in zip(clients, users, strict=True):
            client.user = user
        async with asyncio.timeout(WAIT_S):
            yield clients
    finally:
        for client in clients:
            await client.aclose()
        await server.aclose()
    extensions = server.runtime.kernel.extensions
    for client in clients:
        assert server_violations(DIRECTED, client.frames(), extensions=extensions) == []


def a_server(grace_s: float = 0.001) -> tuple[Server, asyncio.Event, asyncio.Event]:
    """Return a server, the event that ends `work`, and the event set when it has started."""
    server, go, began = (
        Server("http", tasks=Tasks(grace_s=grace_s)),
        asyncio.Event(),
        asyncio.Event(),
    )

    @server.tool(task="optional")
    async def work() -> str:
        began.set()
        await go.wait()
        return "done"

    @server.tool(task="optional")
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name)
        return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else "Hello"

    return server, go, began


async def test_a_task_is_made_and_read() -> None:
    server, go, _ = a_server()
    async with surfers(server, "") as (client,):
        id = await client.begin("work")
        go.set()
        task = await client.standing(id, "completed")
        assert task["result"]["content"][0]["text"] == "done"


async def test_a_question_is_asked_and_answered() -> None:
    server, _, _ = a_server()
    async with surfers(server, "") as (client,):
        id = await client.begin("greet")
        (key,) = (await client.standing(id, "input_required"))["inputRequests"]
        await client.ask_for("tasks/update", taskId=id, inputResponses={key: accept(name="Ann")})
        task = await client.standing(id, "completed")
        assert task["result"]["content"][0]["text"] == "Hello, Ann"


async def test_who_hangs_up_before_there_is_a_task_has_cancelled_the_call() -> None:
    server, _, began = a_server(grace_s=30)
    async with surfers(server, "") as (client,):
        call = client.begun("tools/call", name="work", arguments={})
        await began.wait()
        await call.watched()
        call.hang_up()
        await call.ended()
        await until(lambda: server.tasks and not server.tasks.running)


async def test_who_hangs_up_after_that_has_not() -> None:
    server, go, _ = a_server()
    async with surfers(server, "") as (client,):
        call = client.begun("tools/call", name="work", arguments={})
        id = (await call.whole()).json["result"]["taskId"]
        call.hang_up()
        await call.ended()
        go.set()
        await client.standing(id, "completed")


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_the_header_repeats_the_id(method: str) -> None:
    server, _, _ = a_server()
    async with surfers(server, "") as (client,):
        id = await client.begin("work")
        params = {"taskId": id, "inputResponses": {}}
        message = client.speaker.request(9, method, params)
        reply = await client.ask(message, mcp_name="another", x_user="")
        assert (reply.status, reply.json["error"]["code"]) == (400, HEADER_MISMATCH)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_another_principal_learns_nothing_of_a_task(method: str) -> None:
    server, _, _ = a_server()
    async with surfers(server, "ann", "bob", "") as (ann, bob, anybody):
        id = await ann.begin("work")
        for other in (bob, anybody):
            unknown = await other.ask_for(method, taskId="x", inputResponses={})
            assert unknown["code"] == INVALID_PARAMS
            assert await other.ask_for(method, taskId=id, inputResponses={}) == unknown
        assert (await ann.ask_for("tasks/get", taskId=id))["status"] == "working"


async def test_a_principal_hears_of_its_own_tasks_alone() -> None:
    server, go, _ = a_server()
    async with surfers(server, "ann", "bob") as (ann, bob):
        id = await ann.begin("work")
        mine, theirs = (
            one.begun("subscriptions/listen", notifications={"taskIds": [id]}) for one in (ann, bob)
        )
        assert (await mine.frame())["params"]["notifications"] == {"taskIds": [id]}
        assert (await theirs.frame())["params"]["notifications"] == {}
        go.set()
        assert (await mine.frame())["params"]["status"] == "completed"
        assert len(theirs.messages) == 1


async def test_the_end_of_an_app_ends_its_tasks() -> None:
    server, _, _ = a_server()
    async with surfers(server, "") as (client,):
        await client.begin("work")
        await client.app.aclose()
        assert server.tasks is not None
        assert server.tasks.running == {}
