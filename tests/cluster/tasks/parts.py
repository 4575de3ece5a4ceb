"""Servers that are nodes of one cluster in memory, and clients of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp_gen import Accepted, Context, RequestTimeout, Server, Tasks
from mcp_gen.cluster import MemoryCluster, Redis
from mcp_gen.server.tasks.manager import TaskManager
from tests.server.tasks.raw_client import Conversation
from tests.support.frames import encoded
from tests.support.processes.redis_server import ANSWER_S

__all__ = ["Name", "Node", "Work", "cluster_of", "manager_of", "respond", "working"]

POLL_S = 5.0
"""Interval of polls that a test waits out only where the bus does not wake it."""


@dataclass
class Name:
    name: str


@dataclass
class Work:
    """Record of what the tools of all nodes do, and the gate that they wait at."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    began: list[str] = field(default_factory=list[str])
    cancelled: list[str] = field(default_factory=list[str])


@dataclass
class Node:
    """One node: its server and its part of the cluster."""

    server: Server
    cluster: MemoryCluster
    work: Work


def working(work: Work, name: str, tasks: Tasks) -> Server:
    """Return a server with tools that wait and ask."""
    server = Server("node", tasks=tasks, request_timeout_s=None)

    async def wait(word: str) -> None:
        work.began.append(f"{word} at {name}")
        try:
            await work.gate.wait()
        except asyncio.CancelledError:
            work.cancelled.append(word)
            raise

    @server.tool(task="required")
    async def slow(ctx: Context, word: str = "word") -> str:
        await wait(word)
        return f"{word} of {name}"

    @server.tool(task="required", retry=True)
    async def again(word: str = "word") -> str:
        await wait(word)
        return f"{word} of {name}"

    @server.tool(task="required")
    async def greet(ctx: Context) -> str:
        await wait("greet")
        answer = await ctx.elicit("Who?", Name)
        return f"Hello, {answer.content.name}" if isinstance(answer, Accepted) else "Hello"

    @server.tool(task="required")
    async def impatient(ctx: Context) -> str:
        await wait("impatient")
        try:
            await ctx.elicit("Who?", Name, timeout_s=0.05)
        except RequestTimeout:
            # The question is withdrawn though the task goes on.
            await asyncio.Event().wait()
        return "somebody"

    @server.tool(task="optional")
    async def count(ctx: Context) -> str:
        number = await ctx.state.get("n", int, 0) + 1
        await ctx.state.set("n", number)
        return f"{number}, {ctx.session is None}, {ctx.token}, {ctx.headers}"

    @server.tool(task="required")
    async def speak(ctx: Context) -> str:
        assert ctx.task is not None
        await ctx.task.report("first words")
        await wait("speak")
        await ctx.task.report("last words")
        return "spoken"

    return server


def manager_of(node: Node) -> TaskManager:
    manager = node.server.runtime.tasks.manager
    assert manager is not None
    return manager


def default_options() -> Tasks:
    return Tasks(grace_s=0, poll_interval_s=POLL_S)


@asynccontextmanager
async def cluster_of(
    names: str = "ab", options: Callable[[], Tasks] = default_options, url: str | None = None
) -> AsyncGenerator[list[Node]]:
    """Start nodes with one server each; they end together.

    Args:
        names: A letter for each node.
        options: Returns the options of one server.
        url: Address of a redis-server; None for a cluster in memory.
    """
    work, first = Work(), MemoryCluster()
    # Only tests in memory make happen what a MemoryCluster can.
    clusters: list[Any] = [
        Redis(url, timeout_s=ANSWER_S) if url else first.another_node() if index else first
        for index in range(len(names))
    ]
    nodes = [
        Node(working(work, name, options()), cluster, work)
        for name, cluster in zip(names, clusters, strict=True)
    ]
    async with AsyncExitStack() as stack:
        for node in nodes:
            await node.cluster.start()
            stack.push_async_callback(node.cluster.aclose)
            stack.push_async_callback(node.server.aclose)
            node.server.runtime.use_cluster(node.cluster)
        yield nodes


def respond(client: Conversation, asked: Any, result: Any) -> None:
    """Answer a request of the server."""
    client.client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
