"""Nodes in several processes: one order for all, and a process that stands still for too long."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_gen.cluster.redis.cluster import Redis
from mcp_gen.core.stores.failures import NodeGone, NodeSilent
from tests.support.processes.redis_server import RedisServer

from .nodes import TOPIC, started

MESSAGES = 30


class ChildNode:
    """A node in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> list[str]:
        """Return the words of the next line that it prints."""
        assert self._process.stdout is not None
        async with asyncio.timeout(30.0):
            return (await self._process.stdout.readline()).decode().split()

    def go(self) -> None:
        """Let it publish."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"go\n")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self._process.pid, number)

    async def end(self) -> None:
        """End it, and wait."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(30.0):
            assert await self._process.wait() == 0


@asynccontextmanager
async def children(server: RedisServer, count: int) -> AsyncGenerator[list[ChildNode]]:
    """Run nodes in processes of their own."""
    command = [sys.executable, "-m", "tests.cluster.bus.child_node", server.url, str(MESSAGES)]
    processes = [
        await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(count)
    ]
    try:
        yield [ChildNode(process) for process in processes]
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def becomes(node: Redis, other: str, *, is_alive: bool) -> None:
    """Wait until the lease of another node is there, or is gone."""
    async with asyncio.timeout(10.0):
        # Redis tells nobody of it.
        while await node.is_alive(other) != is_alive:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_three_processes_get_all_messages_once_and_in_one_order(
    redis_server: RedisServer,
) -> None:
    async with children(redis_server, 3) as nodes:
        ids = [(await node.line())[1] for node in nodes]
        for node in nodes:
            node.go()
        orders = [[(await node.line())[1] for _ in range(3 * MESSAGES)] for node in nodes]
        for node in nodes:
            await node.end()
            assert await node.line() == []
        assert orders[0] == orders[1] == orders[2]
        expected = {f"{id}-{number}" for id in ids for number in range(MESSAGES)}
        assert set(orders[0]) == expected
        for id in ids:
            own = [body for body in orders[0] if body.startswith(f"{id}-")]
            assert own == [f"{id}-{number}" for number in range(MESSAGES)]


async def test_a_process_that_stood_still_is_silent_then_gone_and_goes_on_as_another(
    redis_server: RedisServer,
) -> None:
    node = redis_server.node()
    async with started([node]), children(redis_server, 1) as [child]:
        [_, id] = await child.line()
        assert await node.bus.ask(id, TOPIC, b"a", 10.0) == b"A"
        child.send(signal.SIGSTOP)
        with pytest.raises(NodeSilent):
            await node.bus.ask(id, TOPIC, b"b", 0.05)
        await becomes(node, id, is_alive=False)
        with pytest.raises(NodeGone):
            await node.bus.ask(id, TOPIC, b"c")
        child.send(signal.SIGCONT)
        [what, old, new] = await child.line()
        assert (what, old) == ("lost", id)
        await becomes(node, new, is_alive=True)
        assert await node.bus.ask(new, TOPIC, b"d", 10.0) == b"D"
        await child.end()
