"""Our client uses servers of others, over each transport that they have.

The everything-server is used once over each transport; each observation is a test.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Client, ClientSession, InvalidParams, McpError, text_of
from tests.peers.ours import exercise
from tests.peers.seen import EVERYTHING
from tests.support.ports import free_port
from tests.support.processes.child import started

WAIT_S = 60.0
SERVER = Path("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
PATHS = {"streamableHttp": "/mcp", "sse": "/sse"}
"""Paths of the everything-server's HTTP transports."""

pytestmark = pytest.mark.timeout(120)

each_transport = pytest.mark.parametrize(
    # The observations serve all tests of a process.
    "transport",
    [pytest.param(one, marks=pytest.mark.xdist_group(one)) for one in ("stdio", *PATHS)],
)


class Outcome:
    """Outcome of using the server over one transport."""

    seen: dict[str, Any] | None = None
    """All observations of our client."""
    failure = ""
    """Reason for missing observations."""
    left = False
    """True if a server process that our client started still runs."""


@cache
def outcome(transport: str) -> Outcome:
    """Return the outcome of one transport, for each test to check."""
    found = Outcome()
    with tempfile.TemporaryDirectory() as folder, served(transport, Path(folder)) as target:
        try:
            found.seen = asyncio.run(exercise(target))
        except Exception as error:  # reported by each test, but run only once
            found.failure = repr(error)
        if transport not in PATHS:
            found.left = is_there(int(Path(folder, "group").read_text()))
    return found


@contextmanager
def served(transport: str, folder: Path) -> Iterator[str | list[str]]:
    """Return the target of our client for the server over this transport."""
    words = ["node", str(Path(os.environ["PEERS_SERVERS"], SERVER)), transport]
    if transport not in PATHS:
        # A command is a process group, which the shell's id names.
        yield ["/bin/sh", "-c", 'echo $$ > "$0/group"; exec "$@"', str(folder), *words]
        return
    port = free_port()
    with started(["/usr/bin/env", f"PORT={port}", *words]) as child:
        child.says(f"port {port}")
        yield f"http://127.0.0.1:{port}{PATHS[transport]}"


def is_there(group: int) -> bool:
    """Return True if a process of a group still runs, and does not only wait for its parent."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(its_group) == group and state not in "ZX":
            return True
    return False


def seen(transport: str) -> dict[str, Any]:
    found = outcome(transport)
    assert found.seen is not None, found.failure
    return found.seen


@each_transport
@pytest.mark.parametrize("what", EVERYTHING)
def test_our_client_sees_of_the_everything_server(transport: str, what: str) -> None:
    assert seen(transport)[what] == EVERYTHING[what]


@each_transport
def test_nothing_else_is_looked_at(transport: str) -> None:
    assert seen(transport).keys() == EVERYTHING.keys()


def test_nothing_is_left_of_the_server_that_our_client_started() -> None:
    assert seen("stdio")
    assert not outcome("stdio").left


# --- the time server ---

WORDS = [sys.executable, "-m", "mcp_server_time", "--local-timezone=UTC"]
NOON = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kathmandu"}
each_revision = pytest.mark.parametrize("revision", [None, "2025-11-25", "2024-11-05"])
"""Parametrize `revision`; None lets both sides negotiate."""


@asynccontextmanager
async def telling_time(revision: str | None) -> AsyncGenerator[ClientSession, None]:
    async with asyncio.timeout(WAIT_S), Client("agent", "1.0.0") as client:
        yield await client.connect(WORDS, revision=revision)


@each_revision
async def test_every_tool_of_the_time_server_is_called(revision: str | None) -> None:
    async with telling_time(revision) as session:
        tools = [tool.name async for tool in session.tools()]
        now = await session.call_tool("get_current_time", {"timezone": "UTC"}, returns=dict)
        noon = await session.call_tool("convert_time", NOON, returns=dict)
    assert tools == ["get_current_time", "convert_time"]
    assert (session.revision, session.server_info.name) == (revision or "2026-07-28", "mcp-time")
    assert (now["timezone"], now["is_dst"]) == ("UTC", False)
    assert (noon["target"]["timezone"], noon["time_difference"]) == ("Asia/Kathmandu", "+5.75h")


@pytest.mark.parametrize("revision", [None, "2024-11-05"])
async def test_what_the_time_server_refuses_is_told(revision: str | None) -> None:
    async with telling_time(revision) as session:
        result = await session.call_tool("convert_time", {**NOON, "time": "noon"})
        with pytest.raises(McpError, match="Unknown tool: nope") as caught:
            await session.call_tool("nope")
    assert result.is_error
    assert "Invalid time format" in text_of(result)
    assert caught.value.code == InvalidParams.code


async def test_a_server_without_prompts_and_resources_has_none() -> None:
    async with telling_time(None) as session:
        assert [prompt async for prompt in session.prompts()] == []
        assert [resource async for resource in session.resources()] == []
