"""Tests of the weather server: in memory, without a process or a socket."""

from collections.abc import AsyncIterator

import pytest
from mcp_gen import Client, ClientSession, ToolError

from weather import server

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with Client("test") as client:
        yield await client.connect(server)


async def test_a_forecast_is_for_one_day_by_default(session: ClientSession) -> None:
    said = await session.call_tool("forecast", {"city": "Oslo"}, returns=str)
    assert said == "1 days of sun in Oslo"


async def test_a_forecast_has_a_limit(session: ClientSession) -> None:
    with pytest.raises(ToolError, match="at most 7 days"):
        await session.call_tool("forecast", {"city": "Oslo", "days": 8}, returns=str)
