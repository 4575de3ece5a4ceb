"""Servers of this process that are still starting when nobody waits for them any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_gen import Client, Server

WAIT_S = 10


async def test_a_server_that_is_starting_is_cancelled_with_the_connect_that_waits_for_it() -> None:
    starting, ended = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def slow(server: Server) -> AsyncGenerator[None]:
        starting.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        yield

    client = Client("test")
    connecting = asyncio.ensure_future(client.connect(Server("slow", lifespan=slow)))
    await asyncio.wait_for(starting.wait(), WAIT_S)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    await asyncio.wait_for(ended.wait(), WAIT_S)
    await client.aclose()
