"""Keys, items and depth of one message, on both sides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from mcp_gen import Client, Context, PeerLimits, ProtocolError, Server
from mcp_gen.core.envelope import MAX_DEPTH
from tests.hostile.work.limits.limit import TAKEN, Limit, Reach
from tests.support.frames import BATCHING, HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import WebClient, begin, surfing
from tests.support.peers.answering import EVERYTHING, Capable
from tests.support.peers.raw import WAIT_S, talking
from tests.support.peers.scripted import MemoryPeer, opening

__all__ = ["LIMITS"]

AT, FAR = 60, 400_000
INVALID_REQUEST, INVALID_PARAMS = "-32600", "-32602"
TOO_LARGE = "413 -32600"

Make = Callable[[list[int]], bytes]


def make_server() -> Server:
    server = Server("limited", peer_limits=PeerLimits(max_values=AT))

    @server.tool
    async def take(x: Any = None) -> str:
        return TAKEN

    @server.tool
    async def ask(ctx: Context) -> str:
        try:
            await ctx.list_roots(timeout_s=WAIT_S)
        except ProtocolError as error:
            return str(error.code)
        return TAKEN

    @server.prompt
    def table(rows: list[int]) -> str:
        return str(len(rows))

    return server


def padded(make: Make, values: int) -> bytes:
    """Return a message with so many keys and items."""
    return make([0] * (values + 1 - count_of(msgspec.json.decode(make([0])))))


def count_of(value: Any) -> int:
    if isinstance(value, dict):
        return sum(1 + count_of(one) for one in value.values()) or 1
    return sum(1 + count_of(one) for one in value) or 1 if isinstance(value, list) else 0


def outcome(answer: Any, status: str = "") -> str:
    """Return the outcome of the request 1."""
    assert answer["id"] == 1
    return f"{status}{answer['error']['code']}" if "error" in answer else TAKEN


def in_memory(revision: str) -> Reach:
    async def reach(values: int) -> str:
        async with talking(make_server(), revision) as client:
            said = padded(lambda x: client.speaker.call(1, "take", x=x), values)
            return outcome(await client.ask(said))

    return reach


def over_http(revision: str) -> Reach:
    async def reach(values: int) -> str:
        async with surfing(make_server().asgi(), revision) as client:
            return await posted(client, values)

    return reach


async def reach_without_session(values: int) -> str:
    client = WebClient(make_server().asgi(stateless=True), Speaker(HANDSHAKE))
    try:
        return await posted(client, values)
    finally:
        await client.aclose()


async def posted(client: WebClient, values: int) -> str:
    reply = await client.ask(padded(lambda x: client.speaker.call(1, "take", x=x), values))
    return outcome(reply.json, "" if reply.status == 200 else f"{reply.status} ")


async def reach_in_meta(values: int) -> str:
    async with talking(make_server(), PER_REQUEST) as client:

        def make(x: list[int]) -> bytes:
            return client.speaker.request(1, "tools/list", {"_meta": {"x/y": x}})

        return outcome(await client.ask(padded(make, values)))


async def reach_in_batch(values: int) -> str:
    """Reach the limit with the members of a batch, each of which is far below it."""
    async with talking(make_server(), BATCHING[0]) as client:
        ping = msgspec.json.encode({"jsonrpc": "2.0", "id": 2, "method": "ping"})

        def make(x: list[int]) -> bytes:
            return b"[" + ping + b"," + client.speaker.call(1, "take", x=x) + b"]"

        client.send(padded(make, values))
        outcomes: set[str] = set()
        for answer in await client.take(lambda frame: type(frame) is list):
            outcomes.add(outcome({**answer, "id": 1}))
        (only,) = outcomes
        return only


async def reach_in_response_of_client(values: int) -> str:
    """Let a tool ask its client for something, over HTTP, and return what it got."""
    app = make_server().asgi()
    client = WebClient(app, Capable(HANDSHAKE, EVERYTHING))
    client.session = await begin(app, client.speaker)
    await client.ask(client.speaker.initialized)
    stream = client.post(client.speaker.call(1, "ask"))
    asked = await stream.frame()
    await client.ask(padded(partial(response, asked["id"], "roots"), values))
    answered = await stream.frame()
    await client.aclose()
    await app.aclose()
    text: str = answered["result"]["content"][0]["text"]
    return text


async def reach_in_result(values: int) -> str:
    """Let a server answer a client."""
    server = MemoryPeer(opening(HANDSHAKE))
    async with asyncio.timeout(WAIT_S), Client("limited", max_values=AT) as client:
        session = await client.connect(await server.start(), revision=HANDSHAKE)
        calling = asyncio.ensure_future(session.call_tool("any"))
        asked = await server.heard("tools/call")
        server.say(padded(partial(response, asked["id"], "content"), values))
        return await ended(calling)


async def ended(calling: asyncio.Future[Any]) -> str:
    try:
        await calling
    except ProtocolError as error:
        return str(error.code)
    return TAKEN


async def reach_in_request_of_server(values: int) -> str:
    server = MemoryPeer(opening(HANDSHAKE))
    async with asyncio.timeout(WAIT_S), Client("limited", max_values=AT) as client:
        await client.connect(await server.start(), revision=HANDSHAKE)

        def make(x: list[int]) -> bytes:
            params = {"_meta": {"x/y": x}}
            asked = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params}
            return msgspec.json.encode(asked)

        server.say(padded(make, values))
        return outcome(await server.answer_to(1))


def response(id: Any, field: str, padding: list[int]) -> bytes:
    result = {field: [], "_meta": {"x/y": padding}}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result})


async def reach_in_text(values: int) -> str:
    """Reach the limit with JSON in a string, which is one value of its message."""
    async with talking(make_server(), HANDSHAKE) as client:
        arguments = {"rows": f"[{','.join('0' * values)}]"}
        params = {"name": "table", "arguments": arguments}
        return outcome(await client.ask(client.speaker.request(1, "prompts/get", params)))


async def reach_depth(levels: int) -> str:
    async with talking(Server("deep"), HANDSHAKE) as client:
        # The message, its params and their `_meta` are three levels.
        inner = b"[" * (levels - 3) + b"]" * (levels - 3)
        asked = client.speaker.request(1, "ping", {"_meta": {"x/y": "inner"}})
        client.send(asked.replace(b'"inner"', inner))
        return outcome(await client.next())


async def reach_depth_of_result(levels: int) -> str:
    server = MemoryPeer(opening(HANDSHAKE))
    async with asyncio.timeout(WAIT_S), Client("limited") as client:
        session = await client.connect(await server.start(), revision=HANDSHAKE)
        calling = asyncio.ensure_future(session.call_tool("any"))
        asked = await server.heard("tools/call")
        inner = b"[" * (levels - 4) + b"]" * (levels - 4)
        server.say(response(asked["id"], "content", [0]).replace(b"0]", inner + b"]"))
        return await ended(calling)


LIMITS: list[Limit] = [
    Limit("depth of a request", MAX_DEPTH, 1_000_000, INVALID_REQUEST, reach_depth),
    Limit("depth of a result", MAX_DEPTH, 1_000_000, INVALID_REQUEST, reach_depth_of_result),
    *(
        Limit(f"values of a request at {one}", AT, FAR, INVALID_REQUEST, in_memory(one))
        for one in (HANDSHAKE, PER_REQUEST)
    ),
    *(
        Limit(f"values of a POST at {one}", AT, FAR, TOO_LARGE, over_http(one))
        for one in (HANDSHAKE, PER_REQUEST)
    ),
    Limit("values of a POST without a session", AT, FAR, TOO_LARGE, reach_without_session),
    Limit("values in `_meta`", AT, FAR, INVALID_REQUEST, reach_in_meta),
    Limit("values of a batch", AT, FAR, INVALID_REQUEST, reach_in_batch),
    Limit("values of a client's response", AT, FAR, INVALID_REQUEST, reach_in_response_of_client),
    Limit("values of a server's request", AT, FAR, INVALID_REQUEST, reach_in_request_of_server),
    Limit("values of JSON in an argument of a prompt", AT, FAR, INVALID_PARAMS, reach_in_text),
    Limit("values of a result", AT, FAR, INVALID_REQUEST, reach_in_result),
]
