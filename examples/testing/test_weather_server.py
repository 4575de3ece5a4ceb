"""Tests of a server at every protocol version: each frame of each test is judged as well."""

import pytest

from mcp_gen import ClientSession, ToolError
from mcp_gen.compat.plugin.sync_session import SyncSession

pytestmark = pytest.mark.mcp_revisions("all")


async def test_a_forecast_is_for_one_day_by_default(mcp_session: ClientSession) -> None:
    said = await mcp_session.call_tool("forecast", {"city": "Oslo"}, returns=str)
    assert said == "1 days of sun in Oslo"


async def test_a_forecast_has_a_limit(mcp_session: ClientSession) -> None:
    with pytest.raises(ToolError, match="at most 7 days"):
        await mcp_session.call_tool("forecast", {"city": "Oslo", "days": 8}, returns=str)


async def test_packing_reports_its_progress(mcp_session: ClientSession) -> None:
    steps: list[float] = []
    await mcp_session.call_tool(
        "pack",
        {"items": ["umbrella", "hat"]},
        progress=lambda progress, total, message: steps.append(progress),
    )
    assert steps == [1, 2]


async def test_the_cities_are_a_resource(mcp_session: ClientSession) -> None:
    result = await mcp_session.read_resource("weather://cities")
    assert "Oslo" in str(result.contents[0])


@pytest.mark.mcp_revisions("2025-06-18", "2026-07-28")
async def test_the_hint_of_a_tool_is_listed(mcp_session: ClientSession) -> None:
    (tool,) = [tool async for tool in mcp_session.tools() if tool.name == "forecast"]
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint


def test_a_plain_function_can_ask_for_a_forecast_too(mcp_sync_session: SyncSession) -> None:
    said = mcp_sync_session.run(
        lambda mcp: mcp.call_tool("forecast", {"city": "Rome"}, returns=str)
    )
    assert said == "1 days of sun in Rome"
    tools = mcp_sync_session.collect(lambda mcp: mcp.tools())
    assert {tool.name for tool in tools} == {"forecast", "pack"}
