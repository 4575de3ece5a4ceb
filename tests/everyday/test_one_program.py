"""The same program text, twenty handlers and a client, at every revision."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import Any

import mcp_wire
from tests.everyday.program import Item, Size, guest, shop, use
from tests.support.frames import every_revision

EXPECTED: dict[str, Any] = {
    "tools": [
        *("names", "price", "cheapest", "pack", "found", "forget", "label", "slow"),
        *("order", "describe", "roll", "more"),
    ],
    "names": ["bolt", "nut"],
    "price": 1.5,
    "no price": "ToolError",
    "cheapest": Item("bolt", 0.5),
    "pack": {"size": Size.large, "day": date(2026, 3, 1)},
    "found": ["bolt", None],
    "label": [6],
    "slow": "done",
    "order": "Oslo, True",
    "describe": "Round. ['file:///srv/shop']",
    "roll": "6",
    "forget": None,
    "more": "more",
    "change": "tools",
    "extra": "new",
    "resources": ["shop://motto", "shop://logo"],
    "motto": "Measure twice",
    "item": '{"name":"nut","price":0.25}',
    "no item": "McpError",
    "logo": "BlobResourceContents",
    "praise": "Praise bolt, plain",
    "talk": ["user", "assistant", "user"],
    "cities": ["Lima"],
    "refused": "McpError",
    "heard": ["log halfway", "progress 1", "progress 2"],
}
SOME_CANNOT_ASK = {"order": "McpError"}
"""Differences where a client cannot be asked to fill in a form."""


def expected(revision: str) -> dict[str, Any]:
    """Return what the program does at a revision."""
    asks = revision in mcp_wire.availability("ElicitRequest")
    return EXPECTED if asks else EXPECTED | SOME_CANNOT_ASK


@every_revision
async def test_one_program_does_the_same_at_every_revision(revision: str) -> None:
    heard: list[str] = []
    async with guest(heard) as client:
        session = await client.connect(shop(), revision=revision)
        got = await use(session, heard)
        # What is sent at once may be heard in another order: each kind in its own.
        assert got | {"heard": sorted(heard)} == expected(revision)


@every_revision
async def test_it_does_the_same_in_a_process_of_its_own(revision: str) -> None:
    heard: list[str] = []
    code = "from tests.everyday.program import shop; shop().run('stdio')"
    root = Path(__file__).parents[2]
    async with guest(heard) as client:
        session = await client.connect(
            [sys.executable, "-c", code],
            revision=revision,
            env={"PYTHONPATH": f"{root}:{root / 'generated'}"},
        )
        got = await use(session, heard)
        # What is sent at once may be heard in another order: each kind in its own.
        assert got | {"heard": sorted(heard)} == expected(revision)


def test_the_program_does_not_ask_for_revisions() -> None:
    text = (Path(__file__).parent / "program.py").read_text("utf-8")
    assert [
        word for word in ("revision=", ".revision", ".profile", *mcp_wire.REVISIONS) if word in text
    ] == []
    assert text.count("@server.") + text.count("server.add_tool") >= 20
