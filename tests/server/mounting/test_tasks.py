"""Task tools of a mounted server: the outer server owns their tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import Server, Tasks
from mcp_wire.extensions.tasks import EXTENSION
from tests.server.mounting.gateway import gateway
from tests.server.tasks.raw_client import CORE, conversing, directed
from tests.support.frames import PER_REQUEST
from tests.support.peers.connect import talk

SOON = Tasks(grace_s=0.001)


def with_tasks() -> tuple[Server, asyncio.Event]:
    server, go = Server("inner"), asyncio.Event()

    @server.tool(task="optional")
    async def work(label: str = "it") -> str:
        await go.wait()
        return f"{label} is done"

    @server.tool(task="required")
    async def only() -> str:
        return "as a task"

    return server, go


def mounting(*path: str, inner: Server) -> Server:
    """Return a server that mounts another one, through one more server per prefix."""
    for prefix in reversed(path):
        outer = Server(f"around {prefix}", tasks=SOON)
        outer.mount(prefix, inner)
        inner = outer
    return inner


@pytest.mark.parametrize("path", [("w",), ("m", "w")])
async def test_a_client_that_asks_for_tasks_gets_them(path: tuple[str, ...]) -> None:
    inner, go = with_tasks()
    server, lead = mounting(*path, inner=inner), "_".join(path)
    async with conversing(server, CORE) as client:
        tools = (await client.ask("tools/list"))["tools"]
        support = {tool["name"]: tool["execution"]["taskSupport"] for tool in tools}
        assert support == {f"{lead}_work": "optional", f"{lead}_only": "required"}
        id = await client.make(f"{lead}_work", label="tea")
        assert (await client.look(id))["status"] == "working"
        go.set()
        result = await client.ask("tasks/result", taskId=id)
        assert result["content"][0]["text"] == "tea is done"
        assert [one["taskId"] for one in (await client.ask("tasks/list"))["tasks"]] == [id]
        refused = await client.call(f"{lead}_only")
        assert "only runs as a task" in refused["message"]


@pytest.mark.parametrize("path", [("w",), ("m", "w")])
async def test_where_the_server_decides_its_tasks_are_found_outside(path: tuple[str, ...]) -> None:
    inner, go = with_tasks()
    server, lead = mounting(*path, inner=inner), "_".join(path)
    async with directed(server) as client:
        declared = (await client.ask("server/discover"))["capabilities"]
        assert declared["extensions"] == {EXTENSION.identifier: {}}
        id = await client.begin(f"{lead}_work")
        go.set()
        done = await client.standing(id, "completed")
        assert done["result"]["content"][0]["text"] == "it is done"


async def test_tasks_of_several_mounted_servers_are_kept_together() -> None:
    (first, go), (second, _) = with_tasks(), with_tasks()
    server = Server("outer", tasks=SOON)
    server.mount("a", first)
    server.mount("b", second)
    go.set()
    async with conversing(server, CORE) as client:
        ids = {await client.make("a_work"), await client.make("b_work")}
        assert {one["taskId"] for one in (await client.ask("tasks/list"))["tasks"]} == ids


async def test_a_tool_that_comes_later_may_run_as_a_task_too() -> None:
    inner, server = Server("inner"), Server("outer", declare=["tools"])
    server.mount("w", inner)

    @inner.tool(task="optional")
    async def work() -> str:
        return "done"

    async with conversing(server, CORE) as client:
        id = await client.make("w_work")
        result: Any = await client.ask("tasks/result", taskId=id)
        assert result["content"][0]["text"] == "done"


async def test_of_a_remote_server_those_that_need_tasks_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inner, go = with_tasks()
    go.set()
    async with gateway(inner, CORE) as server, talk(lambda: server, CORE) as client:
        tools = (await client.request("tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == ["own", "far_work"]
        assert all("execution" not in tool for tool in tools)
        assert await client.text("far_work") == "it is done"
    assert "'only' can only be called as a task" in caplog.text


async def test_the_tasks_extension_is_not_declared_to_a_remote_server() -> None:
    inner, go = with_tasks()
    go.set()
    async with (
        gateway(inner, PER_REQUEST, extensions=[EXTENSION]) as server,
        directed(server) as client,
    ):
        result = await client.call("far_work")
        assert result["content"][0]["text"] == "it is done"
        refused = await client.call("far_only")
        assert refused["code"] == -32021
