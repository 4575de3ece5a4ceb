"""RateLimit: a client that calls too often is told when to try again."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Client, Context, McpError, Server, UsageError
from mcp_gen.middleware import RateLimit
from tests.server.middleware.clients import Clock, connected, visited
from tests.support.frames import STREAMABLE, each_lifecycle, every_revision
from tests.support.peers.asked import Refused
from tests.support.peers.conversation import Conversation

INVALID_REQUEST = -32600


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, "mcp_gen.server.context.rate_limit")


def limited(limit: RateLimit) -> Server:
    server = Server("limited")
    server.add_middleware(limit)

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def shout(text: str) -> str:
        return text.upper()

    return server


async def adds(client: Conversation, times: int) -> int:
    """Return how many calls of `add` are answered before the first that is refused."""
    for number in range(times):
        try:
            await client.request("tools/call", ADD)
        except Refused:
            return number
    return times


ADD: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}}


@every_revision
async def test_a_call_beyond_the_burst_is_an_invalid_request_that_says_when_to_try_again(
    revision: str, clock: Clock
) -> None:
    async with connected(limited(RateLimit(0.5, burst=2)), revision) as client:
        await client.call("add", a=1, b=2)
        await client.call("add", a=1, b=2)
        refused = await client.refusal("tools/call", ADD)
    assert refused.error == {
        "code": INVALID_REQUEST,
        "message": "tools/call add: too many requests of this client; try again in 2 s",
        "data": {"retryAfterMs": 2000},
    }


@every_revision
async def test_who_waits_as_long_as_was_said_is_served(revision: str, clock: Clock) -> None:
    async with connected(limited(RateLimit(3)), revision) as client:
        for _ in range(3):
            await client.call("add", a=1, b=2)
        wait_ms = (await client.refusal("tools/call", ADD)).error["data"]["retryAfterMs"]
        clock.now_s += wait_ms / 1000
        assert await client.text("add", a=1, b=2) == "3"


@each_lifecycle
async def test_each_tool_has_a_limit_of_its_own(revision: str, clock: Clock) -> None:
    async with connected(limited(RateLimit(1)), revision) as client:
        await client.call("add", a=1, b=2)
        assert await client.text("shout", text="hi") == "HI"


@each_lifecycle
async def test_all_tools_may_share_a_limit(revision: str, clock: Clock) -> None:
    async with connected(limited(RateLimit(1, count="tools")), revision) as client:
        await client.call("shout", text="hi")
        assert (await client.refusal("tools/call", ADD)).code == INVALID_REQUEST


@each_lifecycle
async def test_other_tools_and_requests_are_free_where_some_tools_are_limited(
    revision: str, clock: Clock
) -> None:
    async with connected(limited(RateLimit(1, tools=["add"])), revision) as client:
        for _ in range(3):
            await client.call("shout", text="hi")
            await client.request("tools/list")
        await client.call("add", a=1, b=2)
        assert (await client.refusal("tools/call", ADD)).code == INVALID_REQUEST


@every_revision
async def test_all_requests_may_be_counted_but_pings_and_handshakes(
    revision: str, clock: Clock
) -> None:
    async with connected(limited(RateLimit(1, count="requests")), revision) as client:
        if client.profile.ping is not None:
            await client.request("ping")
        await client.request("tools/list")
        refused = await client.refusal("tools/list")
    assert refused.error["message"].startswith("tools/list: too many requests")


@every_revision
async def test_another_connection_has_a_limit_of_its_own(revision: str, clock: Clock) -> None:
    server = limited(RateLimit(1))
    async with connected(server, revision) as first, connected(server, revision) as second:
        assert [await adds(first, 3), await adds(second, 3)] == [1, 1]


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_a_principal_has_one_limit_over_all_its_sessions(revision: str, clock: Clock) -> None:
    server = limited(RateLimit(1))
    async with visited(server, revision) as visit:
        async with visit("ann") as ann:
            assert await adds(ann, 3) == 1
        async with visit("ann") as again, visit("bob") as bob:
            assert [await adds(again, 1), await adds(bob, 1)] == [0, 1]


@each_lifecycle
async def test_all_clients_may_share_a_limit(revision: str, clock: Clock) -> None:
    server = limited(RateLimit(1, client=lambda ctx: None))
    async with connected(server, revision) as first, connected(server, revision) as second:
        assert [await adds(first, 1), await adds(second, 1)] == [1, 0]


@each_lifecycle
async def test_names_that_a_client_makes_up_take_no_room(revision: str, clock: Clock) -> None:
    limit = RateLimit(1)
    async with connected(limited(limit), revision) as client:
        for number in range(20):
            await client.refusal("tools/call", {"name": f"made_up_{number}", "arguments": {}})
    assert len(limit) == 1


@each_lifecycle
async def test_only_so_many_clients_are_remembered(revision: str, clock: Clock) -> None:
    limit = RateLimit(1, max_clients=3)
    server = limited(limit)
    for _ in range(5):
        async with connected(server, revision) as client:
            await client.call("add", a=1, b=2)
    assert len(limit) == 3


@every_revision
async def test_tools_of_a_mounted_server_are_limited_by_their_outer_names(
    revision: str, clock: Clock
) -> None:
    outer, inner = Server("outer"), limited(RateLimit(100))
    outer.mount("in", inner)
    outer.add_middleware(RateLimit(1, tools=["in_add"]))
    async with connected(outer, revision) as client:
        await client.call("in_add", a=1, b=2)
        refused = await client.refusal("tools/call", {**ADD, "name": "in_add"})
        assert refused.code == INVALID_REQUEST
        assert await client.text("in_shout", text="hi") == "HI"


@every_revision
async def test_the_limit_of_a_mounted_server_holds_through_its_mount(
    revision: str, clock: Clock
) -> None:
    outer = Server("outer")
    outer.mount("in", limited(RateLimit(1)))
    async with connected(outer, revision) as client:
        await client.call("in_add", a=1, b=2)
        refused = await client.refusal("tools/call", {**ADD, "name": "in_add"})
    assert refused.error["message"].startswith("tools/call add: too many")


async def test_tools_of_a_server_far_away_have_limits_of_their_own(clock: Clock) -> None:
    outer = Server("outer")
    outer.add_middleware(RateLimit(1))
    async with Client("gateway") as client:
        session = await client.connect(limited(RateLimit(100)))
        outer.mount("far", session)
        async with Client("user") as user:
            here = await user.connect(outer)
            await here.call_tool("far_add", {"a": 1, "b": 2})
            await here.call_tool("far_shout", {"text": "hi"})
            with pytest.raises(McpError, match="far_shout: too many requests"):
                await here.call_tool("far_shout", {"text": "hi"})
        outer.unmount(session)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_s": 0}, r"RateLimit\(per_s=0\): expected a number above 0"),
        ({"per_s": float("nan")}, "expected a number above 0"),
        ({"per_s": 1, "burst": -1}, r"burst=-1"),
        ({"per_s": 1, "max_clients": 0}, "max_clients=0"),
        ({"per_s": 1, "count": "calls"}, "expected 'each_tool', 'tools' or 'requests'"),
        ({"per_s": 1, "count": "requests", "tools": ["a"]}, "leave out count='requests'"),
    ],
)
def test_a_limit_that_is_none_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RateLimit(**options)


async def test_the_key_of_a_client_may_be_made_of_its_headers_or_info(clock: Clock) -> None:
    def by_name(ctx: Context) -> Any:
        return getattr(ctx.client_info, "name", None)

    server = limited(RateLimit(1, client=by_name))
    async with Client("ann") as ann, Client("bob") as bob:
        for client in (ann, bob):
            session = await client.connect(server, revision="2025-11-25")
            await session.call_tool("add", {"a": 1, "b": 2})
        again = await ann.connect(server, revision="2025-11-25")
        with pytest.raises(McpError, match="too many"):
            await again.call_tool("add", {"a": 1, "b": 2})
