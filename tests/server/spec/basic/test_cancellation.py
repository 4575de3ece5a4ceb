"""Spec tests of cancellation, in both directions."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mcp_gen import Server
from tests.server.spec.servers import SILENT, asking, hurried, rich, waiting
from tests.support.peers.asked import Asked
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import not_over, requirement

HOLD = {"name": "hold"}
ROOTS = {"roots": [{"uri": "file:///home"}]}


def about(client: Conversation, asked: Asked) -> list[dict[str, Any]]:
    """Return the responses to a request."""
    return [frame for frame in client.frames if frame.get("id") == asked.id]


async def cancelled(client: Conversation, reason: str = "no longer needed") -> Asked:
    """Cancel a call while it is handled, and return it."""
    asked = client.begin("tools/call", HOLD, meta={"progressToken": "held"})
    assert await client.text("until_holding") == "held"
    client.cancel(asked, reason)
    return asked


# --- cancellation by the client ---


@requirement("cancellation:received:stops")
async def test_a_cancelled_call_is_stopped(connect: Connect) -> None:
    async with connect(waiting) as client:
        await cancelled(client)
        assert await client.text("until_stopped") == "stopped"


@requirement("cancellation:received:unanswered")
async def test_a_cancelled_call_is_not_answered(connect: Connect) -> None:
    async with connect(waiting) as client:
        asked = await cancelled(client)
        await client.text("until_stopped")
        await client.text("release")
        await client.settled()
    assert about(client, asked) == []


@requirement("cancellation:received:silent")
async def test_nothing_is_sent_for_a_cancelled_call(connect: Connect) -> None:
    async with connect(waiting) as client:
        await cancelled(client)
        await client.text("until_stopped")
        told = len(client.params_of("notifications/progress"))
        await client.text("release")
        await client.settled()
    assert len(client.params_of("notifications/progress")) == told == 1


@requirement("cancellation:received:race")
async def test_cancelling_what_was_answered_disturbs_nothing(connect: Connect) -> None:
    async with connect(rich) as client:
        asked = client.begin("tools/call", {"name": "echo", "arguments": {"text": "a"}})
        client.cancel(asked)
        await client.settled()
        answered = client.begin("tools/call", {"name": "echo", "arguments": {"text": "b"}})
        await answered.result()
        client.cancel(answered)
        assert await client.text("echo", text="c") == "c"
    assert len(about(client, asked)) <= 1
    assert len(about(client, answered)) == 1


@requirement("cancellation:received:invalid")
async def test_cancellations_of_nothing_are_ignored(connect: Connect) -> None:
    wrong: list[Any] = [
        {"requestId": "unknown"},
        {"requestId": 123456},
        {"requestId": None},
        {"requestId": {"a": 1}},
        {"requestId": 1.5},
        {"reason": "just so"},
        {"requestId": 1, "reason": 7},
    ]
    async with connect(rich) as client:
        before = len(client.frames)
        for params in wrong:
            client.notify("notifications/cancelled", params)
        client.notify("notifications/cancelled")
        assert await client.text("echo", text="a") == "a"
    assert len(client.frames) == before + 1


def talkative() -> Server:
    """Return a server that logs everything at DEBUG level and above."""
    logging.basicConfig(level=logging.DEBUG)
    return waiting()


@requirement("cancellation:received:logged")
@not_over("http-2026-07-28", why="a client cancels by hanging up, and says nothing")
async def test_why_a_call_was_cancelled_is_in_the_log(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_gen")
    async with connect(talkative) as client:
        await cancelled(client, "because it rains")
        await client.text("until_stopped")
    assert "because it rains" in "\n".join([caplog.text, *client.log])


# --- cancellation by the server ---


@requirement("cancellation:sent:own")
async def test_the_server_cancels_its_own_question_and_no_other(connect: Connect) -> None:
    async with connect(hurried, answers=SILENT) as client:
        await client.text("folders", seconds=0.05)
        (told,) = await client.hears("notifications/cancelled")
        open_requests = [frame["id"] for frame in client.frames if "roots/list" in frame.values()]
    assert [told["requestId"]] == open_requests


@requirement("cancellation:sent:late-answer")
async def test_an_answer_that_comes_too_late_is_ignored(connect: Connect) -> None:
    too_late = asyncio.Event()

    async def late(params: Any) -> Any:
        await too_late.wait()
        return ROOTS

    async with connect(hurried, answers={"roots/list": late}) as client:
        assert await client.text("folders", seconds=0.05) == "RequestTimeout"
        await client.hears("notifications/cancelled")
        too_late.set()
        await client.settled()
        assert await client.text("folders", seconds=5) == "1"


def listened_to() -> Server:
    """Return a server that can end its subscriptions on request."""
    server = asking()

    @server.tool
    async def end_listening() -> str:
        server.notify.end_listening()
        return "ended"

    return server


@requirement("cancellation:sent:listening-only")
@not_over("http", why="a listening request has a stream of its own, and its end says the same")
async def test_the_server_cancels_a_listening_request_that_it_ends(connect: Connect) -> None:
    async with connect(listened_to) as client:
        listening = await client.listen(toolsListChanged=True)
        assert listening
        await client.text("end_listening")
        told = await client.hears("notifications/cancelled")
    assert [one["requestId"] for one in told] == [listening.id]


@requirement("cancellation:sent:listening-only")
async def test_the_server_cancels_nothing_else(connect: Connect) -> None:
    async with connect(listened_to, answers={"sampling/createMessage": lambda _: {}}) as client:
        await client.refusal("tools/call", {"name": "choose"})
        asked = client.begin("tools/call", {"name": "sample"})
        await asked.answer
        listening = await client.listen(toolsListChanged=True)
        assert listening
        assert client.params_of("notifications/cancelled") == []
        await client.text("end_listening")
        assert await listening.result()
    told = client.params_of("notifications/cancelled")
    assert {one["requestId"] for one in told} <= {listening.id}
