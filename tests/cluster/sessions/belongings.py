"""Things that belong to a principal: how they are made, and how a client would use them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from mcp_gen import Accepted, Context, Server
from mcp_wire.extensions.tasks import EXTENSION as TASKS
from tests.cluster.sessions.nodes import LAST, RoamingClient
from tests.cluster.sessions.test_sse_pair import OLD
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.asgi import Open, Reply, end, open_request, request
from tests.support.peers.answering import accept

__all__ = [
    "OWNER",
    "THINGS",
    "URI",
    "Thing",
    "World",
    "first_event",
    "frame_of",
    "identified",
    "next_round",
    "order",
    "principal_of",
    "thief_of",
]

INVALID_PARAMS = -32602
OWNER = "ann"
WHO = "x-who"
"""Header that says the principal."""
URI = "shop://stock"


@dataclass
class Name:
    name: str


class World:
    """Server of all nodes, with a record of what its tools have made, and open requests."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.made: list[str] = []
        self.cancelled: list[str] = []
        self.opened: list[Open] = []

    def server(self, _at: int) -> Server:
        """Return the server of a node."""
        server = Server("owned", declare={"tasks"})

        @server.tool
        async def who(ctx: Context) -> str:
            return str(ctx.principal)

        @server.tool
        async def wait(ctx: Context) -> str:
            await ctx.client.notify_logging_message("info", "a secret")
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled.append(str(ctx.principal))
                raise
            return "waited"

        @server.tool
        async def ping(ctx: Context) -> str:
            await ctx.client.ping()
            return "pong"

        @server.tool(task="required")
        async def work() -> str:
            await self.gate.wait()
            return "worked"

        @server.tool
        async def order(ctx: Context) -> str:
            def make() -> str:
                self.made.append(str(ctx.principal))
                return f"number {len(self.made)}"

            number: str = await ctx.once("number", make)
            answer = await ctx.elicit("Who?", Name)
            assert isinstance(answer, Accepted)
            return f"{number} of {answer.content.name}"

        @server.resource(URI)
        async def stock() -> str:
            return "3"

        return server

    def open(self, opened: Open) -> Open:
        """Note a request that is ended with the test."""
        self.opened.append(opened)
        return opened

    async def aclose(self) -> None:
        """End what was opened."""
        self.gate.set()
        for opened in self.opened:
            opened.hang_up()
            await opened.ended()


def principal_of(scope: dict[str, Any]) -> str | None:
    """Return the principal of a request: what its header says."""
    named: bytes | None = dict(scope["headers"]).get(WHO.encode())
    return None if named is None else named.decode()


def identified(who: str | None) -> dict[str, str]:
    return {} if who is None else {WHO: who}


Use: TypeAlias = Callable[[RoamingClient], Awaitable[Any]]
"""Tries to use something with a client; returns what comes of it."""
Make: TypeAlias = Callable[[World, RoamingClient], Awaitable[Use]]
"""Makes something for its owner; returns how a client would use it."""


class Thing(NamedTuple):
    """Something that belongs to a principal: what comes of its use by others and by the owner."""

    revision: str
    make: Make
    refused: Any
    allowed: Any


# --- sessions and their streams ---


def borrowed(owner: RoamingClient, client: RoamingClient) -> dict[str, str]:
    """Return headers with the session of one client, and the principal of another."""
    session = {name: value for name, value in owner.session.items() if name != WHO}
    return {**session, **{name: value for name, value in client.session.items() if name == WHO}}


def thief_of(owner: RoamingClient, client: RoamingClient) -> RoamingClient:
    """Return a client that names the session of another."""
    thief = RoamingClient(client.app, client.speaker)
    thief.session = borrowed(owner, client)
    return thief


async def a_session_by_post(_: World, owner: RoamingClient) -> Use:
    async def use(client: RoamingClient) -> int:
        thief = thief_of(owner, client)
        return (await thief.ask(thief.speaker.call(5, "who"))).status

    return use


async def a_session_by_notification(_: World, owner: RoamingClient) -> Use:
    async def use(client: RoamingClient) -> int:
        thief = thief_of(owner, client)
        return (await thief.ask(thief.speaker.cancel(1))).status

    return use


async def a_session_by_get(world: World, owner: RoamingClient) -> Use:
    async def use(client: RoamingClient) -> int:
        return (await world.open(thief_of(owner, client).get()).head()).status

    return use


async def a_session_by_delete(_: World, owner: RoamingClient) -> Use:
    async def use(client: RoamingClient) -> int:
        return (await end(client.app, borrowed(owner, client))).status

    return use


async def first_event(world: World, owner: RoamingClient) -> tuple[Open, str]:
    """Begin a call; return its stream, and the id of its first event with a message."""
    opened = world.open(owner.post(owner.speaker.call(1, "wait")))
    event = await opened.event()
    while not event.data:
        event = await opened.event()
    return opened, str(event.id)


async def an_event_id(world: World, owner: RoamingClient) -> Use:
    _opened, event_id = await first_event(world, owner)

    async def use(client: RoamingClient) -> int:
        opened = world.open(thief_of(owner, client).get(**{LAST: event_id}))
        return (await opened.head()).status

    return use


async def a_stream_of_http_sse(world: World, owner: RoamingClient) -> Use:
    accepts = {"accept": "text/event-stream", WHO: OWNER}
    stream = world.open(open_request(owner.app, b"", accepts, method="GET", path="/sse"))
    path, _, query = (await stream.event()).data.decode().partition("?")

    async def use(client: RoamingClient) -> int:
        sent = identified(client.session.get(WHO))
        given = {"path": path, "query_string": query.encode()}
        return (await request(client.app, OLD.initialize(0), sent, **given)).status

    return use


# --- tasks ---


def frame_of(reply: Reply) -> Any:
    """Return the response to a request, also of one that was answered with a stream."""
    if reply.headers["content-type"] == "text/event-stream":
        return [one.json for one in reply.events if one.data][-1]
    return reply.json


def code_of(reply: Reply) -> Any:
    """Return the code of an error; None for a result."""
    return frame_of(reply).get("error", {}).get("code")


def extended(client: RoamingClient) -> Mapping[str, Any]:
    """Return the params of requests about tasks that declare the extension, where it is one."""
    key = client.speaker.profile.client_capabilities_key
    if key is None:
        return {}
    capabilities: dict[str, Any] = {"extensions": {TASKS.identifier: {}}, "elicitation": {}}
    return {"_meta": {key: capabilities}}


async def begun_task(owner: RoamingClient) -> str:
    """Begin a task; return its id."""
    is_core = owner.speaker.profile.tasks == "core"
    more: Mapping[str, Any] = {"task": {}} if is_core else extended(owner)
    params = {"name": "work", **more}
    reply = await owner.ask(owner.speaker.request(1, "tools/call", params))
    result = frame_of(reply)["result"]
    return str((result["task"] if is_core else result)["taskId"])


def a_task(method: str, **more: Any) -> Make:
    async def make(world: World, owner: RoamingClient) -> Use:
        id = await begun_task(owner)
        if method == "tasks/result":
            world.gate.set()

        async def use(client: RoamingClient) -> Any:
            params = {"taskId": id, **more, **extended(client)}
            return code_of(await client.ask(client.speaker.request(5, method, params)))

        return use

    return make


async def a_list_of_tasks(_: World, owner: RoamingClient) -> Use:
    id = await begun_task(owner)

    async def use(client: RoamingClient) -> bool:
        listed = frame_of(await client.ask(client.speaker.request(5, "tasks/list")))
        return id in [one["taskId"] for one in listed["result"]["tasks"]]

    return use


async def a_subscription_to_a_task(world: World, owner: RoamingClient) -> Use:
    id = await begun_task(owner)

    async def use(client: RoamingClient) -> bool:
        wanted = {"notifications": {"taskIds": [id]}, **extended(client)}
        asked = client.speaker.request(5, "subscriptions/listen", wanted)
        opened = world.open(client.post(asked))
        told = (await opened.frame())["params"]["notifications"]
        return id in (told.get("taskIds") or [])

    return use


# --- rounds ---


def order(client: RoamingClient, **more: Any) -> bytes:
    arguments: dict[str, Any] = {}
    params: dict[str, Any] = {"name": "order", "arguments": arguments, **more, **extended(client)}
    return client.speaker.request(5, "tools/call", params)


async def next_round(client: RoamingClient) -> dict[str, Any]:
    """Make the first round; return the params of the second one."""
    asked = frame_of(await client.ask(order(client)))["result"]
    (key,) = asked["inputRequests"]
    return {"requestState": asked["requestState"], "inputResponses": {key: accept(name="Eve")}}


async def a_request_state(_: World, owner: RoamingClient) -> Use:
    more = await next_round(owner)

    async def use(client: RoamingClient) -> Any:
        return code_of(await client.ask(order(client, **more)))

    return use


THINGS = {
    "a session, by a request": Thing(HANDSHAKE, a_session_by_post, 404, 200),
    "a session, by a notification": Thing(HANDSHAKE, a_session_by_notification, 404, 202),
    "a session, by a stream": Thing(HANDSHAKE, a_session_by_get, 404, 200),
    "a session, by its end": Thing(HANDSHAKE, a_session_by_delete, 404, 204),
    "an event id": Thing(HANDSHAKE, an_event_id, 404, 200),
    "a stream of HTTP+SSE": Thing(PER_REQUEST, a_stream_of_http_sse, 404, 202),
    "a task, by tasks/get": Thing(HANDSHAKE, a_task("tasks/get"), INVALID_PARAMS, None),
    "a task, by tasks/result": Thing(HANDSHAKE, a_task("tasks/result"), INVALID_PARAMS, None),
    "a task, by tasks/cancel": Thing(HANDSHAKE, a_task("tasks/cancel"), INVALID_PARAMS, None),
    "a task, by tasks/list": Thing(HANDSHAKE, a_list_of_tasks, False, True),
    "a task of the extension, by tasks/get": Thing(
        PER_REQUEST, a_task("tasks/get"), INVALID_PARAMS, None
    ),
    "a task of the extension, by tasks/update": Thing(
        PER_REQUEST, a_task("tasks/update", inputResponses={}), INVALID_PARAMS, None
    ),
    "a task of the extension, by tasks/cancel": Thing(
        PER_REQUEST, a_task("tasks/cancel"), INVALID_PARAMS, None
    ),
    "a task of the extension, by a subscription": Thing(
        PER_REQUEST, a_subscription_to_a_task, False, True
    ),
    "a requestState": Thing(PER_REQUEST, a_request_state, INVALID_PARAMS, None),
}
