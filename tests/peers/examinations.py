"""Examinations by the doctor of servers that others have made, each run once."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import mcp_wire
from examples.everything_server import server as ours
from mcp_gen.compat.checks.trial import Opens, ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.wire.openers import CommandOpener, HttpOpener
from tests.support.http.loopback import serving
from tests.support.ports import free_port
from tests.support.processes.child import started

EXAMINED = Path(__file__).parent / "examined"
OURS = "examples/everything_server.py"
EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
PORT = re.compile(r"^port (\d+)$", re.MULTILINE)
TIMEOUT_S = 3.0
OLDEST = "2024-11-05"

SHELF = (
    ToolCall("add", {"a": 1, "b": 2}),
    ToolCall("scan", {"shelves": 2}),
    ToolCall("count", {}),
    ToolCall("lend", {"title": "none"}),
)
"""Calls of the servers that are made for this."""
OF_EVERYTHING = (
    ToolCall("echo", {"message": "hello"}),
    ToolCall("get-tiny-image", {}),
    ToolCall("get-structured-content", {"location": "New York"}),
    ToolCall("trigger-long-running-operation", {"duration": 0.5, "steps": 2}),
)
OF_OURS = (
    ToolCall("echo", {"text": "hello"}),
    ToolCall("add", {"a": 1, "b": 2}),
    ToolCall("mixture", {}),
    ToolCall("count", {"to": 3, "pause_s": 0.01}),
    ToolCall("chatter", {}),
    ToolCall("fail", {"reason": "no"}),
)
CALLS = {"everything": OF_EVERYTHING, "ours": OF_OURS}
"""Calls by server; `SHELF` for the others."""


class Examined(NamedTuple):
    """One server over one transport.

    Args:
        server: Its name in findings.toml.
        over: `stdio`, `http`, or `sse` for the HTTP+SSE pair of the oldest revision.
        revisions: The revisions to examine it at.
    """

    server: str
    over: str
    revisions: tuple[str, ...] = mcp_wire.REVISIONS

    def __str__(self) -> str:
        return f"{self.server}-{self.over}"


ALL = (
    Examined("official", "stdio"),
    Examined("official", "http"),
    Examined("fastmcp", "stdio"),
    Examined("fastmcp", "http"),
    Examined("typescript", "stdio"),
    Examined("typescript", "http"),
    Examined("everything", "stdio"),
    Examined("everything", "http"),
    Examined("everything", "sse", (OLDEST,)),
    Examined("ours", "stdio"),
    Examined("ours", "http"),
)

FAST = tuple(one for one in ALL if str(one) in ("typescript-http", "everything-stdio"))
"""Examinations that take seconds, of two SDKs, for each commit."""


@cache
def report_on(one: Examined) -> Report:
    """Return the report on a server, for all tests of this process."""
    return examine(one)


def examine(one: Examined) -> Report:
    """Examine a server, and return the report."""
    return asyncio.run(_examined(one))


async def _examined(one: Examined) -> Report:
    async with AsyncExitStack() as ended:
        if one.over == "stdio":
            nowhere = os.open(os.devnull, os.O_WRONLY)
            ended.callback(os.close, nowhere)
            opens: Opens = CommandOpener(command_of(one), env="inherit", stderr=nowhere)
        else:
            origin = await ended.enter_async_context(served(one))
            opens = HttpOpener(f"{origin}/mcp", sse_url=f"{origin}/sse")
        return await examine_server(
            opens,
            target=str(one),
            transport="stdio" if one.over == "stdio" else "http",
            revisions=one.revisions,
            calls=CALLS.get(one.server, SHELF),
            timeout_s=TIMEOUT_S,
        )


@asynccontextmanager
async def served(one: Examined) -> AsyncIterator[str]:
    """Serve a server over HTTP; yield its origin."""
    if one.server == "ours":
        async with serving(ours.asgi("/mcp", legacy_sse_path="/sse")) as web:
            yield web.origin
    else:
        with ExitStack() as ended:
            yield await asyncio.to_thread(_start, one, ended)


def _start(one: Examined, ended: ExitStack) -> str:
    """Start a server over HTTP; return its origin."""
    words = command_of(one)
    if one.server != "everything":
        child = ended.enter_context(started(["/bin/sh", "-c", 'exec "$0" "$@" >&2', *words]))
        while (said := PORT.search(child.stderr)) is None:
            child.says_more()
        if one.server != "typescript":
            # These print the port before they listen.
            child.says("Uvicorn running on")
        return f"http://127.0.0.1:{said[1]}"
    port = free_port()
    child = ended.enter_context(started(["/usr/bin/env", f"PORT={port}", *words]))
    child.says(f"port {port}")
    return f"http://127.0.0.1:{port}"


def command_of(one: Examined) -> list[str]:
    """Return the command of a server over a transport."""
    http = ["--http"] if one.over == "http" else []
    if one.server == "ours":
        return [sys.executable, "-c", "from mcp_gen.cli import main; main()", "run", OURS]
    if one.server == "everything":
        kind = {"http": "streamableHttp"}.get(one.over, one.over)
        return ["node", str(Path(os.environ["PEERS_SERVERS"], EVERYTHING)), kind]
    if one.server == "typescript":
        return ["node", str(Path(os.environ["PEERS_EXAMINED"], "typescript_server.mjs")), *http]
    return [sys.executable, str(EXAMINED / f"{one.server}_server.py"), *http]
