"""A gateway logs in to the servers behind it: the token of its caller ends at the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

from mcp_gen import Client, ClientManager, Context, Server
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.manager.config import ServerConfig
from mcp_gen.transports.http_server.app import AsgiApp
from tests.auth.serving.servers import ALICE, guarded
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle
from tests.support.http.authorizers import FakeAuthorizer
from tests.support.http.gated import FakeGate, GatedClient, access_token, gated_client
from tests.support.http.loopback import Web, serving

UPSTREAM = access_token("gateway", "upstream")


@dataclass
class Name:
    name: str


def upstream() -> Server[Any]:
    """A server that tells who calls it, and that uses all that a caller can be used for."""
    server = Server("upstream")

    @server.tool
    async def who(ctx: Context) -> str:
        await ctx.report_progress(1)
        await ctx.log("info", "called")
        return f"{ctx.principal} {sorted(ctx.headers or ())}"

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Name?", Name)
        return f"{ctx.principal} {answer}"

    @server.resource("note://{id}")
    def note(id: str, ctx: Context) -> str:
        return f"{ctx.principal} {id}"

    @server.prompt
    def review(code: str, ctx: Context) -> str:
        return f"{ctx.principal} {code}"

    @server.completion("review", "code")
    def codes(value: str) -> list[str]:
        return ["1"]

    return server


Gateway: TypeAlias = "Callable[[Web, str], AbstractAsyncContextManager[AsgiApp]]"


@asynccontextmanager
async def session_of(web: Web, revision: str) -> AsyncIterator[Any]:
    """Connect to the server behind the gateway, with the credentials of the gateway."""
    async with Client("gateway", forward_requests=True) as client:
        auth = FakeAuthorizer(UPSTREAM.raw())
        yield await client.connect(web.url, revision=revision, auth=auth)


@asynccontextmanager
async def mount(web: Web, revision: str) -> AsyncIterator[AsgiApp]:
    async with session_of(web, revision) as session:
        server = Server("gateway")
        server.mount(None, session)
        yield guarded(server)


@asynccontextmanager
async def mount_in_a_mount(web: Web, revision: str) -> AsyncIterator[AsgiApp]:
    async with session_of(web, revision) as session:
        server, middle = Server("gateway"), Server("middle")
        middle.mount(None, session)
        server.mount(None, middle)
        yield guarded(server)


@asynccontextmanager
async def transformed_mount(web: Web, revision: str) -> AsyncIterator[AsgiApp]:
    async with session_of(web, revision) as session:
        server = Server("gateway")
        server.mount(None, session)
        await server.find_tool("who")
        server.transform_tool("who", title="Who")
        server.transform_tool("greet", title="Greet", result=lambda made: made)
        yield guarded(server)


@asynccontextmanager
async def bridge(web: Web, revision: str) -> AsyncIterator[AsgiApp]:
    made = Bridge(web.url, auth=FakeAuthorizer(UPSTREAM.raw()))
    app = made.asgi(auth=FakeGate(ALICE))
    try:
        yield app
    finally:
        await made.aclose()
        await app.aclose()


each_gateway = pytest.mark.parametrize(
    "gateway",
    [mount, mount_in_a_mount, transformed_mount, bridge],
    ids=["a mount", "a mount in a mount", "transformed tools of a mount", "the bridge"],
)
each_upstream = pytest.mark.parametrize(
    "far", [HANDSHAKE, PER_REQUEST], ids=lambda one: f"far-{one}"
)


def check(web: Web, app: AsgiApp) -> None:
    """Check that no request to the server behind has anything of the caller's token."""
    seen = repr(web.got)
    assert web.asked("tools/call")
    assert ALICE.raw() not in seen
    assert "alice" not in seen
    shown = {one.headers.get("authorization") for one in web.got}
    assert shown == {f"Bearer {UPSTREAM.raw()}"}


async def use(client: GatedClient) -> None:
    """Use all that a server has to offer."""
    called = await client.ask(
        "tools/call",
        name="who",
        _meta={"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"},
    )
    assert called.text.startswith(f"{UPSTREAM.principal} ")
    read = await client.ask("resources/read", uri="note://1")
    assert read.frame["result"]["contents"][0]["text"] == f"{UPSTREAM.principal} 1"
    got = await client.ask("prompts/get", name="review", arguments={"code": "1"})
    assert f"{UPSTREAM.principal} 1" in str(got.frame["result"])
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        assert "result" in (await client.ask(method)).frame
    await client.ask(
        "completion/complete",
        ref={"type": "ref/prompt", "name": "review"},
        argument={"name": "code", "value": ""},
    )


@each_gateway
@each_upstream
@each_lifecycle
async def test_no_token_of_a_caller_passes_through(
    revision: str, far: str, gateway: Gateway
) -> None:
    behind = upstream().asgi(auth=FakeGate(UPSTREAM))
    async with (
        serving(behind) as web,
        gateway(web, far) as app,
        gated_client(app, revision, ALICE) as client,
    ):
        await use(client)
        check(web, app)


@each_gateway
@each_upstream
async def test_no_token_passes_through_with_an_answer_of_the_user(
    far: str, gateway: Gateway
) -> None:
    behind = upstream().asgi(auth=FakeGate(UPSTREAM))
    async with (
        serving(behind) as web,
        gateway(web, far) as app,
        gated_client(app, PER_REQUEST, ALICE) as client,
    ):
        key = str(client.speaker.profile.client_capabilities_key)
        params: dict[str, Any] = {"name": "greet", "_meta": {key: {"elicitation": {"form": {}}}}}
        asked = (await client.ask("tools/call", **params)).frame["result"]
        (id,) = asked["inputRequests"]
        params["inputResponses"] = {id: {"action": "accept", "content": {"name": "Ada"}}}
        if "requestState" in asked:
            params["requestState"] = asked["requestState"]
        answered = await client.ask("tools/call", **params)
        assert answered.text.startswith(f"{UPSTREAM.principal} ")
        check(web, app)


@each_lifecycle
async def test_no_token_passes_from_a_handler_through_a_manager(revision: str) -> None:
    behind = upstream().asgi(auth=FakeGate(UPSTREAM))
    async with serving(behind) as web:
        servers = {"far": ServerConfig(url=web.url, bearer_token=UPSTREAM.raw())}
        async with ClientManager(servers) as manager:
            server = Server("gateway")

            @server.tool
            async def who(ctx: Context) -> str:
                assert ctx.token is not None
                result: Any = await manager.call_tool("mcp__far__who")
                return str(result.content[0].text)

            async with gated_client(guarded(server), revision, ALICE) as client:
                called = await client.call("who")
                assert called.text.startswith(f"{UPSTREAM.principal} ")
                check(web, client.app)


async def test_a_server_that_is_mounted_here_sees_the_token_of_the_caller() -> None:
    """It is the same server for its callers: the token was issued for it."""
    server, inner = Server("outer"), Server("inner")

    @inner.tool
    async def who(ctx: Context) -> str:
        assert ctx.token is not None
        return f"{ctx.principal} {sorted(ctx.token.scopes)}"

    server.mount(None, inner)
    async with gated_client(guarded(server), PER_REQUEST, ALICE) as client:
        assert (await client.call("who")).text == f"{ALICE.principal} ['files:read']"
