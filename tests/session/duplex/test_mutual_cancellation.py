"""A cancellation ends a request of its sender, and no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import Context, RequestTimeout, Server, SessionLost
from tests.support.frames import encoded, with_handshake
from tests.support.peers.raw import WAIT_S, RawClient, talking


class Asks:
    """Server whose tool sends a request to the client; `failed` records the outcome."""

    def __init__(self) -> None:
        self.server = Server("asks")
        self.failed: BaseException | None = None
        self.ended = asyncio.Event()

        @self.server.tool
        async def ask(ctx: Context, timeout_s: float = WAIT_S) -> str:
            try:
                await ctx.client.ping(timeout_s=timeout_s)
            except BaseException as error:
                self.failed = error
                raise
            finally:
                self.ended.set()
            return "answered"

        @self.server.tool
        async def wait() -> str:
            await asyncio.Event().wait()
            return "never"


def cancelled(frame: Any) -> Any:
    """Return the id that a frame cancels."""
    assert frame["method"] == "notifications/cancelled"
    return frame["params"]["requestId"]


def pong(asked: Any) -> bytes:
    return encoded({"jsonrpc": "2.0", "id": asked["id"], "result": {}})


async def serves(client: RawClient, id: Any) -> None:
    """Check that the server still answers, after all earlier messages."""
    assert (await client.ask(client.speaker.request(id, "ping")))["result"] == {}


@with_handshake
async def test_a_cancelled_handler_cancels_what_it_asks_the_client(revision: str) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call("c", "ask"))
        asked = await client.next()
        client.send(client.speaker.cancel("c"))
        assert cancelled(await client.next()) == asked["id"]
        await serves(client, "after")
        assert client.came == []
    assert isinstance(asks.failed, asyncio.CancelledError)


@with_handshake
async def test_what_the_client_does_not_answer_in_time_is_cancelled(revision: str) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call("c", "ask", timeout_s=0.02))
        asked = await client.next()
        assert cancelled(await client.next()) == asked["id"]
        said = (await client.answer("c"))["result"]
        assert (said["isError"], said["content"][0]["text"]) == (True, "ping: no answer in 0.02 s")
    assert isinstance(asks.failed, RequestTimeout)


@with_handshake
async def test_an_answer_that_comes_after_its_cancellation_is_ignored(revision: str) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call("c", "ask"))
        asked = await client.next()
        client.send(client.speaker.cancel("c"))
        await client.next()
        client.send(pong(asked))
        await serves(client, "after")
        assert client.came == []


@with_handshake
async def test_what_a_client_is_asked_when_it_hangs_up_is_lost_at_once(revision: str) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call(1, "ask"))
        assert (await client.next())["method"] == "ping"
        await client.transport.aclose()
        await asyncio.wait_for(asks.ended.wait(), WAIT_S)
    assert isinstance(asks.failed, SessionLost)
    assert str(asks.failed) == "the client hung up"


@with_handshake
async def test_a_client_cannot_cancel_what_it_is_asked(revision: str) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call("c", "ask"))
        asked = await client.next()
        client.send(client.speaker.cancel(asked["id"]))
        await serves(client, "after")
        assert not asks.ended.is_set()
        client.send(pong(asked))
        assert (await client.answer("c"))["result"]["content"][0]["text"] == "answered"


@with_handshake
async def test_the_same_id_in_both_directions_is_two_requests(revision: str) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call("c", "ask"))
        asked = await client.next()
        # The client's own request takes the id that the server's has.
        client.send(client.speaker.call(asked["id"], "wait"))
        await serves(client, "before")
        client.send(client.speaker.cancel(asked["id"]))
        await serves(client, "after")
        assert not asks.ended.is_set()
        client.send(pong(asked))
        assert "result" in await client.answer("c")
        assert client.came == []


@with_handshake
async def test_a_handshake_cannot_be_cancelled(revision: str) -> None:
    server, goes_on = Server("slow handshake"), asyncio.Event()

    @server.hooks.before_initialize
    async def wait(ctx: Context, params: Any) -> None:
        await goes_on.wait()

    async with talking(server, revision, opened=False) as client:
        client.send(client.speaker.initialize("i"), client.speaker.cancel("i"))
        client.send(client.speaker.initialized)
        asyncio.get_running_loop().call_soon(goes_on.set)
        assert (await client.answer("i"))["result"]["protocolVersion"] == revision
        await serves(client, "after")


@with_handshake
@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": [1]}, {"reason": "no"}])
async def test_a_cancellation_that_names_no_request_cancels_nothing(
    revision: str, params: Any
) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call("c", "ask"))
        asked = await client.next()
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        client.send(encoded(message))
        await serves(client, "after")
        client.send(pong(asked))
        assert "result" in await client.answer("c")


@with_handshake
async def test_either_side_may_ping_the_other(revision: str) -> None:
    asks = Asks()
    async with talking(asks.server, revision) as client:
        client.send(client.speaker.call("c", "ask"))
        asked = await client.next()
        await serves(client, "p")
        client.send(pong(asked))
        assert (await client.answer("c"))["result"]["content"][0]["text"] == "answered"
