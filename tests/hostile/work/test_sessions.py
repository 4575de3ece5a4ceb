"""Places of sessions: taken before anything is awaited, and given back."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from mcp_gen import Context, Server
from tests.hostile.work.limits.sessions import AT, OLD, SlowServers
from tests.support.frames import HANDSHAKE
from tests.support.http.asgi import begin, end, open_request, request
from tests.support.loop import until
from tests.support.peers.raw import WAIT_S, talking


async def test_a_handshake_that_fails_gives_its_place_back() -> None:
    server = Server("s")

    @server.hooks.before_initialize
    async def refuse(ctx: Context, params: Any) -> None:
        if params.client_info.name == "raw":
            raise PermissionError

    app = server.asgi(max_sessions=1)
    for id in range(3):
        assert "error" in (await request(app, OLD.initialize(id))).json
    welcome = OLD.initialize(4).replace(b'"raw"', b'"other"')
    assert (await request(app, welcome)).status == 200
    await app.aclose()


async def test_a_server_that_does_not_start_gives_its_place_back() -> None:
    starts: list[int] = []

    def make() -> Server:
        starts.append(1)
        if len(starts) in (2, 3):
            raise RuntimeError("not now")
        return Server("s")

    app = Server.per_connection(make).asgi(max_sessions=1)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            await open_request(app, OLD.initialize(0)).task
    await end(app, await begin(app, OLD))
    await app.aclose()


async def test_no_more_servers_are_started_than_sessions_may_be_open() -> None:
    slow = SlowServers()
    app = slow.app()
    opened = [open_request(app, OLD.initialize(id)) for id in range(200)]
    await asyncio.wait_for(until(lambda: sum(not one.task.done() for one in opened) <= AT), WAIT_S)
    slow.begin.set()
    for one in opened:
        await one.whole()
    # One more serves the requests without a session.
    assert slow.most <= AT + 1
    await app.aclose()


@pytest.mark.parametrize(("size", "kept"), [(1_000, True), (100_000, False)])
async def test_roots_are_kept_if_they_are_not_large(size: int, kept: bool) -> None:
    server = Server("s")

    @server.tool
    async def cached_roots(ctx: Context) -> int:
        return len(await ctx.list_roots())

    async with talking(server, HANDSHAKE, opened=False) as client:
        declared = b'"capabilities":{"roots":{"listChanged":true}}'
        client.send(OLD.initialize(0).replace(b'"capabilities":{}', declared), OLD.initialized)
        await client.answer(0)
        client.send(OLD.call(1, "cached_roots"))
        asked = await client.next()
        roots = {"roots": [{"uri": "file:///" + "a" * size}]}
        client.send(msgspec.json.encode({"jsonrpc": "2.0", "id": asked["id"], "result": roots}))
        await client.answer(1)
        (session,) = server.sessions()
        assert (session.roots is not None) == kept
