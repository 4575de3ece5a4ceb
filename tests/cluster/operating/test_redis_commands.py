"""Commands that requests cost Redis: the table of docs/scale.md, measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from mcp_gen import Accepted, Context, Server, SessionState
from mcp_gen.cluster import Redis
from mcp_gen.cluster.redis.connection import RedisConnection
from mcp_gen.transports.http_server.app import AsgiApp
from tests.cluster.sessions import nodes as nodes_module
from tests.cluster.sessions.changing import settled
from tests.cluster.sessions.nodes import LAST, Nodes, RoamingClient, nodes_of
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import begin, end
from tests.support.peers.answering import EVERYTHING, Capable, accept
from tests.support.processes.redis_server import ANSWER_S, RedisServer

PAGE = Path(__file__).parents[3] / "docs/scale.md"
HEAD = "| what | commands of Redis |"
URI = "shop://stock"


@dataclass
class Name:
    name: str


def server_of(_: int) -> Server:
    """Return a server with a tool for each kind of call."""
    server = Server("counted", declare={"tasks", "logging"}, session_state=SessionState())

    @server.tool
    async def add(ctx: Context) -> str:
        return "2"

    @server.tool
    async def say(ctx: Context) -> str:
        await ctx.client.notify_logging_message("info", "so")
        return "said"

    @server.tool
    async def keep(ctx: Context, value: int) -> str:
        assert ctx.session is not None
        ctx.session.state["a"] = value
        return "kept"

    @server.tool
    async def ping(ctx: Context) -> str:
        await ctx.client.ping()
        return "pong"

    @server.tool
    async def count(ctx: Context) -> str:
        await ctx.state.set("n", await ctx.state.get("n", int, 0) + 1)
        return "counted"

    @server.tool
    async def order(ctx: Context, once: bool) -> str:
        if once:
            await ctx.once("number", lambda: 7)
        answer = await ctx.elicit("Who?", Name)
        assert isinstance(answer, Accepted)
        return answer.content.name

    @server.tool(task="required")
    async def work() -> str:
        return "worked"

    @server.resource(URI)
    async def stock() -> str:
        return "3"

    return server


class Counted:
    """Two nodes, a client with a session at each, and the number of commands that they send."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.here, self.there = nodes.apps
        self.sent = 0

    async def of(self, work: Awaitable[Any]) -> int:
        """Return the number of commands that something costs, what it leaves to others included."""
        await settled(self.nodes)
        before = self.sent
        await work
        await settled(self.nodes)
        return self.sent - before - len(self.nodes.apps)

    async def client(self, revision: str = HANDSHAKE) -> RoamingClient:
        """Return a client with a session at the first node."""
        client = await self.nodes.client(revision)
        client.speaker = Capable(revision, EVERYTHING)
        return client


@asynccontextmanager
async def counted(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Counted]:
    """Serve two nodes whose heartbeats do not come in between."""

    def clusters(number: int, heartbeat_s: float) -> list[Redis]:
        return [Redis(url, timeout_s=ANSWER_S, heartbeat_s=60, lease_s=120) for _ in range(number)]

    monkeypatch.setattr(nodes_module, "MAKE_CLUSTERS", clusters)
    put: Any = vars(RedisConnection)["_put"]
    found: list[Counted] = []

    def counting(connection: RedisConnection, *given: Any) -> Any:
        for one in found:
            one.sent += 1
        return put(connection, *given)

    monkeypatch.setattr(RedisConnection, "_put", counting)
    async with nodes_of(server_of) as nodes:
        found.append(Counted(nodes))
        yield found[0]


Measure: TypeAlias = Callable[[Counted], Awaitable[int]]


def call(tool: str, revision: str = HANDSHAKE, **arguments: Any) -> Measure:
    """Measure a call at the node of the session."""

    async def measure(counted: Counted) -> int:
        client = await counted.client(revision)
        return await counted.of(client.ask(client.speaker.call(1, tool, **arguments)))

    return measure


async def handshake(counted: Counted) -> int:
    return await counted.of(begin(counted.here, Speaker(HANDSHAKE)))


async def initialized(counted: Counted) -> int:
    client = RoamingClient(counted.here, Speaker(HANDSHAKE))
    client.session = await begin(client.app, client.speaker)
    return await counted.of(client.ask(client.speaker.initialized))


async def first_call_elsewhere(counted: Counted) -> int:
    client = await counted.client()
    return await counted.of(client.at(counted.there).ask(client.speaker.call(1, "add")))


async def second_call_elsewhere(counted: Counted) -> int:
    client = await counted.client()
    await client.at(counted.there).ask(client.speaker.call(1, "add"))
    return await counted.of(client.ask(client.speaker.call(2, "add")))


async def events(client: RoamingClient, app: AsgiApp) -> None:
    """Make a call that is answered with a stream of two messages."""
    reply = await client.at(app).ask(client.speaker.call(1, "say"))
    assert len([one for one in reply.events if one.data]) == 2


async def call_with_events(counted: Counted) -> int:
    return await counted.of(events(await counted.client(), counted.here))


async def replay(counted: Counted) -> int:
    client = await counted.client()
    reply = await client.ask(client.speaker.call(1, "say"))
    first = reply.events[0].id
    await client.at(counted.there).ask(client.speaker.call(2, "add"))

    async def resume() -> None:
        resumed = await client.get(**{LAST: str(first)}).whole()
        assert len([one for one in resumed.events if one.data]) == 2

    return await counted.of(resume())


async def listening(counted: Counted) -> int:
    client = await counted.client()
    return await counted.of(client.listening(counted.here))


def answer(at: int) -> Measure:
    """Measure the response to a question, at a node; the question is counted apart."""

    async def measure(counted: Counted) -> int:
        client = await counted.client()
        app = counted.nodes.apps[at]
        await client.at(app).ask(client.speaker.call(2, "add"))
        opened = client.at(counted.here).post(client.speaker.call(1, "ping"))
        question = await opened.frame()
        result: dict[str, Any] = {}
        frame = {"jsonrpc": "2.0", "id": question["id"], "result": result}

        async def respond() -> None:
            assert (await client.at(app).ask(msgspec.json.encode(frame))).status == 202
            await opened.whole()

        return await counted.of(respond())

    return measure


async def cancellation(counted: Counted) -> int:
    client = await counted.client()
    return await counted.of(client.ask(client.speaker.cancel(9)))


async def deletion(counted: Counted) -> int:
    client = await counted.client()
    return await counted.of(end(counted.here, client.session))


async def change_without_listeners(counted: Counted) -> int:
    await counted.client()

    async def change() -> None:
        counted.nodes.servers[0].notify.tool_list_changed()
        await asyncio.sleep(0)

    return await counted.of(change())


async def change_of_a_session(counted: Counted) -> int:
    """Measure what each session with a stream adds to a change."""
    found: list[int] = []
    for _ in range(2):
        client = await counted.client()
        stream = await client.listening(counted.here)

        async def change(stream: Any = stream) -> None:
            counted.nodes.servers[1].notify.tool_list_changed()
            await stream.frame()

        await counted.of(change())
        found.append(await counted.of(change()))
    return found[1] - found[0]


async def listen_request(counted: Counted) -> int:
    client = await counted.client(PER_REQUEST)
    wanted = {"notifications": {"toolsListChanged": True}}

    async def listen() -> None:
        opened = client.post(client.speaker.request(1, "subscriptions/listen", wanted))
        await opened.frame()
        counted.nodes.servers[1].notify.tool_list_changed()
        assert (await opened.frame())["method"] == "notifications/tools/list_changed"

    # One is that of the change itself, however many listen.
    return await counted.of(listen()) - 1


def rounds(number: int, *, once: bool) -> Measure:
    """Measure a round of a multi round-trip request; the second one at another node."""

    async def measure(counted: Counted) -> int:
        client = await counted.client(PER_REQUEST)
        params: dict[str, Any] = {"name": "order", "arguments": {"once": once}}
        ask = client.speaker.request
        first = client.ask(ask(1, "tools/call", params))
        if number == 1:
            return await counted.of(first)
        result = (await first).json["result"]
        (key,) = result["inputRequests"]
        more = {"requestState": result["requestState"], "inputResponses": {key: accept(name="A")}}
        again = client.at(counted.there).ask(ask(2, "tools/call", {**params, **more}))
        return await counted.of(again)

    return measure


async def task(counted: Counted) -> int:
    """Measure a task from its call to its result."""
    client = await counted.client()

    async def run() -> None:
        params: dict[str, Any] = {"name": "work", "task": {}}
        made = await client.ask(client.speaker.request(1, "tools/call", params))
        id = made.json["result"]["task"]["taskId"]
        await client.ask(client.speaker.request(2, "tasks/result", {"taskId": id}))

    return await counted.of(run())


async def task_look(counted: Counted) -> int:
    client = await counted.client()
    params: dict[str, Any] = {"name": "work", "task": {}}
    made = await client.ask(client.speaker.request(1, "tools/call", params))
    id = made.json["result"]["task"]["taskId"]
    await client.ask(client.speaker.request(2, "tasks/result", {"taskId": id}))
    return await counted.of(client.ask(client.speaker.request(3, "tasks/get", {"taskId": id})))


MEASURED: dict[str, Measure] = {
    "`initialize`": handshake,
    "`notifications/initialized`": initialized,
    "call in a session, answered with JSON": call("add"),
    "the first request of a session at another process": first_call_elsewhere,
    "further requests there, within 30 s": second_call_elsewhere,
    "call answered with a stream of two messages": call_with_events,
    "a stream that is resumed at another process after its end": replay,
    "GET stream, opened": listening,
    "call that changes `session.state`": call("keep", value=1),
    "call that gets and sets a `ctx.state`": call("count"),
    "response to a question, and the end of its call": answer(0),
    "the same, at another process": answer(1),
    "`notifications/cancelled`": cancellation,
    "`DELETE` of a session": deletion,
    "a change (`list_changed`, `resources/updated`)": change_without_listeners,
    "the same, for each session that is told": change_of_a_session,
    "call of 2026-07-28": call("add", PER_REQUEST),
    "`subscriptions/listen`, and changes for it": listen_request,
    "round with a question, without `ctx.once`": rounds(1, once=False),
    "first round that uses `ctx.once`": rounds(1, once=True),
    "second round, at any process": rounds(2, once=True),
    "task, from its call to its result": task,
    "`tasks/get` of a task that has ended": task_look,
}


def table() -> dict[str, int]:
    """Return the table of the page."""
    _, _, after = PAGE.read_text("utf-8").partition(f"{HEAD}\n|---|---|\n")
    lines = after.partition("\n\n")[0].splitlines()
    rows = [line.strip("| ").rsplit(" | ", 1) for line in lines]
    return {what: int(number) for what, number in rows}


def test_the_table_has_a_row_for_each_kind_of_request_that_is_measured() -> None:
    assert list(table()) == list(MEASURED)


@pytest.mark.parametrize("what", MEASURED)
async def test_a_request_costs_redis_as_many_commands_as_the_page_says(
    what: str, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with counted(redis_server.url, monkeypatch) as world:
        number = await MEASURED[what](world)
    assert number == table().get(what), f"docs/scale.md: write {number} for {what!r}"
