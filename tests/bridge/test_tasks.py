"""Tasks through a bridge: of one protocol on both sides, and of one side alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, Context, Server
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_wire.extensions.tasks import EXTENSION
from tests.bridge.behind import through
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.loop import until
from tests.support.peers.asked import WAIT_S
from tests.support.peers.questions import ANSWERS, Name

OLDEST = mcp_wire.REVISIONS[0]


def worker(inside: str) -> Server:
    """Return a server with a tool that only runs as a task."""
    server = Server("worker", revisions=[inside])

    @server.tool(task="required")
    async def work(thing: str) -> str:
        return f"{thing} is done"

    @server.tool(task="required")
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Name)
        return f"{answer.action}ed"

    return server


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
@pytest.mark.parametrize("over", ["memory", "http"])
async def test_tasks_pass_where_both_sides_have_the_same(revision: str, over: str) -> None:
    bridge = Bridge(worker(revision))
    async with Client("agent", tasks=True) as client:
        session = await client.connect(bridge, revision=revision)
        task = await session.start_tool("work", {"thing": "bolt"})
        result = await task.result()
    assert [getattr(one, "text", None) for one in result.content] == ["bolt is done"]
    await bridge.aclose()


@pytest.mark.parametrize("revision", [OLDEST, PER_REQUEST])
async def test_a_tool_that_needs_a_task_is_called_as_one_for_clients_without(
    revision: str,
) -> None:
    async with through(worker(HANDSHAKE), revision) as client:
        assert await client.text("work", thing="bolt") == "bolt is done"


async def test_a_question_of_such_a_task_is_asked_of_the_caller() -> None:
    async with through(worker(HANDSHAKE), PER_REQUEST, answers=ANSWERS) as client:
        assert await client.text("ask") == "accepted"


async def test_a_call_that_is_cancelled_cancels_its_task() -> None:
    server, started, ended = Server("s", revisions=[HANDSHAKE]), asyncio.Event(), asyncio.Event()

    @server.tool(task="required")
    async def wait() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with through(server, PER_REQUEST) as client:
        asked = client.begin("tools/call", {"name": "wait"})
        await asyncio.wait_for(started.wait(), WAIT_S)
        client.cancel(asked)
        await asyncio.wait_for(ended.wait(), WAIT_S)


async def test_a_request_for_a_task_is_a_plain_call_where_the_server_has_none() -> None:
    server = Server("s", revisions=[PER_REQUEST])
    server.add_tool(lambda: "x", name="plain")
    async with through(server, HANDSHAKE) as client:
        assert "tasks" not in client.opening["capabilities"]
        result = await client.request("tools/call", {"name": "plain", "task": {"ttl": 1000}})
        assert result["content"][0]["text"] == "x"
        refused = await client.refusal("tasks/get", {"taskId": "1"})
    assert refused.code == mcp_wire.profile(HANDSHAKE).errors.method_not_found


async def test_the_extension_is_not_offered_in_front_of_a_server_without_it() -> None:
    declares: dict[str, Any] = {"extensions": {EXTENSION.identifier: {}}}
    async with through(worker(HANDSHAKE), PER_REQUEST, capabilities=declares) as client:
        found = await client.request("server/discover")
        assert not found["capabilities"].get("extensions")
        refused = await client.refusal("tasks/get", {"taskId": "1"})
    assert refused.code == mcp_wire.profile(PER_REQUEST).errors.method_not_found


async def test_tasks_of_the_client_are_not_declared_to_the_server() -> None:
    seen: list[Any] = []
    server = Server("s", revisions=[HANDSHAKE])
    server.hooks.session_opened(lambda session: seen.append(session.client_capabilities))
    capabilities: dict[str, Any] = {"tasks": {"list": {}}, "roots": {}}
    async with through(server, HANDSHAKE, over="http", capabilities=capabilities) as client:
        assert client.opening["serverInfo"]["name"] == "s"
    (declared,) = seen
    assert declared.roots is not None
    assert "tasks" not in declared.extra


async def test_notifications_of_extension_tasks_are_not_granted() -> None:
    declares: dict[str, Any] = {"extensions": {EXTENSION.identifier: {}}}
    server = worker(PER_REQUEST)
    async with through(server, PER_REQUEST, over="http", capabilities=declares) as client:
        asked = client.begin("subscriptions/listen", {"notifications": {"taskIds": ["1"]}})
        await until(lambda: asked.notices)
    assert asked.notices[0]["params"]["notifications"] == {}
