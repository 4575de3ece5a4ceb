"""Tests of a client: it talks with strict servers, and with servers that break a rule."""

from collections.abc import Sequence

import pytest
from mcp_gen import Client, text_of
from mcp_gen.compat.plugin.zoo import McpZoo

pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("all")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def echoed(command: Sequence[str], text: str) -> str:
    """The program under test: it may be a client of any SDK."""
    async with Client("app") as client:
        session = await client.connect(command)
        return text_of(await session.call_tool("echo", {"text": text}))


async def test_it_talks_with_a_server_of_each_version(mcp_zoo: McpZoo) -> None:
    assert await echoed(mcp_zoo.reference().command, "hello") == "hello"


async def test_it_ignores_members_that_it_does_not_know(mcp_zoo: McpZoo) -> None:
    assert await echoed(mcp_zoo.breaking("base:frames:named").command, "hello") == "hello"
