"""The strict peers as users have them: a server for any client, a client for any server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_gen import Client, Server
from mcp_gen.compat.json_values import member
from mcp_gen.compat.reference.peers import ServerPeer, reference_client, reference_server
from mcp_gen.compat.reference.server import ReferenceServer
from tests.support.frames import every_revision

ECHO = {"name": "echo", "arguments": {"text": "hello"}}


@every_revision
async def test_the_strict_server_serves_any_client_in_this_process(revision: str) -> None:
    server = reference_server(revision)
    for name in ("one", "two"):
        async with Client(name, validation="strict") as client:
            session = await client.connect(server, revision=revision)
            await session.call_tool("echo", {"text": name})
    assert len(server.transcripts) == 2, "one per client"
    assert all(one.revision == revision for one in server.transcripts)


@every_revision
async def test_the_strict_client_and_server_get_on_in_a_process(revision: str) -> None:
    async with reference_client(revision, reference_server(revision)) as client:
        reply = await client.ask("call_tool", ECHO)
    assert member(reply.result, "content") == [{"type": "text", "text": "hello"}]


async def test_the_strict_client_starts_the_command_of_the_strict_server(tmp_path: Path) -> None:
    server = ServerPeer(ReferenceServer, "2025-06-18", log=tmp_path / "log")
    async with reference_client("2025-06-18", server.command) as client:
        reply = await client.ask("call_tool", ECHO)
        said = list(client.transcript.messages())
    assert reply.result is not None
    (transcript,) = server.transcripts
    assert transcript.transport == "stdio"
    assert [event.data for event in transcript.messages()] == [event.data for event in said]


async def test_a_command_without_a_folder_writes_nothing_down() -> None:
    server = reference_server("2025-06-18")
    assert server.command[0] == sys.executable
    async with reference_client("2025-06-18", server.command) as client:
        assert client.agreed == "2025-06-18"
    assert server.transcripts == []


async def test_the_strict_client_judges_any_server() -> None:
    server = Server("adder")

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async with reference_client("2024-11-05", server) as client:
        call = {"name": "add", "arguments": {"a": 1, "b": 2}}
        reply = await client.ask("call_tool", call)
    assert member(reply.result, "content") == [{"type": "text", "text": "3"}]


def test_a_revision_that_there_is_not_is_refused() -> None:
    with pytest.raises((LookupError, ValueError)):
        reference_server("2025-06-19")
