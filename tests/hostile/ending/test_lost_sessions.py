"""Questions of an HTTP session that the server has lost get no answer in the next session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from mcp_gen import Client, ClientSession, text_of
from mcp_gen.transports.http_client.outbox import MAX_AT_ONCE
from tests.client.scripted import opening
from tests.support.frames import HANDSHAKE
from tests.support.http.loopback import Got, Line, Web, scripted_web
from tests.support.peers.talker import soon

WAIT_S = 30.0
EVENTS = "text/event-stream"
OLD, NEW = "s1", "s2"


def question(word: str, id: int = 1) -> bytes:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    params = {"message": word, "requestedSchema": schema}
    frame = {"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}
    return b"data: %b\n\n" % msgspec.json.encode(frame)


class Forgetful:
    """Server that loses its first session at the call of `lose`, and counts its ids anew."""

    def __init__(self) -> None:
        self.sessions = 0
        self.lost = False
        self.asks: dict[str, list[bytes]] = {}
        """Events on the notification stream of each session."""
        self.answers: list[tuple[str, Any]] = []
        """Answers by session."""
        self.answered = asyncio.Event()
        """Set with an answer in the new session."""
        self.takes_answers = asyncio.Event()
        self.takes_answers.set()
        self.slow_call = asyncio.Event()
        """Set when the call of `slow` has come."""
        self.go_on = asyncio.Event()
        """The stream of `slow` asks a question and answers then."""

    async def script(self, got: Got, line: Line) -> None:
        session = got.headers.get("mcp-session-id", "")
        if got.asks == "initialize":
            self.sessions += 1
            reply = opening(HANDSHAKE)["initialize"]({})
            assert reply is not None
            await line.result(got, reply["result"], mcp_session_id=f"s{self.sessions}")
        elif got.method == "GET":
            await line.head(200, EVENTS)
            await line.raw(b":\n\n" + b"".join(self.asks.get(session, [])))
            await line.silence()
        elif got.asks == "tools/call":
            await self._call(got, line, session)
        elif got.body and "method" not in got.json:
            await self._take(got, session)
            await line.answer(202)
        else:
            await line.answer(202)

    async def _call(self, got: Got, line: Line, session: str) -> None:
        result = {"content": [{"type": "text", "text": session}]}
        if got.json["params"]["name"] == "slow":
            await line.head(200, EVENTS)
            self.slow_call.set()
            await self.go_on.wait()
            frame = {"jsonrpc": "2.0", "id": got.json["id"], "result": result}
            await line.raw(question("late") + b"data: %b\n\n" % msgspec.json.encode(frame))
        elif session == OLD:
            await line.answer(404)
        else:
            await line.result(got, result)

    async def _take(self, got: Got, session: str) -> None:
        self.answers.append((session, got.json["id"]))
        if session == NEW:
            self.answered.set()
        await self.takes_answers.wait()


class User:
    """User who answers the question `old` only when told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.began = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.answered = asyncio.Event()

    async def __call__(self, session: ClientSession, params: Any) -> dict[str, Any]:
        self.asked.append(params.message)
        if params.message == "old":
            self.began.set()
            await self.may_answer.wait()
            self.answered.set()
        return {}


@asynccontextmanager
async def connected(server: Forgetful, user: User) -> AsyncIterator[tuple[ClientSession, Web]]:
    async with (
        asyncio.timeout(WAIT_S),
        scripted_web(server.script) as web,
        Client("test", elicitation=user) as client,
    ):
        yield await client.connect(web.url, revision=HANDSHAKE), web


async def test_an_answer_that_is_ready_after_the_loss_is_dropped() -> None:
    server, user = Forgetful(), User()
    server.asks = {OLD: [question("old")]}
    async with connected(server, user) as (session, _):
        await soon(user.began)
        await session.call_tool("lose")
        user.may_answer.set()
        await soon(user.answered)
        for _ in range(2):  # whatever was sent has arrived by the end of these
            await session.call_tool("any")
    assert server.answers == []


async def test_a_question_with_the_id_of_a_lost_one_is_answered() -> None:
    server, user = Forgetful(), User()
    server.asks = {OLD: [question("old")], NEW: [question("new")]}
    async with connected(server, user) as (session, _):
        await soon(user.began)
        await session.call_tool("lose")
        await soon(server.answered)
        user.may_answer.set()
        await soon(user.answered)
        await session.call_tool("any")
    assert (user.asked, server.answers) == (["old", "new"], [(NEW, 1)])


async def test_a_question_on_a_stream_of_a_lost_session_is_not_asked() -> None:
    server, user = Forgetful(), User()
    async with connected(server, user) as (session, _), asyncio.TaskGroup() as calls:
        slow = calls.create_task(session.call_tool("slow"))
        await soon(server.slow_call)
        await session.call_tool("lose")
        server.go_on.set()
        result = await slow
        assert (text_of(result), user.asked, server.answers) == (OLD, [], [])


async def test_answers_that_wait_to_be_sent_when_the_session_is_lost_are_dropped() -> None:
    server, user = Forgetful(), User()
    server.takes_answers.clear()
    server.asks = {OLD: [question("quick", id) for id in range(2 * MAX_AT_ONCE)]}
    async with connected(server, user) as (session, web):
        while len(server.answers) < MAX_AT_ONCE:
            web.news.clear()
            await web.news.wait()
        await session.call_tool("lose")
        server.takes_answers.set()
        for _ in range(2):
            await session.call_tool("any")
    assert [one for one, _ in server.answers] == [OLD] * MAX_AT_ONCE
