"""Malformed messages of a peer are answered at every revision, and never end the session."""

from __future__ import annotations

import mcp_wire
from mcp_gen import Server
from tests.support.malformed import Malformed, each_malformed
from tests.support.peers.raw import talking


@each_malformed(mcp_wire.REVISIONS)
async def test_a_malformed_message_gets_its_error_and_the_next_request_is_served(
    revision: str, malformed: Malformed
) -> None:
    server = Server("echo")

    @server.tool
    async def echo(text: str) -> str:
        return text

    async with talking(server, revision) as client:
        client.send(malformed.make(client.speaker))
        after = await client.ask(client.speaker.call("after", "echo", text="a"))
        assert malformed.is_answered_by(client.came), client.came
        assert after["result"]["content"] == [{"type": "text", "text": "a"}]
