"""Checks that the program in docs/schemas.md runs as documented."""

from __future__ import annotations

from mcp_gen import Client
from tests.docs.programs import program
from tests.server.tools.calls import texts


async def test_the_tool_of_the_page_checks_its_arguments() -> None:
    with program("schemas", "shop") as shown:
        server = shown.server
    async with Client("test") as client:
        session = await client.connect(server)
        taken = await session.call_tool("order", {"code": "A1"})
        refused = await session.call_tool("order", {"code": "A"})
    assert texts(taken) == ["ordered A1"]
    assert refused.is_error
