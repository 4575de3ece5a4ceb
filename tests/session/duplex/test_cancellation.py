"""Cancellation: a cancelled request gets no response, and its handler is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from mcp_gen import Server
from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.transports.memory import memory_pair
from tests.support.frames import Speaker, every_revision, with_batches
from tests.support.peers.raw import WAIT_S, RawClient, talking


class Waits:
    """Server with a tool that waits for ever, and records its end."""

    def __init__(self) -> None:
        self.server = Server("waits")
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        self.seen: BaseException | None = None

        @self.server.tool
        async def wait() -> str:
            self.began.set()
            try:
                await asyncio.Event().wait()
            except BaseException as error:
                self.seen = error
                raise
            finally:
                self.ended.set()
            return "never"

        @self.server.tool
        async def stubborn() -> str:
            self.began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "all the same"
            return "never"

        @self.server.tool
        async def echo(text: str) -> str:
            return text


async def soon(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), WAIT_S)


async def serves(client: RawClient) -> None:
    """Check that the server still answers, after all earlier messages."""
    assert "result" in await client.ask(client.speaker.call("after", "echo", text="a"))


@every_revision
async def test_a_cancelled_request_is_answered_with_nothing(revision: str) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(client.speaker.call(1, "wait"))
        await soon(waits.began)
        client.send(client.speaker.cancel(1))
        await soon(waits.ended)
        await serves(client)
        assert client.came == []


@every_revision
async def test_the_handler_of_a_cancelled_request_sees_cancelled_error(revision: str) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(client.speaker.call(1, "wait"))
        await soon(waits.began)
        client.send(client.speaker.cancel(1))
        await soon(waits.ended)
        assert isinstance(waits.seen, asyncio.CancelledError)


@every_revision
async def test_a_handler_that_goes_on_after_its_cancellation_is_not_answered(revision: str) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(client.speaker.call(1, "stubborn"))
        await soon(waits.began)
        client.send(client.speaker.cancel(1))
        await serves(client)
        await serves(client)
        assert client.came == []


@every_revision
async def test_a_request_cancelled_before_it_began_is_answered_with_nothing(revision: str) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(client.speaker.call(1, "wait"), client.speaker.cancel(1))
        await serves(client)
        await serves(client)
        assert client.came == []


@every_revision
async def test_the_id_of_a_cancelled_request_may_be_used_again(revision: str) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(client.speaker.call(1, "wait"))
        await soon(waits.began)
        client.send(client.speaker.cancel(1))
        await soon(waits.ended)
        await serves(client)
        assert "result" in await client.ask(client.speaker.call(1, "echo", text="a"))


@every_revision
async def test_a_cancellation_takes_the_json_type_of_the_id_seriously(revision: str) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(client.speaker.call(1, "wait"))
        await soon(waits.began)
        client.send(client.speaker.cancel("1"))
        await serves(client)
        assert not waits.ended.is_set()
        client.send(client.speaker.cancel(1))


@every_revision
async def test_other_requests_go_on_when_one_is_cancelled(revision: str) -> None:
    server = Server("two")
    began, release = asyncio.Event(), asyncio.Event()

    @server.tool
    async def hold() -> str:
        began.set()
        await release.wait()
        return "held"

    async with talking(server, revision) as client:
        client.send(client.speaker.call(1, "hold"), client.speaker.call(2, "hold"))
        await soon(began)
        client.send(client.speaker.cancel(1))
        release.set()
        assert "result" in await client.answer(2)


@with_batches
async def test_a_batch_is_answered_without_the_request_that_was_cancelled(revision: str) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        asked = [client.speaker.call(1, "wait"), client.speaker.call(2, "echo", text="a")]
        client.send(b"[" + b",".join(asked) + b"]")
        await soon(waits.began)
        client.send(client.speaker.cancel(1))
        answers = await client.next()
        assert [answer["id"] for answer in answers] == [2]


@with_batches
async def test_a_batch_whose_every_request_was_cancelled_is_answered_with_nothing(
    revision: str,
) -> None:
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(b"[" + client.speaker.call(1, "wait") + b"]")
        await soon(waits.began)
        client.send(client.speaker.cancel(1))
        await soon(waits.ended)
        await serves(client)
        assert client.came == []


@every_revision
async def test_a_server_that_is_told_to_stop_ends_what_is_in_flight_first(revision: str) -> None:
    waits = Waits()
    ours, theirs = memory_pair()
    serving = asyncio.create_task(waits.server.serve(theirs))
    client = RawClient(RecordingTransport(ours), Speaker(revision))
    await client.transport.start(client)
    client.send(*client.speaker.opening, client.speaker.call(1, "wait"))
    await soon(waits.began)
    serving.cancel()
    await asyncio.wait([serving], timeout=WAIT_S)
    assert serving.cancelled()
    assert waits.ended.is_set()


@every_revision
async def test_what_is_in_flight_after_the_grace_when_the_client_hangs_up_is_cancelled(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_gen.session.duplex.server.GRACE_S", 0.01)
    waits = Waits()
    async with talking(waits.server, revision) as client:
        client.send(client.speaker.call(1, "wait"))
        await soon(waits.began)
    assert isinstance(waits.seen, asyncio.CancelledError)
