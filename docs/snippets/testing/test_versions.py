"""The weather server with the pytest plugin: one run per protocol version, each frame judged."""

import pytest
from mcp_gen import ClientSession

pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("all")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def mcp_server() -> str:
    return "weather.py"


async def test_a_forecast_is_for_one_day_by_default(mcp_session: ClientSession) -> None:
    said = await mcp_session.call_tool("forecast", {"city": "Oslo"}, returns=str)
    assert said == "1 days of sun in Oslo"


@pytest.mark.mcp_revisions("2025-11-25", "2026-07-28")
async def test_the_tool_is_listed(mcp_session: ClientSession) -> None:
    assert [tool.name async for tool in mcp_session.tools()] == ["forecast"]
