"""Spec tests of client cancellation, progress and ping."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from mcp_gen import Client, SessionLost
from mcp_gen.types import CreateMessageResult, TextContent
from tests.client.spec.scripted_servers import DONE, far, in_a_call, listed
from tests.server.spec.servers import waiting
from tests.support.peers.reach import Reach
from tests.support.requirement import not_over, requirement

SAMPLE = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "a"}}],
    "maxTokens": 9,
}


def tell_progress(server: Any, token: Any, progress: float) -> None:
    params = {"progressToken": token, "progress": progress}
    server.send(method="notifications/progress", params=params)


async def given_up(call: asyncio.Task[Any]) -> None:
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call


# --- sent ---


@requirement("cancellation:client:notification")
async def test_the_server_is_told_which_request_is_cancelled(reach: Reach) -> None:
    server = far(reach)
    async with reach(server) as reached:
        call = asyncio.create_task(reached.session.call_tool("t"))
        asked = await server.next("tools/call")
        await given_up(call)
        told = await server.next("notifications/cancelled")
        assert told["params"]["requestId"] == asked["id"]


@requirement("cancellation:client:own")
async def test_only_open_requests_of_the_client_are_cancelled(reach: Reach) -> None:
    async with reach(waiting()) as reached:
        call = asyncio.create_task(reached.session.call_tool("hold"))
        await reached.session.call_tool("until_holding")
        await given_up(call)
        await reached.session.call_tool("until_stopped")
        held = next(one for one in reached.asked("tools/call") if one["params"]["name"] == "hold")
        told = [one["params"]["requestId"] for one in reached.asked("notifications/cancelled")]
        wanted = [] if reach.over == "http" and reach.profile.stream_drop_cancels else [held["id"]]
        assert told == wanted


@requirement("cancellation:client:late-answer")
@not_over("http-2026-07-28", why="the stream that an answer would come on has been closed")
async def test_an_answer_after_the_cancellation_is_ignored(reach: Reach) -> None:
    server = far(reach, {"tools/list": listed(reach, tools=[])})
    async with reach(server) as reached:
        call = asyncio.create_task(reached.session.call_tool("t"))
        late = await server.next("tools/call")
        await given_up(call)
        server.send(id=late["id"], **server.complete(DONE))
        assert (await reached.session.list_tools()).tools == []


# --- received ---


class Slow:
    """Sampling handler that never answers."""

    def __init__(self) -> None:
        self.begun, self.stopped = asyncio.Event(), asyncio.Event()

    async def sample(self, session: Any, params: Any) -> CreateMessageResult:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
        return CreateMessageResult(role="assistant", content=TextContent(text="a"), model="m")


@requirement("cancellation:client:received:stops")
async def test_a_question_that_is_cancelled_is_dropped(reach: Reach) -> None:
    slow, server = Slow(), far(reach)
    async with (
        reach(server, Client("test", sampling=slow.sample)) as reached,
        in_a_call(reached, server),
    ):
        server.send(id="q", method="sampling/createMessage", params=SAMPLE)
        await slow.begun.wait()
        server.send(method="notifications/cancelled", params={"requestId": "q"})
        await slow.stopped.wait()
        server.send(id="p", method="ping")
        assert (await server.next(None))["id"] == "p"


@requirement("cancellation:client:received:race")
async def test_a_cancellation_after_the_answer_disturbs_nothing(reach: Reach) -> None:
    server = far(reach)
    async with reach(server) as reached, in_a_call(reached, server):
        server.send(id="q", method="ping")
        await server.next(None)
        server.send(method="notifications/cancelled", params={"requestId": "q"})
        server.send(id="p", method="ping")
        assert (await server.next(None))["id"] == "p"


@requirement("cancellation:client:received:invalid")
@pytest.mark.parametrize("params", [{"requestId": "unknown"}, {"requestId": {}}, {}, None])
async def test_a_cancellation_of_nothing_is_ignored(reach: Reach, params: Any) -> None:
    server = far(reach)
    async with reach(server) as reached, in_a_call(reached, server):
        members = {} if params is None else {"params": params}
        server.send(method="notifications/cancelled", **members)


# --- progress ---


@requirement("progress:client:token:kind")
async def test_a_token_is_a_string_or_an_integer(reach: Reach) -> None:
    server = far(reach, {"tools/call": lambda _: server.complete(DONE)})
    async with reach(server) as reached:
        await reached.session.call_tool("t", progress=lambda *_: None)
        (call,) = reached.asked("tools/call")
        assert type(call["params"]["_meta"]["progressToken"]) in {str, int}


@requirement("progress:client:token:unique", "progress:client:tracked")
async def test_reports_go_to_the_request_whose_token_they_have(reach: Reach) -> None:
    server = far(reach)
    seen: dict[int, list[float]] = {0: [], 1: [], 2: []}
    calls: list[asyncio.Task[Any]] = []
    async with reach(server) as reached:
        asked = []
        for one, reports in seen.items():
            calls.append(
                asyncio.create_task(
                    reached.session.call_tool(
                        str(one), progress=lambda value, *_, to=reports: to.append(value)
                    )
                )
            )
            asked.append(await server.next("tools/call"))
        tokens = [one["params"]["_meta"]["progressToken"] for one in asked]
        assert len(set(tokens)) == 3
        for value, (one, token) in enumerate(zip(asked, tokens, strict=True)):
            tell_progress(server, token, value)
            server.send(id=one["id"], **server.complete(DONE))
            await calls[value]
    assert seen == {0: [0], 1: [1], 2: [2]}


# --- pings ---


@requirement("ping:client:answered")
async def test_a_ping_is_answered_with_nothing(reach: Reach) -> None:
    server = far(reach)
    async with reach(server) as reached, in_a_call(reached, server):
        server.send(id="p", method="ping")
        assert await server.next(None) == {"jsonrpc": "2.0", "id": "p", "result": {}}


@requirement("ping:client:periodic")
async def test_a_server_is_pinged_from_time_to_time(reach: Reach) -> None:
    server = far(reach, {"ping": {"result": {}}})
    client = Client("test", keep_alive_s=0.01, keep_alive_timeout_s=5)
    async with reach(server, client):
        for _ in range(2):
            await server.next("ping")


@requirement("ping:client:lost")
async def test_a_server_that_does_not_answer_is_gone(reach: Reach) -> None:
    server = far(reach)
    client = Client("test", keep_alive_s=0.01, keep_alive_timeout_s=0.02)
    async with reach(server, client) as reached:
        with pytest.raises(SessionLost, match="silent"):
            await reached.session.call_tool("t")
