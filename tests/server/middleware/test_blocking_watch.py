"""Development mode names what blocks the event loop."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_gen import Client, Server, ToolError
from mcp_gen.server.middleware import blocking_watch
from mcp_gen.server.middleware.blocking_watch import BlockingWatch
from tests.support.frames import every_revision

LIMIT_MS = 20.0


class Clock:
    """Clock of the watch: a loaded machine does not move it."""

    now_s = 0.0
    loop: asyncio.AbstractEventLoop

    def read(self) -> float:
        return self.now_s

    def advance(self) -> None:
        """Let twice the limit pass."""
        self.now_s += 2 * LIMIT_MS / 1000


CLOCK = Clock()


@pytest.fixture(autouse=True)
def fake_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking_watch, "time", SimpleNamespace(perf_counter=CLOCK.read))


def slow_server() -> Server:
    server = Server("slow")

    @server.tool
    async def sleeps() -> str:
        await asyncio.sleep(0)
        CLOCK.advance()
        await asyncio.sleep(0)
        return "done"

    @server.tool
    async def waits() -> str:
        asyncio.get_running_loop().call_soon(CLOCK.advance)
        await asyncio.sleep(0)
        return "done"

    @server.tool
    def threaded() -> str:
        # In the loop, as the step that has started this thread may not be over.
        CLOCK.loop.call_soon_threadsafe(CLOCK.advance)
        return "done"

    @server.tool
    async def fails() -> str:
        CLOCK.advance()
        raise ToolError("it failed")

    @server.resource("slow://a")
    async def resource() -> str:
        CLOCK.advance()
        return "a"

    server.add_middleware(BlockingWatch(LIMIT_MS))
    return server


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


@every_revision
async def test_an_async_tool_that_blocks_is_named_once_with_what_to_do(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client("test") as client:
        session = await client.connect(slow_server(), revision=revision)
        for _ in range(2):
            assert (await session.call_tool("sleeps")).content[0].text == "done"
    (said,) = warnings(caplog)
    assert said.startswith("tool 'sleeps' blocked the event loop for ")
    assert "`asyncio.sleep` for `time.sleep`" in said
    assert said.endswith("write it as a plain `def`, which runs in a thread")


@pytest.mark.parametrize("tool", ["waits", "threaded"])
async def test_a_tool_that_awaits_or_runs_in_a_thread_is_not_named(
    tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    CLOCK.loop = asyncio.get_running_loop()
    async with Client("test") as client:
        session = await client.connect(slow_server())
        assert (await session.call_tool(tool)).content[0].text == "done"
    assert warnings(caplog) == []


async def test_a_tool_that_fails_is_named_and_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with Client("test") as client:
        session = await client.connect(slow_server())
        assert (await session.call_tool("fails")).is_error
    assert [one[:12] for one in warnings(caplog)] == ["tool 'fails'"]


async def test_a_resource_that_blocks_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async with Client("test") as client:
        session = await client.connect(slow_server())
        await session.read_resource("slow://a")
    assert [one[:19] for one in warnings(caplog)] == ["resource 'slow://a'"]


async def test_a_cancellation_reaches_the_handler() -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    async def call_next(params: Any) -> str:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return ""

    calling = asyncio.create_task(BlockingWatch()(None, "a", None, call_next))
    async with asyncio.timeout(10):
        await entered.wait()
        calling.cancel()
        await left.wait()
        await asyncio.wait([calling])
    assert calling.cancelled()


async def test_each_server_of_a_connection_is_watched(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> Server:
        server = Server("each")

        @server.tool
        async def sleeps() -> str:
            CLOCK.advance()
            return "done"

        return server

    servers = Server.per_connection(make)
    servers.add_middleware(BlockingWatch(LIMIT_MS))
    async with Client("test") as client:
        session = await client.connect(servers)
        await session.call_tool("sleeps")
    assert [one[:13] for one in warnings(caplog)] == ["tool 'sleeps'"]
