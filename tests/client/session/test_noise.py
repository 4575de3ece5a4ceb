"""Messages that a client refuses: bytes that are no message, and results that are too large."""

from __future__ import annotations

import asyncio
import logging

import pytest

from mcp_gen import Client, ProtocolError
from mcp_gen.session.duplex.refusals import MAX_LINES_PER_S
from tests.support.frames import HANDSHAKE, encoded
from tests.support.peers.asked import WAIT_S
from tests.support.peers.scripted import MemoryPeer, opening

NOISE = 1_000
END = encoded({"jsonrpc": "2.0", "id": "end", "method": "ping"})


async def answers_to(*messages: bytes) -> list[object]:
    """Return the errors that a client sends for these messages of its server."""
    server = MemoryPeer(opening(HANDSHAKE))
    async with asyncio.timeout(WAIT_S), Client("test") as client:
        await client.connect(await server.start(), revision=HANDSHAKE)
        for message in (*messages, END):
            server.say(message)
        await server.answer_to("end")
    return [frame for frame in server.asked if "error" in frame]


async def test_refused_messages_without_an_id_are_answered_as_often_as_they_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "mcp_gen.client"):
        answers = await answers_to(*[b"this is no message"] * NOISE)
    logged = [line for line in caplog.messages if line.startswith("refused a message")]
    # A slow machine may need more than the second in which so many are logged.
    assert MAX_LINES_PER_S <= len(answers) == len(logged) < NOISE // 10


async def test_each_refused_message_with_an_id_is_answered() -> None:
    no_frames = [encoded({"jsonrpc": "1.0", "id": n, "method": "ping"}) for n in range(NOISE)]
    assert len(await answers_to(*no_frames)) == NOISE


async def test_the_error_for_a_result_with_too_many_values_names_the_option() -> None:
    server = MemoryPeer({**opening(HANDSHAKE), "tools/call": lambda _: {"content": [0] * 200}})
    async with asyncio.timeout(WAIT_S), Client("test", max_values=100) as client:
        session = await client.connect(await server.start(), revision=HANDSHAKE)
        with pytest.raises(ProtocolError, match=r"at most 100 .*`Client\(max_values=\)` allows"):
            await session.call_tool("any")


async def test_the_error_for_a_result_that_is_too_deep_names_no_option() -> None:
    server = MemoryPeer(opening(HANDSHAKE))
    async with asyncio.timeout(WAIT_S), Client("test") as client:
        session = await client.connect(await server.start(), revision=HANDSHAKE)
        calling = asyncio.ensure_future(session.call_tool("any"))
        id = (await server.heard("tools/call"))["id"]
        deep = b"[" * 2_000 + b"]" * 2_000
        server.say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":%b}}' % (id, deep))
        with pytest.raises(ProtocolError) as caught:
            await calling
    assert "max_values" not in str(caught.value)
