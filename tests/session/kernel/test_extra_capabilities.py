"""Capabilities that a client declares and its revision does not name: a server keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Context, MissingCapability, Server
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_wire import encode
from tests.server.mounting.gateway import gateway
from tests.support.frames import Speaker, decoded, encoded, every_revision, with_handshake
from tests.support.http.asgi import WebClient
from tests.support.peers.connect import talk
from tests.support.peers.questions import Name

EXTRA = {"com.example/x": {"a": [1, None]}, "y": None}

with_sessions = pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])


def telling() -> Server:
    """Return a server that tells what its client has declared."""
    server = Server("telling")

    @server.tool
    def declared(ctx: Context) -> str:
        return encode(ctx.client_capabilities).decode()

    return server


@every_revision
@pytest.mark.parametrize("over", ["memory", "http"])
async def test_a_handler_sees_every_capability_of_its_client(revision: str, over: str) -> None:
    async with talk(telling, revision, over=over, capabilities={"roots": {}, **EXTRA}) as client:
        told = decoded([(await client.text("declared")).encode()])
    assert told == [{"roots": {}, **EXTRA}]


@with_handshake
async def test_hooks_of_the_handshake_see_the_capabilities(revision: str) -> None:
    server, seen = Server("hooked"), list[Any]()

    @server.hooks.before_initialize
    async def before(ctx: Context, params: Any) -> None:
        seen.append(params.capabilities.extra)

    async with talk(lambda: server, revision, capabilities=EXTRA):
        pass
    assert seen == [EXTRA]


@with_handshake
async def test_a_handler_reads_a_capability_by_its_name(revision: str) -> None:
    server = Server("reading")

    @server.tool
    def setting(ctx: Context) -> str:
        return str(ctx.client_capabilities.extra["com.example/x"]["a"])

    async with talk(lambda: server, revision, capabilities=EXTRA) as client:
        assert await client.text("setting") == "[1, None]"


@with_sessions
async def test_a_process_that_goes_on_with_a_session_knows_them(revision: str) -> None:
    store = MemorySessionStore()
    hello = decoded([Speaker(revision).initialize(0)])[0]
    hello["params"]["capabilities"] = EXTRA
    client = WebClient(telling().asgi(session_store=store), Speaker(revision))
    begun = await client.ask(encoded(hello))
    client.session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    client.app = telling().asgi(session_store=store)
    await client.ask(client.speaker.initialized)
    reply = await client.ask(client.speaker.call(1, "declared"))
    told = reply.json["result"]["content"][0]["text"]
    assert decoded([told.encode()]) == [EXTRA]
    await client.aclose()


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
async def test_a_capability_of_a_later_revision_is_not_offered_through_a_gateway(
    revision: str,
) -> None:
    inner, refused = Server("asking"), list[str]()

    @inner.tool
    async def ask(ctx: Context) -> str:
        try:
            await ctx.elicit("Who?", Name)
        except MissingCapability as error:
            refused.append(error.capability)
        return "done"

    async with (
        gateway(inner, "2026-07-28") as outer,
        talk(lambda: outer, revision, capabilities={"elicitation": {}}) as client,
    ):
        assert await client.text("far_ask") == "done"
    assert refused == ["elicitation"]
