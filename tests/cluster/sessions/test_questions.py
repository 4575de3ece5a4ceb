"""Requests to the client in a cluster: the stream that carries them, and the way of the answers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.core.stores.sessions import MAX_MOVES
from mcp_gen.session.cluster.session import ClusteredSession
from tests.cluster.sessions.nodes import LAST, Nodes, RoamingClient, nodes_of, texts_of
from tests.support.frames import BATCHING, HANDSHAKE, with_sessions
from tests.support.http.asgi import Open, Reply
from tests.support.peers.raw import WAIT_S

WITH_BATCHES = next(one for one in BATCHING if mcp_wire.profile(one).session_header)


def asking_server(at: int) -> Server:
    """Return a server whose tools ask the client."""
    server = Server("asking")

    @server.tool
    async def where() -> str:
        return str(at)

    @server.tool
    async def ping(ctx: Context) -> str:
        await ctx.client.ping()
        return f"pong at {at}"

    @server.tool
    async def ping_session(ctx: Context) -> str:
        assert ctx.session is not None
        await ctx.session.client.ping()
        return f"pong at {at}"

    return server


def answer_to(question: Any, **more: Any) -> bytes:
    """Return the client's answer to a question."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": question["id"], "result": {}, **more})


async def asked(client: RoamingClient, nodes: Nodes, at: int) -> tuple[Open, Any]:
    """Call the tool that asks on its own stream; return the stream and the question."""
    opened = client.at(nodes.apps[at]).post(client.speaker.call(1, "ping"))
    return opened, await opened.frame()


async def text_of(opened: Open) -> str:
    """Return the text of the result that ends a response."""
    reply = await opened.whole()
    if reply.headers["content-type"] != "text/event-stream":
        return texts_of(reply.json)[0]
    frames = [one.json for one in reply.events if one.data]
    return texts_of(frames[-1])[0]


@with_sessions
async def test_an_answer_at_another_node_reaches_the_handler(revision: str) -> None:
    async with nodes_of(asking_server, 3) as nodes:
        client = await nodes.client(revision)
        opened, question = await asked(client, nodes, 1)
        taken = await client.at(nodes.apps[2]).ask(answer_to(question))
        assert (taken.status, taken.body) == (202, b"")
        assert await text_of(opened) == "pong at 1"


async def test_an_answer_that_comes_twice_is_refused_at_every_node() -> None:
    async with nodes_of(asking_server, 3) as nodes:
        client = await nodes.client()
        opened, question = await asked(client, nodes, 0)
        replies = [await client.at(app).ask(answer_to(question)) for app in nodes.apps]
        assert [one.status for one in replies] == [202, 400, 400]
        assert await text_of(opened) == "pong at 0"


@pytest.mark.parametrize("id", [0, 7, 1 << 20, (9 << 20) + 1, 1 << 62, -5, "1", None])
async def test_an_answer_to_nothing_is_refused(id: Any) -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client()
        for app in nodes.apps:
            reply = await client.at(app).ask(answer_to({"id": id}))
            assert reply.status == 400


async def test_an_answer_to_a_node_that_is_gone_is_refused() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client()
        opened, question = await asked(client, nodes, 0)
        await nodes.clusters[0].die()
        refused = await client.at(nodes.apps[1]).ask(answer_to(question))
        assert refused.status == 400
        opened.hang_up()
        nodes.servers[0].end_sessions()


async def test_an_answer_to_a_node_that_is_silent_may_come_again() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client()
        opened, question = await asked(client, nodes, 0)
        await client.at(nodes.apps[1]).ask(client.speaker.call(2, "where"))
        nodes.clusters[0].freeze()
        refused = await client.ask(answer_to(question))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        nodes.clusters[0].thaw()
        replies = {(await client.ask(answer_to(question))).status for _ in range(2)}
        # The node may have got the first one when it went on.
        assert replies <= {202, 400}
        assert await text_of(opened) == "pong at 0"


async def test_another_client_cannot_answer() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client, other = await nodes.client(), await nodes.client()
        opened, question = await asked(client, nodes, 0)
        for app in nodes.apps:
            assert (await other.at(app).ask(answer_to(question))).status == 400
        await client.ask(answer_to(question))
        assert await text_of(opened) == "pong at 0"


@pytest.mark.parametrize("way", ["ping", "ping_session"])
async def test_progress_of_a_question_at_another_node_reaches_the_handler(way: str) -> None:
    heard: list[float] = []
    both = asyncio.Event()

    def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)
        if len(heard) == 2:
            both.set()

    def make(at: int) -> Server:
        server = Server("reporting")

        @server.tool
        async def ping(ctx: Context) -> str:
            await ctx.client.ping(progress=hear)
            return "done"

        @server.tool
        async def ping_session(ctx: Context) -> str:
            assert ctx.session is not None
            await ctx.session.client.ping(progress=hear)
            return "done"

        return server

    async with nodes_of(make, 3) as nodes:
        client = await nodes.client()
        listens = await client.listening(nodes.apps[2])
        opened = client.at(nodes.apps[0]).post(client.speaker.call(1, way))
        question = await (opened if way == "ping" else listens).frame()
        token = question["params"]["_meta"]["progressToken"]
        for done, app in zip((1, 2), nodes.apps[1:], strict=True):
            params = {"progressToken": token, "progress": done}
            frame = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            assert (await client.at(app).ask(msgspec.json.encode(frame))).status == 202
        await asyncio.wait_for(both.wait(), WAIT_S)
        assert (await client.ask(answer_to(question))).status == 202
        assert await text_of(opened) == "done"
    assert heard == [1, 2]


async def test_a_response_to_a_node_of_long_ago_is_refused() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client()
        opened, question = await asked(client, nodes, 0)
        (id,) = client.session.values()
        for _ in range(MAX_MOVES):
            assert await nodes.clusters[1].sessions.enter(id, "another") is not None
        assert (await client.at(nodes.apps[1]).ask(answer_to(question))).status == 400
        # The node itself still knows it.
        assert (await client.at(nodes.apps[0]).ask(answer_to(question))).status == 202
        assert await text_of(opened) == "pong at 0"


async def test_a_question_follows_its_call_to_the_node_where_it_was_resumed() -> None:
    go_on = asyncio.Event()

    def make(at: int) -> Server:
        server = asking_server(at)

        @server.tool
        async def ping_later(ctx: Context) -> str:
            await ctx.report_progress(1)
            await ctx.close_stream(retry_ms=1)
            await go_on.wait()
            await ctx.client.ping()
            return "asked"

        return server

    async with nodes_of(make, 2) as nodes:
        client = await nodes.client(HANDSHAKE)
        first = client.post(client.speaker.call(1, "ping_later"))
        await first.ended()
        reply = first.so_far
        assert reply is not None
        resumed = client.at(nodes.apps[1]).get(**{LAST: str(reply.events[0].id)})
        await resumed.head()
        go_on.set()
        question = await resumed.frame()
        assert question["method"] == "ping"
        assert (await client.ask(answer_to(question))).status == 202
        assert await text_of(resumed) == "asked"


async def test_a_question_of_no_request_reaches_the_one_open_stream_at_another_node() -> None:
    async with nodes_of(asking_server, 3) as nodes:
        client = await nodes.client()
        streams = [await client.listening(nodes.apps[at]) for at in (1, 2)]
        opened = client.at(nodes.apps[0]).post(client.speaker.call(1, "ping_session"))
        question = await streams[1].frame()
        assert question["method"] == "ping"
        assert (await client.at(nodes.apps[1]).ask(answer_to(question))).status == 202
        assert await text_of(opened) == "pong at 0"
        assert streams[0].messages == []


async def test_a_question_waits_for_a_stream_at_whatever_node() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client()
        opened = client.at(nodes.apps[0]).post(client.speaker.call(1, "ping_session"))
        await asyncio.sleep(0)
        stream = await client.listening(nodes.apps[1])
        question = await stream.frame()
        assert (await client.ask(answer_to(question))).status == 202
        assert await text_of(opened) == "pong at 0"


async def test_a_question_of_a_node_that_came_later_finds_the_stream() -> None:
    async with nodes_of(asking_server, 3) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[1])
        # The third node has not heard of the stream: it has the session only now.
        opened = client.at(nodes.apps[2]).post(client.speaker.call(1, "ping_session"))
        question = await stream.frame()
        assert (await client.ask(answer_to(question))).status == 202
        assert await text_of(opened) == "pong at 2"


async def test_a_question_goes_to_the_other_stream_when_the_node_of_the_newest_is_gone() -> None:
    async with nodes_of(asking_server, 3) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[1])
        await client.listening(nodes.apps[2])
        await nodes.clusters[2].die()
        opened = client.at(nodes.apps[0]).post(client.speaker.call(1, "ping_session"))
        question = await stream.frame()
        assert (await client.ask(answer_to(question))).status == 202
        assert await text_of(opened) == "pong at 0"


async def test_an_answer_in_a_batch_reaches_its_node() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client(WITH_BATCHES)
        opened, question = await asked(client, nodes, 0)
        batch = b"[%b,%b]" % (answer_to(question), client.speaker.call(5, "where"))
        reply: Reply = await client.at(nodes.apps[1]).ask_array(batch)
        assert [texts_of(one) for one in reply.json] == [["1"]]
        assert await text_of(opened) == "pong at 0"


async def test_a_message_that_another_node_hands_over_twice_is_sent_once() -> None:
    async with nodes_of(asking_server, 1) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[0])
        (session,) = nodes.servers[0].sessions()
        assert isinstance(session, ClusteredSession)
        messages = [client.speaker.request(number, "ping") for number in (1, 2)]
        for number in (1, 1, 2, 2):
            assert session.streams.take("another", number, messages[number - 1])
        assert [(await stream.frame())["id"] for _ in range(2)] == [1, 2]
        assert len(stream.messages) == 2
