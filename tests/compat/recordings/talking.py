"""Conversations that are recorded: a client of one revision, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.method_names import NoSuchMethod
from mcp_gen.compat.plugin.listening import listening
from mcp_gen.compat.recordings.redactor import Redactor
from mcp_gen.compat.recordings.replaying.replay import ReplayReport, replay
from mcp_gen.compat.recordings.taps.command import tap_command
from mcp_gen.compat.recordings.taps.http import tap_url
from mcp_gen.compat.recordings.writer import RecordingWriter, new_file
from mcp_gen.compat.reference.client import Answers, ReferenceClient
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire.duplex import DuplexWire
from mcp_gen.compat.wire.openers import CommandOpener, HttpOpener, MemoryOpener
from mcp_gen.transports.streams import StreamTransport
from mcp_wire import profile
from tests.compat.recordings.shelf import make

SHELF = (sys.executable, "-m", "tests.compat.recordings.shelf")
POINTERS = ("/params/arguments/body",)
WAIT_S = 30.0

Talk = Callable[[ReferenceClient], Awaitable[None]]


async def talk(client: ReferenceClient) -> None:
    """Use everything that the server of the tests has."""
    await client.open()
    for name in ("list_tools", "list_resources", "list_prompts"):
        await client.list_all(name)
    await call(client, "count", {"item": "bolt"})
    arguments = {"api_key": "planted-key", "body": "planted-body"}
    await call(client, "open_shelf", arguments, {client.profile.progress_token_key: "p"})
    await call(client, "ask", {})
    await call(client, "refuse", {"password": "planted-password"})
    await client.ask("read_resource", {"uri": "shelf://settings"})
    await client.ask("get_prompt", {"name": "order", "arguments": {"item": "bolt"}})
    try:
        await client.ask("ping")
    except NoSuchMethod:
        await client.ask("discover")


async def open_alone(client: ReferenceClient) -> None:
    """Open the connection, and leave."""
    await client.open()


async def call(
    client: ReferenceClient, name: str, arguments: Json, meta: Json | None = None
) -> None:
    params = {"name": name, "arguments": arguments}
    await client.call_through("call_tool", params, meta=meta)


class Named(Answers):
    """Answers of a user whose name is a secret of the test."""

    def elicit(self, params: dict[str, object]) -> dict[str, object]:
        return {"action": "accept", "content": {"name": "Ada"}}


def writer_of(
    path: Path, transport: str, *, max_bytes: int = 1_000_000, max_message_bytes: int = 100_000
) -> RecordingWriter:
    file, _ = new_file(path)
    return RecordingWriter(
        file,
        Redactor(POINTERS),
        transport="http" if transport == "http" else "stdio",
        server="shelf",
        pointers=POINTERS,
        max_bytes=max_bytes,
        max_message_bytes=max_message_bytes,
    )


async def record_stdio(
    path: Path, revision: str, talks: Talk = talk, command: Sequence[str] = SHELF
) -> int:
    """Record a conversation with a command; return the exit code of the tap."""
    writer = writer_of(path, "stdio")
    ours, theirs = socket.socketpair()
    with theirs:
        fd = theirs.fileno()
        tapping = asyncio.create_task(
            asyncio.to_thread(tap_command, command, writer, client_in=fd, client_out=fd)
        )
        transport = StreamTransport(*await asyncio.open_connection(sock=ours))
        wire = DuplexWire(transport, Transcript(revision, "stdio"))
        client = ReferenceClient(wire, revision, answers=Named(), timeout_s=WAIT_S)
        try:
            await talks(client)
        finally:
            await client.aclose()
            status = await tapping
            writer.aclose()
    return status


async def record_http(path: Path, revision: str, url: str, talks: Talk = talk) -> None:
    """Record a conversation with a server over HTTP."""
    writer = writer_of(path, "http")
    async with tap_url(url, writer) as (own, _):
        wire = HttpOpener(
            f"{own}?q=planted-query",
            headers={"Authorization": "Bearer planted-token", "Cookie": "a=planted-cookie"},
        )(revision)
        client = ReferenceClient(wire, revision, answers=Named(), timeout_s=WAIT_S)
        try:
            await talks(client)
        finally:
            await client.aclose()
    writer.aclose()


@asynccontextmanager
async def shelf_url(revision: str, *, is_changed: bool = False) -> AsyncGenerator[str]:
    """Serve the server of the tests over HTTP in this process."""
    app = make(is_changed=is_changed).asgi(legacy_sse_path="/sse")
    path = "/sse" if profile(revision).http_transport == "sse_pair" else "/mcp"
    async with listening(app, path) as url:
        yield url


async def replay_memory(
    path: Path, *, is_changed: bool = False, as_: str | None = None, ignored: Sequence[str] = ()
) -> ReplayReport:
    """Replay against the server of the tests in this process."""
    server = make(is_changed=is_changed)
    opens = MemoryOpener(lambda revision: server)
    try:
        return await replay(path, opens, revision=as_, ignored=ignored, timeout_s=WAIT_S)
    finally:
        await server.aclose()
        await opens.aclose()


async def replay_command(path: Path) -> ReplayReport:
    """Replay against a process of the server of the tests."""
    return await replay_with(path, SHELF)


async def replay_with(path: Path, command: Sequence[str]) -> ReplayReport:
    """Replay against a process of a command."""
    stderr = os.open(os.devnull, os.O_WRONLY)
    try:
        return await replay(path, CommandOpener(command, stderr=stderr), timeout_s=WAIT_S)
    finally:
        os.close(stderr)


async def replay_url(path: Path, url: str, as_: str | None = None) -> ReplayReport:
    """Replay against a server over HTTP."""
    return await replay(path, HttpOpener(url), revision=as_, timeout_s=WAIT_S)
