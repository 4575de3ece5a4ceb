"""Request bodies: time limit and size limit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import Open, headers_of, open_request, request
from tests.support.peers.talker import Talker

PEER, OLD = Speaker(PER_REQUEST), Speaker(HANDSHAKE)
CALL = PEER.call(1, "echo", text="a")
SOON_S = 0.01
HTTP_1, HTTP_2 = {"http_version": "1.1"}, {"http_version": "2"}


def begun(app: Any, *pieces: bytes, **scope: Any) -> Open:
    """Start a call whose body is never complete."""
    opened = open_request(app, [*pieces, b"the rest"], headers_of(PEER, CALL), **scope)
    opened._coming.pop()
    return opened


@pytest.mark.parametrize("pieces", [(), (CALL[:20],), (CALL[:20], CALL[20:30])])
async def test_a_message_that_does_not_come_is_not_waited_for(pieces: tuple[bytes, ...]) -> None:
    app = Talker().server.asgi(body_timeout_s=SOON_S)
    reply = await begun(app, *pieces, **HTTP_1).whole()
    assert (reply.status, reply.json["error"]["code"]) == (408, -32600)
    assert reply.headers["connection"] == "close"
    assert (await request(app, CALL, headers_of(PEER, CALL))).status == 200


async def test_a_message_for_an_older_client_is_not_waited_for_either() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse", body_timeout_s=SOON_S)
    stream = open_request(app, method="GET", path="/sse")
    path, _, query = (await stream.event()).data.partition(b"?")
    late = begun(app, path=path.decode(), query_string=query)
    assert (await late.whole()).status == 408
    stream.hang_up()
    await stream.task


async def test_a_message_that_comes_in_pieces_in_time_is_read() -> None:
    app = Talker().server.asgi(body_timeout_s=SOON_S)
    for _ in range(20):
        reply = await request(app, [CALL[:20], CALL[20:]], headers_of(PEER, CALL))
        assert reply.status == 200


async def test_a_call_that_takes_longer_than_its_message_may_is_answered() -> None:
    talker = Talker()
    app = talker.server.asgi(body_timeout_s=SOON_S)
    message = PEER.call(1, "wait")
    opened = open_request(app, message, headers_of(PEER, message))
    # The time limit of the message is over.
    await asyncio.sleep(4 * SOON_S)
    talker.go_on.set()
    assert (await opened.whole()).status == 200


async def test_who_cancels_a_request_of_an_older_client_has_cancelled_it() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse")
    stream = open_request(app, method="GET", path="/sse")
    path, _, query = (await stream.event()).data.partition(b"?")
    opened = begun(app, CALL[:20], path=path.decode(), query_string=query)
    await opened.watched()
    opened.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opened.task
    stream.hang_up()
    await stream.task


async def test_a_message_that_says_it_is_too_large_is_not_even_begun() -> None:
    app = Talker().server.asgi(max_body_bytes=20_000)
    sent = {**headers_of(PEER, CALL), "content-length": "20001"}
    opened = open_request(app, b"a", sent)
    assert (await opened.whole()).status == 413
    assert len(opened._coming) == 1


@pytest.mark.parametrize(("scope", "closes"), [(HTTP_1, True), (HTTP_2, False), ({}, False)])
async def test_what_is_left_of_a_message_that_is_too_large_does_not_come(
    scope: dict[str, str], *, closes: bool
) -> None:
    app = Talker().server.asgi(max_body_bytes=100)
    for sent in (headers_of(PEER, CALL), {"content-length": "99999"}):
        reply = await request(app, [b" " * 60, b" " * 60], sent, **scope)
        assert reply.status == 413
        assert ("connection" in reply.headers) == closes
