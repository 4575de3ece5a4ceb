"""A test that passes by itself, with a server that gives its notifications ids."""

import pytest
from mcp_gen import ClientSession
from mcp_gen.compat.reference.peers import ServerPeer
from mcp_gen.compat.zoo.zoo import zoo

pytestmark = [pytest.mark.anyio, pytest.mark.mcp_revisions("2025-06-18")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def mcp_server(mcp_revision: str) -> ServerPeer:
    return ServerPeer(zoo()["base:notifications:no-id"].breaks, mcp_revision)


async def test_it_counts(mcp_session: ClientSession) -> None:
    await mcp_session.call_tool("count", {"steps": 1})
