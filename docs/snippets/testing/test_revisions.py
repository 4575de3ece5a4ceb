"""The same conversation at every protocol version, with pytest-asyncio or anyio's plugin."""

import asyncio

import pytest
from mcp_gen import Client
from mcp_wire import REVISIONS

from weather import server


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_forecast_is_the_same_for_every_client(revision: str) -> None:
    async def call() -> str:
        async with Client("test") as client:
            session = await client.connect(server, revision=revision)
            return await session.call_tool("forecast", {"city": "Oslo"}, returns=str)

    assert asyncio.run(call()) == "1 days of sun in Oslo"
