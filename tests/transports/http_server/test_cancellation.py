"""Cancellation of a request in an HTTP session; it ends the POST, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp_gen import Context, InvalidRequest
from mcp_gen.transports.http_server.app import AsgiApp
from tests.session.duplex.test_cancellation import Waits, soon
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, with_sessions
from tests.support.http.asgi import Reply, begin, headers_of, request
from tests.support.peers.raw import WAIT_S

OLD = Speaker(HANDSHAKE)


class Open:
    """Session of a client, whose call with the id 1 is open."""

    def __init__(self, app: AsgiApp, speaker: Speaker, session: dict[str, str]) -> None:
        self.app = app
        self.speaker = speaker
        self.session = session
        self.reply: asyncio.Task[Reply] | None = None

    def call(self, id: Any, tool: str, **arguments: Any) -> asyncio.Task[Reply]:
        message = self.speaker.call(id, tool, **arguments)
        return asyncio.create_task(request(self.app, message, self.session))

    async def cancel(self, id: Any) -> None:
        reply = await request(self.app, self.speaker.cancel(id), self.session)
        assert (reply.status, reply.body) == (202, b"")

    async def first(self) -> Reply:
        """Return the response to the call."""
        assert self.reply
        return await asyncio.wait_for(self.reply, WAIT_S)


@asynccontextmanager
async def calling(
    waits: Waits, tool: str = "wait", revision: str = HANDSHAKE
) -> AsyncIterator[Open]:
    app, speaker = waits.server.asgi(), Speaker(revision)
    client = Open(app, speaker, await begin(app, speaker))
    client.reply = client.call(1, tool)
    await soon(waits.began)
    yield client
    # A disconnect alone leaves the handler running.
    if not waits.ended.is_set():
        await client.cancel(1)
    client.reply.cancel()
    await asyncio.wait([client.reply], timeout=WAIT_S)


@with_sessions
async def test_a_cancelled_request_is_accepted_with_nothing_to_say(revision: str) -> None:
    waits = Waits()
    async with calling(waits, revision=revision) as client:
        await client.cancel(1)
        reply = await client.first()
    assert (reply.status, reply.body) == (202, b"")
    assert "content-type" not in reply.headers


async def test_the_handler_of_a_cancelled_request_sees_cancelled_error() -> None:
    waits = Waits()
    async with calling(waits) as client:
        await client.cancel(1)
        await soon(waits.ended)
    assert isinstance(waits.seen, asyncio.CancelledError)


async def test_hooks_hear_of_the_cancellation_and_of_the_request_that_failed_by_it() -> None:
    waits, said = Waits(), list[Any]()
    hooks = waits.server.hooks
    hooks.on_cancelled(lambda ctx, params: said.append(params.request_id))
    hooks.error_call_tool(lambda ctx, params, error: said.append(type(error)))
    async with calling(waits) as client:
        await client.cancel(1)
        await client.first()
        await asyncio.sleep(0)
    assert sorted(said, key=str) == [1, asyncio.CancelledError]


async def test_a_handler_that_goes_on_after_its_cancellation_is_not_answered() -> None:
    waits = Waits()
    async with calling(waits, "stubborn") as client:
        await client.cancel(1)
        assert ((await client.first()).status, (await client.first()).body) == (202, b"")


async def test_the_task_of_a_cancelled_post_goes_on_as_if_nothing_had_happened() -> None:
    waits = Waits()
    app = waits.server.asgi()
    client = Open(app, OLD, await begin(app, OLD))

    async def two_posts() -> list[Reply]:
        messages = [OLD.call(1, "wait"), OLD.call(1, "echo", text="a")]
        return [await request(app, message, client.session) for message in messages]

    posts = asyncio.create_task(two_posts())
    await soon(waits.began)
    await client.cancel(1)
    assert [reply.status for reply in await asyncio.wait_for(posts, WAIT_S)] == [202, 200]


async def test_other_requests_of_the_session_go_on() -> None:
    waits = Waits()
    async with calling(waits) as client:
        await client.cancel(2)
        echoed = await asyncio.wait_for(client.call(2, "echo", text="a"), WAIT_S)
        assert echoed.status == 200
        assert not waits.ended.is_set()


async def test_a_cancellation_takes_the_json_type_of_the_id_seriously() -> None:
    waits = Waits()
    async with calling(waits) as client:
        await client.cancel("1")
        await asyncio.sleep(0)
        assert not waits.ended.is_set()


async def test_the_same_id_in_another_session_is_not_meant() -> None:
    waits = Waits()
    async with calling(waits) as client:
        other = Open(client.app, OLD, await begin(client.app, OLD))
        await other.cancel(1)
        await asyncio.sleep(0)
        assert not waits.ended.is_set()


async def test_what_names_its_revision_itself_cancels_nothing() -> None:
    waits, stated = Waits(), Speaker(PER_REQUEST)
    async with calling(waits) as client:
        message = stated.cancel(1)
        await request(client.app, message, {**client.session, **headers_of(stated, message)})
        await asyncio.sleep(0)
        assert not waits.ended.is_set()


async def test_a_request_that_is_cancelled_twice_is_cancelled_once() -> None:
    waits = Waits()
    cancels = 0

    @waits.server.tool
    async def slow_to_end() -> None:
        nonlocal cancels
        waits.began.set()
        for _ in range(2):
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 0.01)
            except TimeoutError:
                return
            except asyncio.CancelledError:
                cancels += 1

    async with calling(waits, "slow_to_end") as client:
        await asyncio.gather(client.cancel(1), client.cancel(1))
        assert (await client.first()).status == 202
    assert cancels == 1


async def test_a_post_that_both_sides_cancel_is_accepted_with_nothing_to_say() -> None:
    waits = Waits()
    async with calling(waits) as client:
        cancelling = asyncio.create_task(client.cancel(1))
        await asyncio.sleep(0)
        assert client.reply
        client.reply.cancel()
        await cancelling
        assert ((await client.first()).status, (await client.first()).body) == (202, b"")


async def test_an_id_that_is_still_open_is_refused() -> None:
    waits = Waits()
    async with calling(waits) as client:
        reply = await client.call(1, "echo", text="a")
        assert not waits.ended.is_set()
    assert (reply.status, reply.json["error"]["code"]) == (400, InvalidRequest.code)
    assert reply.json["id"] == 1


async def test_the_id_of_a_cancelled_request_may_be_used_again() -> None:
    waits = Waits()
    async with calling(waits) as client:
        await client.cancel(1)
        await client.first()
        assert (await client.call(1, "echo", text="a")).status == 200


async def test_hooks_hear_of_a_cancellation_of_nothing() -> None:
    waits, heard = Waits(), list[int]()

    @waits.server.hooks.on_cancelled
    def hear(ctx: Context, params: Any) -> None:
        heard.append(params.request_id)

    async with calling(waits) as client:
        await client.cancel(7)
        await asyncio.sleep(0)
        assert heard == [7]
