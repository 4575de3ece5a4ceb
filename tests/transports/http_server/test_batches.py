"""Batches in one POST, at the one revision that has them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.frames import BATCHING, PER_REQUEST, STREAMABLE, Speaker, with_batches
from tests.support.http.asgi import headers_of, request, surfing
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import Talker, soon


def batch(*messages: bytes) -> bytes:
    return b"[" + b",".join(messages) + b"]"


def by_id(answers: Any) -> dict[Any, Any]:
    return {answer["id"]: answer for answer in answers}


@with_batches
async def test_an_array_of_requests_is_answered_with_an_array(revision: str) -> None:
    speaker = Speaker(revision)
    async with surfing(Talker().server.asgi(), revision) as client:
        message = batch(speaker.call(1, "echo", text="a"), speaker.request("1", "ping"))
        reply = await client.ask_array(message)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    answers = by_id(reply.json)
    assert answers.keys() == {1, "1"}
    assert answers[1]["result"]["content"][0]["text"] == "a"


@with_batches
async def test_what_is_wrong_in_an_array_is_answered_in_it(revision: str) -> None:
    speaker = Speaker(revision)
    async with surfing(Talker().server.asgi(), revision) as client:
        message = batch(speaker.request(1, "no/such"), b"17", speaker.request(2, "ping"))
        reply = await client.ask_array(message)
    codes = [answer.get("error", {}).get("code") for answer in reply.json]
    assert sorted(codes, key=str) == [-32600, -32601, None]


@with_batches
async def test_an_array_with_nothing_to_answer_is_accepted(revision: str) -> None:
    speaker = Speaker(revision)
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask_array(batch(speaker.cancel(1), speaker.initialized))
    assert (reply.status, reply.body) == (202, b"")


@with_batches
async def test_an_array_is_answered_on_a_stream_if_something_is_said_before(revision: str) -> None:
    speaker = Speaker(revision)
    async with surfing(Talker().server.asgi(), revision) as client:
        message = batch(speaker.call(1, "say", words=["a"]), speaker.call(2, "say", words=["b"]))
        reply = await client.ask_array(message)
    *notes, answers = [event.json for event in reply.events]
    assert sorted(note["params"]["data"] for note in notes) == ["a", "b"]
    assert by_id(answers).keys() == {1, 2}


@with_batches
async def test_answers_of_the_client_may_come_in_an_array(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        opened = [client.post(client.speaker.call(id, "roots")) for id in (1, 2)]
        asked = [await one.frame() for one in opened]
        answers = [
            b'{"jsonrpc":"2.0","id":%d,"result":{"roots":[]}}' % frame["id"] for frame in asked
        ]
        assert (await client.ask_array(batch(*answers))).status == 202
        assert [(await one.frame())["id"] for one in opened] == [1, 2]


@with_batches
async def test_a_request_of_an_array_can_be_cancelled_alone(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        speaker = client.speaker
        opened = client.post_array(
            batch(speaker.call(1, "wait"), speaker.call(2, "echo", text="a"))
        )
        await soon(talker.began)
        await client.ask(speaker.cancel(1))
        reply = await opened.whole()
    assert by_id(reply.json).keys() == {2}


@with_batches
async def test_an_empty_array_is_refused(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask_array(b"[]")
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)


@with_batches
async def test_an_array_that_is_no_json_is_refused(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask_array(b'[{"jsonrpc":')
    assert (reply.status, reply.json["error"]["code"]) == (400, -32700)


@with_batches
async def test_the_handshake_may_not_be_in_an_array(revision: str) -> None:
    speaker = Speaker(revision)
    reply = await request(Talker().server.asgi(), batch(speaker.initialize(0)))
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)


@with_batches
async def test_a_second_handshake_in_an_array_is_refused(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask_array(batch(client.speaker.initialize(5)))
    (answer,) = reply.json
    assert (answer["id"], answer["error"]["code"]) == (5, -32600)


@pytest.mark.parametrize("revision", [one for one in STREAMABLE if one not in BATCHING])
async def test_elsewhere_an_array_is_refused(revision: str) -> None:
    speaker = Speaker(revision)
    async with surfing(Talker().server.asgi(), revision) as client:
        message = batch(speaker.call(1, "echo", text="a"))
        reply = await client.ask_array(message)
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)
    assert "id" not in reply.json


async def test_a_request_that_names_its_revision_cannot_be_in_an_array() -> None:
    speaker = Speaker(PER_REQUEST)
    message = speaker.call(1, "echo", text="a")
    reply = await request(Talker().server.asgi(), batch(message), headers_of(speaker, message))
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)


@with_batches
async def test_who_hangs_up_on_an_array_has_cancelled_nothing(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        opened = client.post_array(batch(client.speaker.call(1, "wait")))
        await opened.watched()
        opened.hang_up()
        await asyncio.wait([opened.task], timeout=WAIT_S)
        talker.go_on.set()
        await soon(talker.ended)
    assert talker.seen is None


# --- without sessions ---


@with_batches
async def test_without_sessions_each_entry_of_an_array_is_answered_in_it(revision: str) -> None:
    speaker, app = Speaker(revision), Talker().server.asgi(stateless=True)
    entries = (speaker.call(1, "echo", text="a"), b"17", speaker.cancel(9), speaker.initialize(2))
    reply = await request(app, batch(*entries))
    answered, wrong, handshake = reply.json
    assert (answered["id"], answered["result"]["content"][0]["text"]) == (1, "a")
    assert ("id" in wrong, wrong["error"]["code"]) == (False, -32600)
    assert (handshake["id"], handshake["error"]["code"]) == (2, -32600)


@with_batches
async def test_without_sessions_an_array_with_nothing_to_answer_is_accepted(revision: str) -> None:
    app = Talker().server.asgi(stateless=True)
    reply = await request(app, batch(Speaker(revision).cancel(1)))
    assert (reply.status, reply.body) == (202, b"")


async def test_without_sessions_an_array_is_refused_elsewhere() -> None:
    newest = next(one for one in reversed(STREAMABLE) if one not in (PER_REQUEST, *BATCHING))
    speaker, app = Speaker(newest), Talker().server.asgi(stateless=True)
    named = {str(speaker.profile.version_header): newest}
    reply = await request(app, batch(speaker.call(1, "echo", text="a")), named)
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)
