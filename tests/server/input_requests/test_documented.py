"""Checks that the programs in docs/asking.md run as documented."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.peers.answering import accept, answering, asks

PAGE = Path(__file__).parents[3] / "docs" / "asking.md"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the page's program as one module."""
    monkeypatch.setenv("STATE_KEY", "k" * 32)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    module = ModuleType("shown")
    monkeypatch.setitem(sys.modules, "shown", module)
    for block in blocks:
        if "STATE_KEY" not in block:
            exec(block, module.__dict__)
    return module


@asks
async def test_the_first_program_books(revision: str, shown: Any) -> None:
    async with answering(shown.server, revision, lambda asked: accept(city="Oslo")) as client:
        assert await client.text("book") == "booked: Oslo, window"
    assert client.asked[0].params["requestedSchema"]["properties"]["city"] == {
        "type": "string",
        "title": "City",
        "minLength": 2,
    }


@asks
async def test_the_plain_program_scans(revision: str, shown: Any) -> None:
    async with answering(shown.server, revision, lambda asked: {"roots": []}) as client:
        assert await client.text("scan") == "scan 1: 0 folders"
