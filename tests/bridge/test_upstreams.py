"""Sessions with the server behind a bridge: who shares one, when it ends, and what it is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

import mcp_wire
from mcp_gen import Client, Context, Server
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.compat.bridge.limits import BridgeLimits
from mcp_gen.core.errors import UsageError
from mcp_gen.transports.memory import memory_pair
from tests.bridge.behind import shop, through
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.loop import until
from tests.support.peers.asked import WAIT_S
from tests.support.peers.connect import talk_to
from tests.support.peers.questions import ANSWERS

OLDEST = mcp_wire.REVISIONS[0]


async def test_clients_without_sessions_share_by_principal_and_capabilities() -> None:
    server = shop(HANDSHAKE)
    bridge = Bridge(server)
    app = bridge.asgi()
    opened: list[int] = []
    for principal, answers in (
        ("ada", None),
        ("ada", None),
        ("bob", None),
        ("ada", {"roots/list": ANSWERS["roots/list"]}),
    ):
        async with talk_to(app, PER_REQUEST, principal=principal, answers=answers) as client:
            assert await client.text("price", thing="rope") == "rope: 3"
        opened.append(len(server.sessions()))
    assert opened == [1, 1, 2, 3]
    await bridge.aclose()


async def test_the_server_sees_the_capabilities_of_the_client() -> None:
    server = Server("s", revisions=[HANDSHAKE])

    @server.tool
    def always() -> str:
        return "always"

    @server.tool
    def nosy() -> str:
        return "nosy"

    @server.filter_tools
    def seen(ctx: Context, tool: Any) -> bool:
        return tool.name != "nosy" or ctx.client_capabilities.elicitation is not None

    answers = {"elicitation/create": ANSWERS["elicitation/create"]}
    bridge = Bridge(server)
    app = bridge.asgi()
    names: list[list[str]] = []
    for given in (None, answers):
        async with talk_to(app, PER_REQUEST, answers=given) as client:
            listed = await client.request("tools/list")
            names.append([tool["name"] for tool in listed["tools"]])
    assert names == [["always"], ["always", "nosy"]]
    await bridge.aclose()


async def test_each_session_of_a_client_has_a_session_with_the_server() -> None:
    server = shop(PER_REQUEST)
    bridge = Bridge(server)
    app = bridge.asgi()
    async with talk_to(app, HANDSHAKE) as one, talk_to(app, HANDSHAKE) as other:
        assert await one.text("price", thing="a") == "a: 3"
        assert await other.text("price", thing="b") == "b: 3"
        assert len(bridge._upstreams) == 2
    await bridge.aclose()


async def test_a_session_that_no_client_needs_ends_when_it_has_been_idle() -> None:
    server = shop(HANDSHAKE)
    bridge = Bridge(server, limits=BridgeLimits(idle_s=0.01))
    async with talk_to(bridge.asgi(), PER_REQUEST) as client:
        await client.text("price", thing="rope")
        assert len(server.sessions()) == 1
        await until(lambda: not server.sessions())
        assert await client.text("price", thing="rope") == "rope: 3"
    await bridge.aclose()


async def test_an_idle_session_makes_room_and_one_in_use_does_not() -> None:
    server, going = shop(HANDSHAKE), asyncio.Event()

    @server.tool
    async def wait() -> str:
        going.set()
        await asyncio.Event().wait()
        return "never"

    bridge = Bridge(server, limits=BridgeLimits(max_upstreams=1))
    app = bridge.asgi()
    async with (
        talk_to(app, PER_REQUEST, principal="ada") as ada,
        talk_to(app, PER_REQUEST, principal="bob") as bob,
    ):
        await ada.text("price", thing="rope")
        await bob.text("price", thing="rope")
        asked = bob.begin("tools/call", {"name": "wait"})
        await asyncio.wait_for(going.wait(), WAIT_S)
        refused = await ada.refusal("tools/call", {"name": "price"})
        assert "all are in use" in str(refused)
        bob.cancel(asked)
    await bridge.aclose()


class Recorded:
    """An ASGI app that keeps the headers of each request."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.headers: list[dict[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.headers.append(headers)
        await self._app(scope, receive, send)


@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_headers_of_the_client_are_not_sent_to_the_server(inside: str) -> None:
    server = shop(inside)
    recorded = Recorded(server.asgi(allowed_hosts=["far"]))
    transport = httpx2.ASGITransport(recorded)
    async with httpx2.AsyncClient(transport=transport) as web:
        bridge = Bridge("http://far/mcp", http_client=web, headers={"x-own": "mine"})
        app = bridge.asgi()

        async def with_token(scope: Any, receive: Any, send: Any) -> None:
            secret = [(b"authorization", b"Bearer secret"), (b"cookie", b"secret")]
            await app({**scope, "headers": [*scope["headers"], *secret]}, receive, send)

        async with talk_to(with_token, PER_REQUEST) as client:
            assert await client.text("price", thing="rope") == "rope: 3"
        await bridge.aclose()
    await server.aclose()
    assert recorded.headers
    assert all(one.get("x-own") == "mine" for one in recorded.headers)
    assert not any("secret" in value for one in recorded.headers for value in one.values())


@pytest.mark.parametrize("revision", [OLDEST, PER_REQUEST])
async def test_a_call_of_a_tool_is_not_repeated_after_the_server_was_lost(revision: str) -> None:
    called: list[str] = []

    class Fragile:
        """Serves each connection until its tool is called."""

        async def serve(self, transport: Any) -> None:
            server = shop(HANDSHAKE)

            @server.tool
            async def die() -> str:
                called.append("died")
                await transport.aclose()
                server.end_sessions()
                return "never"

            await server.serve(transport)
            await server.aclose()

    async with through(Fragile(), revision) as client:
        refused = await client.refusal("tools/call", {"name": "die"})
        assert "cannot be reached" in str(refused)
        assert called == ["died"]
        assert await client.text("price", thing="rope") == "rope: 3"


async def test_a_server_that_cannot_be_reached_is_an_error_of_the_first_request() -> None:
    class Gone:
        async def serve(self, transport: Any) -> None:
            await transport.aclose()

    ours, theirs = memory_pair()
    bridge = Bridge(Gone())
    serving = asyncio.get_running_loop().create_task(bridge.serve(theirs))
    async with Client("c") as client:
        with pytest.raises(Exception, match="its server cannot be reached"):
            await client.connect(ours, revision=HANDSHAKE)
    await asyncio.wait_for(serving, WAIT_S)
    await bridge.aclose()


async def test_a_mirrored_argument_that_differs_from_its_header_is_refused() -> None:
    server = Server("s", revisions=[HANDSHAKE])
    schema = {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}}
    tool = mcp_wire.latest.Tool(name="look", input_schema=schema)

    async def handler(ctx: Context, arguments: dict[str, Any]) -> str:
        return "seen"

    server.add_tool(tool, handler)
    bridge = Bridge(server)
    async with talk_to(bridge.asgi(), PER_REQUEST) as client:
        params = {"name": "look", "arguments": {"city": "Oslo"}}
        refused = await client.refusal("tools/call", params)
        code = mcp_wire.profile(PER_REQUEST).errors.header_mismatch
    assert refused.code == code
    await bridge.aclose()


@pytest.mark.parametrize(
    ("name", "value"), [("settle_s", -1), ("idle_s", 0), ("max_upstreams", 0), ("timeout_s", -2)]
)
def test_a_limit_that_is_not_above_zero_is_refused(name: str, value: float) -> None:
    limits: dict[str, Any] = {name: value}
    with pytest.raises(UsageError, match=name):
        BridgeLimits(**limits)
