"""The weather server in plain tests: `run` takes a call, or a whole conversation."""

import pytest
from mcp_gen import ClientSession
from mcp_gen.compat.plugin.sync_session import SyncSession

pytestmark = pytest.mark.mcp_revisions("all")


@pytest.fixture
def mcp_server() -> str:
    return "weather.py"


def test_a_forecast(mcp_sync_session: SyncSession) -> None:
    said = mcp_sync_session.run(
        lambda mcp: mcp.call_tool("forecast", {"city": "Oslo"}, returns=str)
    )
    assert said == "1 days of sun in Oslo"


def test_the_tools(mcp_sync_session: SyncSession) -> None:
    tools = mcp_sync_session.collect(lambda mcp: mcp.tools())
    assert [tool.name for tool in tools] == ["forecast"]


def test_two_forecasts(mcp_sync_session: SyncSession) -> None:
    async def compare(mcp: ClientSession) -> bool:
        oslo = await mcp.call_tool("forecast", {"city": "Oslo"}, returns=str)
        rome = await mcp.call_tool("forecast", {"city": "Rome"}, returns=str)
        return oslo == rome

    assert not mcp_sync_session.run(compare)
