"""Checks that the client program in docs/tasks.md runs as documented."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcp_gen import Context, Server, Tasks
from tests.client.tasks.test_with_servers import CORE, DIRECTED
from tests.client.using import using

PAGE = Path(__file__).parents[3] / "docs" / "tasks.md"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the page's client program as a module."""
    part = PAGE.read_text("utf-8").partition("## Using tasks")[2]
    block = re.findall(r"```python\n(.*?)```", part, re.DOTALL)[0]
    module = ModuleType("shown")
    monkeypatch.setitem(sys.modules, "shown", module)
    exec(block, module.__dict__)
    return module


def counting() -> Server:
    server = Server("counting", tasks=Tasks(poll_interval_s=0.05, grace_s=0.001))

    @server.tool(task="required")
    async def count(to: int, ctx: Context) -> int:
        await ctx.report_progress(to, to)
        return to

    return server


@pytest.mark.parametrize("revision", [CORE, DIRECTED])
async def test_the_program_of_the_page_works(
    shown: Any, revision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = counting()
    async with using(shown.client, server, revision) as session:
        assert await shown.simply(session) == 1000
        told = await shown.with_a_handle(session)
        id, _, gave = told.partition(" gave ")
        assert gave == "1000"
        assert await shown.after_a_restart(session, id) == 1000
        await shown.given_up(session)
    assert "completed None" in capsys.readouterr().out
    await server.end_tasks()
