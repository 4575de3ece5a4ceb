"""The scenario whose tools get their marks for headers later: when they have them."""

from __future__ import annotations

from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.scenarios.core.http_headers import MarksArgumentsLater
from mcp_gen.compat.wire.openers import MemoryOpener
from mcp_gen.core.transport.header_params import MARK
from tests.support.frames import PER_REQUEST


async def test_the_marks_are_there_once_the_last_page_was_listed() -> None:
    opens = MemoryOpener(lambda revision: DuplexServing(MarksArgumentsLater(revision)))
    client = ReferenceClient(opens(PER_REQUEST), PER_REQUEST)
    try:
        await client.open()
        page = (await client.ask("list_tools")).result
        assert "nextCursor" in (page or {})
        first, second = [
            [tool["name"] for tool in await client.list_all("list_tools") if MARK in str(tool)]
            for _ in range(2)
        ]
    finally:
        await client.aclose()
        await opens.aclose()
    assert (first, second) == ([], ["echo"])
