"""Messages, errors and metadata of clients."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from mcp_gen import McpError, ProtocolError
from tests.client.scripted import Scripted
from tests.server.spec.servers import TEXT, rich, waiting
from tests.support.reach import Reach
from tests.support.requirement import requirement

ODD = 'Grüße, 你好, 🎉\n"and" a second line\u2028or a third'


@requirement("base:client:json-rpc", "base:client:supported", "base:client:utf-8")
async def test_a_client_speaks_at_every_revision(reach: Reach) -> None:
    async with reach(rich()) as reached:
        answer = await reached.session.call_tool("echo", {"text": ODD})
        assert answer.content[0].text == ODD
        assert (await reached.session.read_resource("test://text")).contents[0].text == TEXT
        for data in reached.sent_bytes():
            data.decode("utf-8")
        assert {one["jsonrpc"] for one in reached.sent} == {"2.0"}
