"""Tools, as the specification wants them."""

from __future__ import annotations

from mcp_gen import Server
from tests.support.connect import Connect
from tests.support.requirement import requirement


def calculator() -> Server:
    server = Server("calculator")

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


@requirement("tools:declared")
async def test_a_server_with_tools_declares_them(connect: Connect) -> None:
    async with connect(calculator) as client:
        told = await client.server()
    assert "tools" in told["capabilities"]
