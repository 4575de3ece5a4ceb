"""Spec tests of stdio and custom transports."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import msgspec

from mcp_gen import Context, Server
from tests.server.spec.servers import TEXT, rich, waiting
from tests.support.checks.watch import watch
from tests.support.frames import Speaker
from tests.support.peers.connect import Connect
from tests.support.requirement import requirement

WAIT_S = 30.0


@requirement("stdio:lines")
async def test_line_breaks_in_a_text_do_not_break_a_message(connect: Connect) -> None:
    async with connect(rich) as client:
        for text in (TEXT, "\n", "\r\n", "a\u2028b\u2029c\u0085d", "\x0b\x0c\x1c"):
            assert await client.text("echo", text=text) == text


def noisy() -> Server:
    """Return a server that writes to stdout in every way there is."""
    server = Server("noisy")
    print("printed before serving")

    @server.tool
    def shout() -> str:
        print("printed by a tool")
        os.write(1, b"written by a tool\n")
        subprocess.run(["echo", "echoed by a child"], check=True)
        return "shouted"

    return server


@requirement("stdio:stdout-clean")
async def test_what_a_server_prints_is_no_message(connect: Connect) -> None:
    async with connect(noisy) as client:
        assert await client.text("shout") == "shouted"
        await client.settled()
    assert all(frame["jsonrpc"] == "2.0" for frame in client.frames)
    assert {"printed by a tool", "written by a tool", "echoed by a child"} <= set(client.log)


@requirement("stdio:exit")
async def test_the_server_is_gone_soon_after_its_stdin_has_ended(connect: Connect) -> None:
    async with connect(rich) as client:
        await client.settled()
        await client.end()
        async with asyncio.timeout(WAIT_S):
            await client.hung_up.wait()


@requirement("transports:directions")
async def test_requests_and_notifications_get_there_and_answers_and_notifications_come_back(
    connect: Connect,
) -> None:
    async with connect(waiting) as client:
        asked = client.begin("tools/call", {"name": "hold"}, meta={"progressToken": "p"})
        await client.hears("notifications/progress")
        client.cancel(asked)
        assert await client.text("until_stopped") == "stopped"


@requirement("transports:custom:lines")
async def test_over_a_socket_messages_are_lines_too(connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    speaker, seen = Speaker(connect.revision), watch()
    async with rich().serve_unix(path):
        reader, writer = await asyncio.open_unix_connection(path)
        for message in (speaker.call(1, "echo", text="a\nb"), speaker.call(2, "echo", text=TEXT)):
            seen.saw("client", message)
            writer.write(message + b"\n")
        lines = [await asyncio.wait_for(reader.readline(), 30) for _ in range(2)]
        writer.close()
        await writer.wait_closed()
    for line in lines:
        seen.saw("server", line)
    texts = [msgspec.json.decode(line)["result"]["content"][0]["text"] for line in lines]
    assert sorted(texts) == sorted(["a\nb", TEXT])


def telling() -> Server:
    """Return a server that returns what it knows of its client's credentials."""
    server = Server("telling")

    @server.tool
    async def known(ctx: Context) -> str:
        return f"{ctx.headers} {ctx.principal}"

    return server


@requirement("authorization:stdio")
async def test_over_stdio_nobody_is_asked_for_credentials(connect: Connect) -> None:
    async with connect(telling) as client:
        assert await client.text("known") == "None None"
