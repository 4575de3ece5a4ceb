"""Our client uses a server made with the official SDK, over HTTP: real sockets, in this process."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import MCPDeprecationWarning
from mcp.server.mcpserver import Context, MCPServer
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from pydantic import BaseModel

import mcp_wire
from mcp_gen import Client, ClientSession, RequestTimeout
from tests.support.http.loopback import Web, serving

WAIT_S = 30.0
NEWEST = KNOWN_PROTOCOL_VERSIONS[-1]
SESSIONS = [one for one in KNOWN_PROTOCOL_VERSIONS if mcp_wire.profile(one).session_header]
KINDS: dict[str, dict[str, Any]] = {
    "events": {},
    "json": {"json_response": True},
    "stateless": {"stateless_http": True},
}
each_kind = pytest.mark.parametrize("kind", [*KINDS, "sse"])
each_session = pytest.mark.parametrize("revision", SESSIONS)


class Mood(BaseModel):
    mood: str


class Official:
    """The official server, with the state of its tools."""

    def __init__(self) -> None:
        self.hanging = asyncio.Event()
        self.stopped = asyncio.Event()
        self.server = MCPServer("official", version="2.3.0", instructions="Answers our client.")
        for tool in (self.add, self.ask, self.progress, self.hang):
            self.server.add_tool(tool)
        self.server.resource("file:///a")(self.read)

    async def add(self, a: int, b: int) -> int:
        return a + b

    async def ask(self, ctx: Context) -> str:
        answer = await ctx.elicit("How are you?", Mood)
        return str(answer.data.mood) if answer.action == "accept" else answer.action

    async def progress(self, ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        await ctx.report_progress(2, 2)
        return "done"

    async def hang(self) -> None:
        self.hanging.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.stopped.set()

    async def read(self) -> str:
        return "contents"

    def app(self, kind: str) -> Any:
        if kind == "sse":
            return self.server.sse_app()
        return self.server.streamable_http_app(**KINDS[kind])


@asynccontextmanager
async def connected(
    kind: str, revision: str | None = None, official: Official | None = None
) -> AsyncGenerator[tuple[ClientSession, Web], None]:
    async with (
        asyncio.timeout(WAIT_S),
        serving((official or Official()).app(kind)) as web,
        Client("agent", "1.0.0", elicitation=lambda session, form: {"mood": "fine"}) as client,
    ):
        url = f"{web.origin}/sse" if kind == "sse" else web.url
        with warnings.catch_warnings():
            # Deprecated features must still work.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            yield await client.connect(url, revision=revision), web
    # The official server's SSE library watches for the end of the process.
    watchers = [one for one in asyncio.all_tasks() if "_shutdown_watcher" in repr(one)]
    for watcher in watchers:
        watcher.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)


@each_kind
async def test_our_client_finds_out_what_the_server_speaks(kind: str) -> None:
    async with connected(kind) as (session, _):
        newest = HANDSHAKE_PROTOCOL_VERSIONS[-1] if kind == "sse" else NEWEST
        assert session.revision == newest
        assert session.server_info.name == "official"
        assert (await session.call_tool("add", {"a": 1, "b": 2})).content[0].text == "3"


@each_kind
@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_our_client_gets_the_revision_that_it_pins(kind: str, revision: str) -> None:
    async with connected(kind, revision) as (session, _):
        assert session.revision == revision
        names = [tool.name async for tool in session.tools()]
        assert names == ["add", "ask", "progress", "hang"]
        assert (await session.call_tool("add", {"a": 1, "b": 2})).content[0].text == "3"
        assert (await session.read_resource("file:///a")).contents[0].text == "contents"


@each_session
async def test_a_session_has_an_id_and_is_ended(revision: str) -> None:
    async with connected("events", revision) as (session, web):
        await session.aclose()
        (ended,) = web.by("DELETE")
        assert ended.headers["mcp-session-id"]


@pytest.mark.parametrize("kind", ["events", "sse"])
async def test_progress_and_questions_come_before_the_result(kind: str) -> None:
    seen: list[float] = []
    async with connected(kind, HANDSHAKE_PROTOCOL_VERSIONS[-1]) as (session, _):
        await session.call_tool("progress", progress=lambda value, *_: seen.append(value))
        assert seen == [1, 2]
        assert (await session.call_tool("ask")).content[0].text == "fine"


@pytest.mark.parametrize("revision", [HANDSHAKE_PROTOCOL_VERSIONS[-1], NEWEST])
async def test_a_call_that_times_out_is_stopped_and_the_session_goes_on(revision: str) -> None:
    official = Official()
    async with connected("events", revision, official) as (session, _):
        with pytest.raises(RequestTimeout):
            await session.call_tool("hang", timeout_s=0.3)
        await asyncio.wait_for(official.stopped.wait(), WAIT_S)
        assert (await session.call_tool("add", {"a": 1, "b": 2})).content[0].text == "3"


async def test_many_calls_at_once_get_their_own_answers() -> None:
    async with connected("events") as (session, _):
        calls = [session.call_tool("add", {"a": one, "b": 0}) for one in range(20)]
        answers = await asyncio.gather(*calls)
        assert [one.content[0].text for one in answers] == [str(one) for one in range(20)]
