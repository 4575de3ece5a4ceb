"""Tests of a client: it talks with a strict server, and with servers that break a rule."""

import pytest
from weather_client import echoed

from mcp_gen.compat.plugin.zoo import McpZoo

pytestmark = pytest.mark.mcp_revisions("all")


async def test_it_gets_on_with_a_server_of_each_version(mcp_zoo: McpZoo) -> None:
    assert await echoed(mcp_zoo.reference().command, "hello") == "hello"


async def test_it_copes_with_a_server_that_sends_unknown_members(mcp_zoo: McpZoo) -> None:
    assert await echoed(mcp_zoo.breaking("base:frames:named").command, "hello") == "hello"


async def test_it_gets_on_with_a_server_over_http(mcp_zoo: McpZoo) -> None:
    assert await echoed(mcp_zoo.reference().url, "hello") == "hello"
