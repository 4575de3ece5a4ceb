"""Checks that the gateway example runs as documented."""

from __future__ import annotations

import runpy
from pathlib import Path

from mcp_gen import Server
from tests.support.frames import each_lifecycle
from tests.support.peers.connect import talk
from tests.support.peers.questions import ANSWERS

EXAMPLE = Path(__file__).parents[3] / "examples" / "gateway_server.py"


@each_lifecycle
async def test_the_gateway_has_tools_of_three_servers(revision: str) -> None:
    gateway: Server = runpy.run_path(str(EXAMPLE))["gateway"]
    answers = {"elicitation/create": lambda asked: {"action": "decline"}}
    async with talk(lambda: gateway, revision, answers={**ANSWERS, **answers}) as client:
        names = await client.names("tools/list", "tools")
        assert sorted(names) == ["about", "notes_delete", "weather_forecast"]
        assert await client.text("weather_forecast", city="Oslo") == "sun in Oslo"
        assert await client.text("notes_delete", name="shopping") == "shopping is still there"
        read = await client.request("resources/read", {"uri": "note://shopping"})
        assert read["contents"][0]["text"] == "bolts, nuts"
