"""Checks that the program in docs/schemas.md runs as documented."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mcp_gen import Client
from tests.server.tools.calls import texts

PAGE = Path(__file__).parents[2] / "docs" / "schemas.md"


async def test_the_tool_of_the_page_checks_its_arguments() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    shown: dict[str, Any] = {}
    exec(block, shown)
    async with Client("test") as client:
        session = await client.connect(shown["server"])
        taken = await session.call_tool("order", {"code": "A1"})
        refused = await session.call_tool("order", {"code": "A"})
    assert texts(taken) == ["ordered A1"]
    assert refused.is_error
