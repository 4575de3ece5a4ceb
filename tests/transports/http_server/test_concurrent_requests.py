"""Concurrent requests over HTTP are independent; ending a session ends all of its requests."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen import Context, Server
from mcp_gen.transports.http_server.app import AsgiApp, Message
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle
from tests.support.http.asgi import Reply, begin, end, headers_of, request

WAIT_S = 30.0
USER = "X-User"


class Meeting:
    """Server whose tool answers once this number of calls are open."""

    def __init__(self, size: int) -> None:
        self.server = Server("meeting")
        self._open = 0
        self._all = asyncio.Event()

        @self.server.tool
        async def meet(name: str, ctx: Context) -> str:
            self._open += 1
            if self._open == size:
                self._all.set()
            await asyncio.wait_for(self._all.wait(), WAIT_S)
            headers = ctx.headers or {}
            return f"{name} is {headers.get(USER.lower())}"


async def say(app: AsgiApp, speaker: Speaker, id: Any, name: str, headers: dict[str, str]) -> Reply:
    message = speaker.call(id, "meet", name=name)
    return await request(app, message, {**headers_of(speaker, message), **headers, USER: name})


def text(reply: Reply) -> str:
    (block,) = reply.json["result"]["content"]
    return str(block["text"])


@each_lifecycle
async def test_two_calls_at_once_are_answered_independently(revision: str) -> None:
    app, speaker = Meeting(2).server.asgi(), Speaker(revision)
    session = await begin(app, speaker)
    replies = await asyncio.gather(
        say(app, speaker, 1, "Ada", session), say(app, speaker, "1", "Bob", session)
    )
    assert [reply.json["id"] for reply in replies] == [1, "1"]


@each_lifecycle
async def test_a_call_sees_its_own_headers_while_another_is_open(revision: str) -> None:
    app, speaker = Meeting(2).server.asgi(), Speaker(revision)
    session = await begin(app, speaker)
    replies = await asyncio.gather(
        say(app, speaker, 1, "Ada", session), say(app, speaker, 2, "Bob", session)
    )
    assert [text(reply) for reply in replies] == ["Ada is Ada", "Bob is Bob"]


async def test_the_same_id_may_be_open_in_two_sessions_at_once() -> None:
    app, speaker = Meeting(2).server.asgi(), Speaker(HANDSHAKE)
    sessions = [await begin(app, speaker) for _ in range(2)]
    replies = await asyncio.gather(*(say(app, speaker, 1, "Ada", session) for session in sessions))
    assert [reply.json["id"] for reply in replies] == [1, 1]


async def test_what_a_client_says_of_itself_in_its_handshake_is_known_in_its_session() -> None:
    server = Server("who")

    @server.tool
    def who(ctx: Context) -> str:
        return f"{ctx.client_info.name} at {ctx.revision}"

    app, speaker = server.asgi(), Speaker(HANDSHAKE)
    session = await begin(app, speaker)
    reply = await request(app, speaker.call(1, "who"), session)
    assert text(reply) == f"raw at {HANDSHAKE}"


async def test_a_body_over_the_limit_is_not_read_to_its_end() -> None:
    read, statuses = [0], [0]

    async def receive() -> Message:
        read[0] += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": read[0] < 1000}

    async def send(message: Message) -> None:
        statuses.append(message.get("status", 0))

    app = Meeting(1).server.asgi(max_body_bytes=1000)
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}
    await app(scope, receive, send)
    assert 413 in statuses
    assert read[0] == 11


# --- notifications ---


async def ended_session(app: AsgiApp) -> dict[str, str]:
    session = await begin(app, Speaker(HANDSHAKE))
    await end(app, session)
    return session


async def test_a_notification_in_a_session_that_has_ended_is_not_found() -> None:
    app, speaker = Meeting(1).server.asgi(), Speaker(HANDSHAKE)
    session = await ended_session(app)
    assert (await request(app, speaker.initialized, session)).status == 404


async def test_a_notification_that_needs_no_session_is_taken_whatever_session_it_names() -> None:
    app, speaker = Meeting(1).server.asgi(), Speaker(PER_REQUEST)
    version = {str(speaker.profile.version_header): PER_REQUEST}
    session = await ended_session(app)
    assert (await request(app, speaker.cancel(1), {**session, **version})).status == 202


async def test_a_session_that_was_ended_twice_is_not_found() -> None:
    app = Meeting(1).server.asgi()
    session = await ended_session(app)
    assert (await end(app, session)).status == 404
