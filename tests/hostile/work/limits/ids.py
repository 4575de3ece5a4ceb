"""Limits on ids, tasks and requests that are open."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen import Client, Server, Tasks
from mcp_gen.core.peer_values import MAX_ID_LENGTH
from mcp_gen.session.duplex.client import MAX_OPEN_REQUESTS
from mcp_wire import latest
from tests.hostile.work.limits.limit import TAKEN, Limit
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.http.asgi import surfing
from tests.support.loop import until
from tests.support.peers.raw import WAIT_S, talking
from tests.support.peers.scripted import MemoryPeer, opening

__all__ = ["LIMITS"]

OLD = Speaker(HANDSHAKE)
INVALID_REQUEST = "-32600"


def _code(frame: Any) -> str:
    return str(frame["error"]["code"]) if "error" in frame else TAKEN


async def characters_of_an_id(number: int) -> str:
    async with talking(Server("s"), HANDSHAKE) as client:
        client.send(OLD.request("i" * number, "ping"))
        return _code(await client.next())


async def characters_of_an_id_over_http(number: int) -> str:
    async with surfing(Server("s").asgi(), HANDSHAKE) as client:
        return _code((await client.ask(OLD.request("i" * number, "ping"))).json)


async def tasks_at_once(number: int) -> str:
    server = Server("s", tasks=Tasks(max_created_per_s=1))

    @server.tool(task="required")
    async def work() -> str:
        return "done"

    last = TAKEN
    async with talking(server, HANDSHAKE) as client:
        for id in range(1, number + 1):
            params = {"name": "work", "arguments": {}, "task": {}}
            last = _code(await client.ask(OLD.request(id, "tools/call", params)))
    await server.aclose()
    return last


async def requests_of_a_server(number: int) -> str:
    """Send requests to a client whose callback is slow."""
    go_on = asyncio.Event()
    peer = MemoryPeer(opening(HANDSHAKE))
    async with Client("c") as client:

        @client.sampling
        async def sample(session: Any, params: latest.CreateMessageRequestParams) -> None:
            await go_on.wait()

        await client.connect(await peer.start(), revision=HANDSHAKE)
        known = len(peer.asked)
        for id in range(number):
            asked = OLD.request(id, "sampling/createMessage", {"messages": [], "maxTokens": 1})
            peer.say(asked)
        refused = max(0, number - MAX_OPEN_REQUESTS)
        async with asyncio.timeout(WAIT_S):
            await until(lambda: len(peer.asked) - known >= refused)
            for _ in range(5):
                await asyncio.sleep(0)
            go_on.set()
            await until(lambda: len(peer.asked) - known >= number)
        codes = [_code(frame) for frame in peer.asked[known:]]
    # The user of this client rejects each request, which is another code.
    return INVALID_REQUEST if INVALID_REQUEST in codes else TAKEN


LIMITS = [
    Limit("characters of an id", MAX_ID_LENGTH, 4_000_000, INVALID_REQUEST, characters_of_an_id),
    Limit(
        "characters of an id over HTTP",
        MAX_ID_LENGTH,
        4_000_000,
        INVALID_REQUEST,
        characters_of_an_id_over_http,
    ),
    Limit("tasks at once", 1, 20, INVALID_REQUEST, tasks_at_once),
    Limit(
        "open requests of a server",
        MAX_OPEN_REQUESTS,
        3 * MAX_OPEN_REQUESTS,
        INVALID_REQUEST,
        requests_of_a_server,
    ),
]
