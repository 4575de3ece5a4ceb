"""Mounts over HTTP, on either side of a gateway."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
import pytest

from mcp_gen import Client, Context, Server
from tests.server.mounting.gateway import weather
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle
from tests.support.http.asgi import headers_of, request
from tests.support.http.loopback import serving
from tests.support.peers.asked import WAIT_S
from tests.support.peers.connect import talk
from tests.support.peers.questions import ANSWERS

both_lifecycles = pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])

Region = Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})]


def mounting(inner: Server) -> Server:
    server = Server("outer")
    server.mount("w", inner)
    return server


@each_lifecycle
async def test_a_mounted_server_is_served_over_http(revision: str) -> None:
    inner = weather()
    server = mounting(inner)
    async with talk(lambda: server, revision, over="http", answers=ANSWERS) as client:
        assert "w_forecast" in await client.names("tools/list", "tools")
        assert await client.text("w_forecast", city="A") == "A: sun, says weather"
        assert await client.text("w_ask") == "Ada"


@each_lifecycle
@both_lifecycles
async def test_a_remote_server_over_http_is_mounted_and_served_over_http(
    revision: str, inside: str
) -> None:
    inner, server = weather(), Server("outer")
    async with serving(inner.asgi()) as web, Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(web.url, revision=inside))
        async with talk(lambda: server, revision, over="http", answers=ANSWERS) as client:
            assert await client.text("far_forecast", city="A") == "A: sun, says weather"
            assert "far_ask" in await client.names("tools/list", "tools")
            for tool, text in (("far_ask", "Ada"), ("far_think", "Hello!")):
                assert await client.text(tool) == text
        server.unmount("far")


@each_lifecycle
async def test_questions_of_many_clients_calls_are_told_apart(revision: str) -> None:
    """Input requests arrive on the stream of their own call."""
    inner, everybody = Server("inner"), asyncio.Event()
    waiting = 0

    @inner.tool
    async def who(ctx: Context) -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 5:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), WAIT_S)
        return (await ctx.sample("who?", max_tokens=1)).model

    server = Server("outer")

    async def ask(number: int) -> str:
        said = {**ANSWERS["sampling/createMessage"]({}), "model": f"client {number}"}
        answers = {"sampling/createMessage": lambda asked: said}
        async with talk(lambda: server, revision, answers=answers) as client:
            return await client.text("far_who")

    async with serving(inner.asgi()) as web, Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(web.url, revision=HANDSHAKE))
        said = await asyncio.gather(*(ask(number) for number in range(5)))
        server.unmount("far")
    assert said == [f"client {number}" for number in range(5)]


async def test_headers_that_a_mounted_tool_wants_are_looked_at() -> None:
    inner = Server("inner")

    @inner.tool
    async def sell(region: Region) -> str:
        return f"sold in {region}"

    app = mounting(inner).asgi()
    speaker = Speaker(PER_REQUEST)
    message = speaker.call(1, "w_sell", region="north")
    reply = await request(app, message, headers_of(speaker, message))
    assert reply.status == 400
    headers: Any = {**headers_of(speaker, message), "mcp-param-region": "north"}
    reply = await request(app, message, headers)
    assert reply.json["result"]["content"][0]["text"] == "sold in north"
    await app.aclose()


async def test_a_remote_tool_gets_the_headers_that_it_wants() -> None:
    inner, server = Server("inner"), Server("outer")

    @inner.tool
    async def sell(region: Region) -> str:
        return f"sold in {region}"

    async with serving(inner.asgi()) as web, Client("gateway") as between:
        server.mount("far", await between.connect(web.url, revision=PER_REQUEST))
        async with talk(lambda: server, HANDSHAKE) as client:
            assert await client.text("far_sell", region="north") == "sold in north"
        server.unmount("far")


@each_lifecycle
async def test_a_session_that_the_remote_server_ends_begins_anew(revision: str) -> None:
    inner, server = weather(), Server("outer")
    async with serving(inner.asgi()) as web, Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(web.url, revision=HANDSHAKE))
        async with talk(lambda: server, revision, answers=ANSWERS) as client:
            assert "far_ask" in await client.names("tools/list", "tools")
            for session in inner.sessions():
                session.end()
            inner.add_tool(lambda: "x", name="new")
            assert await client.text("far_ask") == "Ada"
            assert "far_new" in await client.names("tools/list", "tools")
        server.unmount("far")


async def test_a_caller_that_nobody_can_reach_is_an_error_with_a_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At revisions with server requests, a stateless server sends none."""
    inner, server = weather(), Server("outer")
    speaker = Speaker(HANDSHAKE)
    async with Client("gateway", forward_requests=True) as between:
        server.mount("far", await between.connect(inner, revision=HANDSHAKE))
        app = server.asgi(stateless=True)
        message = speaker.call(1, "far_think")
        reply = await request(app, message, headers_of(speaker, message))
        assert "sampling" in reply.json["error"]["message"]
        await app.aclose()
        server.unmount("far")
    assert "Traceback" not in caplog.text


@each_lifecycle
async def test_a_number_that_no_header_can_repeat_is_the_fault_of_the_caller(revision: str) -> None:
    inner, server = Server("inner"), Server("outer")

    @inner.tool
    async def sell(
        amount: Annotated[int, msgspec.Meta(extra_json_schema={"x-mcp-header": "Amount"})],
    ) -> str:
        return "sold"

    async with serving(inner.asgi()) as web, Client("gateway") as between:
        server.mount("far", await between.connect(web.url, revision=PER_REQUEST))
        async with talk(lambda: server, revision) as client:
            await client.names("tools/list", "tools")
            too_much = {"name": "far_sell", "arguments": {"amount": 2**53}}
            refused = await client.refusal("tools/call", too_much)
        server.unmount("far")
    assert refused.code == -32602
    assert "argument `amount` is mirrored in a header" in str(refused)
