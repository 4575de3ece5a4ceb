"""Callbacks and subscriptions over HTTP: handlers, watches and limits are the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import (
    Accepted,
    Change,
    Client,
    ClientSession,
    Context,
    Server,
    UrlElicitation,
    UrlElicitationRequired,
)
from mcp_gen.types import CreateMessageResult, TextContent
from tests.client.using import declaring
from tests.support.frames import ALL, every_revision
from tests.support.http.loopback import serving
from tests.support.peers.answering import ASKS

URLS = [one for one in ALL if mcp_wire.profile(one).url_elicitation != "none"]
WAIT_S = 30.0


@dataclass
class City:
    city: str = "Oslo"


@asynccontextmanager
async def over_http(client: Client, server: Server, revision: str) -> AsyncIterator[ClientSession]:
    older = mcp_wire.profile(revision).http_transport == "sse_pair"
    async with serving(server.asgi(legacy_sse_path="/sse")) as web, client:
        url = f"{web.origin}/sse" if older else web.url
        yield await client.connect(url, revision=revision)


def says(session: ClientSession, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="b"), model="m")


@every_revision
async def test_models_and_roots_are_asked_for(revision: str) -> None:
    server = Server("asks")

    @server.tool
    async def ask(ctx: Context) -> str:
        said, roots = await ctx.ask_all(ctx.sample("a", max_tokens=9), ctx.list_roots())
        return f"{said.model} {[root.uri for root in roots]}"

    client = Client("c", sampling=says, roots=["file:///a"])
    async with over_http(client, server, revision) as session, asyncio.timeout(WAIT_S):
        assert await session.call_tool("ask", returns=str) == "m ['file:///a']"
        await client.add_roots("file:///b")
        assert "file:///b" in await session.call_tool("ask", returns=str)


@pytest.mark.parametrize("revision", ASKS)
async def test_a_user_is_asked_in_every_kind_of_request(revision: str) -> None:
    server = Server("asks")

    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Where?", City)
        return answer.content.city if isinstance(answer, Accepted) else answer.action

    server.tool(ask, name="ask")
    server.prompt(ask, name="ask")
    server.resource("ask://", name="ask")(ask)
    client = Client("c", elicitation=lambda session, params: {"city": "Bergen"})
    async with over_http(client, server, revision) as session, asyncio.timeout(WAIT_S):
        assert await session.call_tool("ask", returns=str) == "Bergen"
        assert (await session.get_prompt("ask")).messages[0].content.text == "Bergen"
        assert (await session.read_resource("ask://")).contents[0].text == "Bergen"


@pytest.mark.parametrize("revision", URLS)
async def test_a_user_goes_to_a_page_first(revision: str) -> None:
    server = Server("signs")
    gone: list[str] = []

    @server.tool
    async def sign(ctx: Context) -> str:
        if not gone:
            raise UrlElicitationRequired([UrlElicitation("Sign", "https://example.org/")])
        return "signed"

    client = Client("c")

    @client.url_elicitation
    async def go(session: ClientSession, page: UrlElicitation) -> Any:
        gone.append(page.url)
        return "accept"

    async with over_http(client, server, revision) as session, asyncio.timeout(WAIT_S):
        assert await session.call_tool("sign", returns=str) == "signed"


@every_revision
async def test_changes_are_heard(revision: str) -> None:
    server = declaring()
    async with over_http(Client("c"), server, revision) as session, asyncio.timeout(WAIT_S):
        async with session.watch("a://1", tools=True) as changes:
            # The GET stream opens at any time.
            while True:
                server.notify.resource_updated("a://1")
                server.notify.tool_list_changed()
                async with _at_most(0.2):
                    found = {await anext(changes), await anext(changes)}
                    break
        assert found == {Change("resource", "a://1"), Change("tools")}
        assert [tool.name async for tool in session.tools()] == []


@asynccontextmanager
async def _at_most(wait_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(wait_s):
            yield
    except TimeoutError:
        pass


@every_revision
async def test_log_messages_are_heard(revision: str) -> None:
    server = declaring()
    heard: list[str] = []
    done = asyncio.Event()

    @server.tool
    async def work(ctx: Context) -> None:
        await ctx.log("info", "one")
        await ctx.log("error", "two")

    client = Client("c", log_level="error")

    @client.hooks.on_logging_message
    def logged(session: ClientSession, params: Any) -> None:
        heard.append(params.data)
        done.set()

    async with over_http(client, server, revision) as session, asyncio.timeout(WAIT_S):
        await session.call_tool("work")
        await done.wait()
    assert heard == ["two"]
