"""The revision of a request is read from `_meta` alone."""

from __future__ import annotations

import pytest

import mcp_wire
from mcp_gen import Server
from tests.support.frames import PER_REQUEST, every_revision, with_handshake
from tests.support.peers.raw import talking

KEY = mcp_wire.VERSION_KEYS[PER_REQUEST]


def make_server() -> Server:
    server = Server("echo")

    @server.tool
    async def echo(text: str = "", inner: dict[str, str] | None = None) -> str:
        return text or str(inner)

    return server


@every_revision
@pytest.mark.parametrize(
    "arguments", [{"text": KEY}, {"text": f'"{KEY}":'}, {"inner": {KEY: PER_REQUEST}}]
)
async def test_arguments_that_talk_of_revisions_name_none(
    revision: str, arguments: dict[str, object]
) -> None:
    async with talking(make_server(), revision) as client:
        answer = await client.ask(client.speaker.call(1, "echo", **arguments))
        assert KEY in answer["result"]["content"][0]["text"]


@with_handshake
async def test_a_client_may_talk_of_revisions_in_its_handshake(revision: str) -> None:
    async with talking(make_server(), revision, opened=False) as client:
        message = client.speaker.initialize(0).replace(b'"raw"', f'"{KEY}"'.encode())
        assert (await client.ask(message))["result"]["protocolVersion"] == revision
