"""Checks that the program in docs/client.md runs as documented."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcp_gen import Accepted, Context, Server
from tests.client.using import using
from tests.support.peers.answering import ASKS

PAGE = Path(__file__).parents[2] / "docs" / "client.md"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the page's program as one module."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    # One is lines out of a function.
    blocks = [block for block in blocks if not block.startswith("await")]
    assert len(blocks) == 5
    module = ModuleType("shown")
    monkeypatch.setitem(sys.modules, "shown", module)
    exec("\n".join(blocks), module.__dict__)
    return module


@dataclass
class City:
    city: str


@dataclass
class Weather:
    celsius: float


def weather_server() -> Server:
    server = Server("weather", declare=["logging"])

    @server.tool
    async def weather(city: str) -> Weather:
        return Weather(21.5)

    @server.tool
    async def ask(ctx: Context) -> str:
        await ctx.log("info", "asking")
        said = await ctx.sample("What?", max_tokens=9)
        answer = await ctx.elicit("Where?", City)
        assert isinstance(answer, Accepted)
        roots = [root.uri for root in await ctx.list_roots()]
        return f"{said.content.text} {answer.content.city} {roots}"  # type: ignore[union-attr]

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return name

    return server


@pytest.mark.parametrize("revision", ASKS)
async def test_the_program_of_the_page_runs(
    revision: str, shown: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    async with using(shown.client, weather_server(), revision) as session:
        assert (await shown.use(session)).celsius == 21.5
        told = await session.call_tool("ask", returns=str)
        assert told == "42 Oslo ['file:///srv/project']"
    assert "asking" in capsys.readouterr().out
