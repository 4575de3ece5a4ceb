"""Pydantic and attrs are loaded by programs that use them, and by no others."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, dataclasses, datetime, sys
from mcp_gen import Client, Server

@dataclasses.dataclass
class Trip:
    city: str
    day: datetime.date

server = Server("kinds")

@server.tool
def plan(trip: Trip, **more: int) -> Trip:
    return trip

async def main() -> None:
    async with Client("test") as client:
        session = await client.connect(server)
        trip = Trip("Ulm", datetime.date(2026, 1, 2))
        assert await session.call_tool("plan", {"trip": trip, "a": 1}, returns=Trip) == trip

asyncio.run(main())
print(*sorted({"pydantic", "attr"} & sys.modules.keys()))
"""


def test_no_library_of_models_is_loaded_without_a_model() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.split() == []
