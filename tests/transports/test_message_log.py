"""Message log: it logs every message, and changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, Server
from mcp_gen.core.transport.protocols import Posts
from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport
from mcp_gen.transports.http_client.transport import HttpTransport
from mcp_gen.transports.memory import memory_pair
from mcp_gen.transports.message_log import logged
from tests.support.frames import PER_REQUEST, every_revision
from tests.support.http.loopback import serving


def server() -> Server:
    made = Server("logged")

    @made.tool
    async def echo(text: str) -> str:
        return text

    return made


@asynccontextmanager
async def over(kind: str, revision: str = PER_REQUEST) -> AsyncIterator[Any]:
    if kind == "http":
        paired = mcp_wire.profile(revision).http_transport == "sse_pair"
        async with serving(server().asgi(legacy_sse_path="/sse")) as web:
            yield LegacySseTransport(f"{web.origin}/sse") if paired else HttpTransport(web.url)
        return
    ours, theirs = memory_pair()
    serve = asyncio.get_running_loop().create_task(server().serve(theirs))
    yield ours
    await serve


@pytest.mark.parametrize("kind", ["memory", "http"])
@every_revision
async def test_messages_of_both_sides_are_written_down(
    kind: str, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "mcp_gen.wire"):
        async with over(kind, revision) as transport, Client("test") as client:
            session = await client.connect(logged(transport), revision=revision)
            await session.call_tool("echo", {"text": "abc"})
    said = [record.getMessage() for record in caplog.records if record.name == "mcp_gen.wire"]
    ways = [line[:2] for line in said if "abc" in line]
    assert ways == ["->", "<-"]
    assert "closed: in order" in said


@pytest.mark.parametrize("kind", ["memory", "http"])
async def test_a_long_message_is_cut_short(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "mcp_gen.wire"):
        async with over(kind) as transport, Client("test") as client:
            session = await client.connect(logged(transport, shown_bytes=50))
            await session.call_tool("echo", {"text": "x" * 1_000})
    said = [record.getMessage() for record in caplog.records if record.name == "mcp_gen.wire"]
    assert all(len(line) < 100 for line in said)
    assert any("bytes more" in line for line in said)


async def test_what_is_posted_is_still_posted() -> None:
    assert isinstance(logged(HttpTransport("http://localhost/mcp")), Posts)
    assert not isinstance(logged(memory_pair()[0]), Posts)
