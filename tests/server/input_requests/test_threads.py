"""Sync handlers make input requests from their threads, which end with the request."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Accepted, Context, Server
from mcp_gen.server.context.threads import ThreadBridge
from mcp_gen.server.input_requests import replayed_rounds
from tests.support.peers.answering import Asked, accept, answering, asks, in_results, live
from tests.support.peers.raw import WAIT_S


@dataclass
class Name:
    name: str


def ask(ctx: Context, letter: str) -> str:
    answer = ctx.blocking.elicit(letter, Name)
    assert isinstance(answer, Accepted)
    return answer.content.name


def give(asked: Asked) -> Any:
    if asked.method == "roots/list":
        return {"roots": [{"uri": "file:///a"}]}
    if asked.method == "sampling/createMessage":
        return {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
    return accept(name=asked.message.upper())


# --- The bodies ---


def one_question(ctx: Context) -> str:
    return ask(ctx, "a")


def one_after_the_other(ctx: Context) -> str:
    return ask(ctx, "a") + ask(ctx, "b")


def catches_exceptions(ctx: Context) -> str:
    try:
        return ask(ctx, "a")
    except Exception:
        return "caught"


def catches_everything(ctx: Context) -> str:
    try:
        return ask(ctx, "a")
    except BaseException:
        return "caught"


def swallows_it_and_asks_on(ctx: Context) -> str:
    try:
        first = ask(ctx, "a")
    except BaseException:
        first = "lost"
    return first + ask(ctx, "b")


def asks_in_finally(ctx: Context) -> str:
    last = ""
    try:
        first = ask(ctx, "a")
    finally:
        last = ask(ctx, "b")
    return first + last


def asks_all(ctx: Context) -> str:
    name, said, roots = ctx.blocking.ask_all(
        ctx.elicit("a", Name), ctx.sample("hello", max_tokens=9), ctx.list_roots()
    )
    assert isinstance(name, Accepted)
    return f"{name.content.name} {said.model} {len(roots)}"


def asks_everything(ctx: Context) -> str:
    said = ctx.blocking.sample("hello", max_tokens=9)
    roots = ctx.blocking.list_roots()
    name = ctx.blocking.elicit("a", Name)
    return f"{name.action} {said.model} {len(roots)}"


def remembers(ctx: Context) -> str:
    made = ctx.blocking.once("thread", threading.get_ident)
    assert made != main
    return ask(ctx, "a")


main = threading.get_ident()

BODIES: list[tuple[Callable[[Context], str], str, int]] = [
    (one_question, "A", 1),
    (one_after_the_other, "AB", 2),
    (catches_exceptions, "A", 1),
    (catches_everything, "A", 1),
    (swallows_it_and_asks_on, "AB", 2),
    (asks_in_finally, "AB", 2),
    (asks_all, "A m 1", 1),
    (asks_everything, "accept m 1", 3),
    (remembers, "A", 1),
]


@asks
@pytest.mark.parametrize(("body", "text", "rounds"), BODIES, ids=[b[0].__name__ for b in BODIES])
async def test_a_body_in_a_thread_comes_to_its_right_end(
    revision: str, body: Callable[[Context], str], text: str, rounds: int
) -> None:
    server = Server("threads")
    server.add_tool(body, name="tool")
    async with answering(server, revision, give) as client:
        assert await client.text("tool") == text
    assert len(client.rounds) in (0, rounds)


class Lingering:
    """Server whose tool asks in a thread, and records the end of that thread."""

    def __init__(self) -> None:
        self.server = Server("lingering")
        self.leaving = threading.Event()
        self.leave = threading.Event()
        self.seen: list[type] = []
        self.ended = threading.Event()

        @self.server.tool
        def linger(ctx: Context) -> str:
            try:
                return ask(ctx, "a")
            except BaseException as error:
                self.seen.append(type(error))
                raise
            finally:
                self.leaving.set()
                self.leave.wait(WAIT_S)
                self.ended.set()

        @self.server.tool
        async def echo(text: str) -> str:
            return text


@in_results
async def test_the_questions_go_out_when_the_thread_has_ended(revision: str) -> None:
    lingering = Lingering()
    async with answering(lingering.server, revision, give) as client:
        call = client.send("tools/call", {"name": "linger", "arguments": {}})
        await asyncio.to_thread(lingering.leaving.wait, WAIT_S)
        # A response to the other request would arrive first.
        assert await client.text("echo", text="first") == "first"
        lingering.leave.set()
        first = await client.finished(call)
        assert lingering.ended.is_set()
    assert first["resultType"] == "input_required"
    assert lingering.seen == [asyncio.CancelledError]


@in_results
async def test_a_thread_that_does_not_end_is_left_to_itself(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed_rounds, "CLEANUP_S", 0.01)
    lingering = Lingering()
    async with answering(lingering.server, revision, give) as client:
        first = await client.once("tools/call", {"name": "linger", "arguments": {}})
        assert not lingering.ended.is_set()
        lingering.leave.set()
        assert await asyncio.to_thread(lingering.ended.wait, WAIT_S)
    assert first["resultType"] == "input_required"


@live
async def test_a_cancelled_request_lets_its_thread_go(revision: str) -> None:
    lingering = Lingering()
    lingering.leave.set()
    async with answering(lingering.server, revision, give) as client:
        call = client.send("tools/call", {"name": "linger", "arguments": {}})
        question = await client.client.next()
        client.client.send(client.speaker.cancel(call))
        told = await client.client.next()
        assert await asyncio.to_thread(lingering.ended.wait, WAIT_S)
    assert told["params"]["requestId"] == question["id"]
    assert lingering.seen == [asyncio.CancelledError]


@asks
async def test_a_thread_asks_nothing_more_once_it_has_been_let_go(revision: str) -> None:
    server = Server("stubborn")
    seen: list[type] = []
    ended = threading.Event()

    @server.tool
    def stubborn(ctx: Context) -> str:
        try:
            for letter in "ab":
                try:
                    ctx.blocking.elicit(letter, Name)
                except BaseException as error:
                    seen.append(type(error))
        finally:
            ended.set()
        return "done"

    async with answering(server, revision, give) as client:
        call = client.send("tools/call", {"name": "stubborn", "arguments": {}})
        await client.client.next()
        if client.speaker.opening:
            client.client.send(client.speaker.cancel(call))
        assert await asyncio.to_thread(ended.wait, WAIT_S)
    assert seen == [asyncio.CancelledError] * 2


async def test_a_call_that_comes_too_late_never_reaches_the_loop() -> None:
    worker = ThreadBridge(asyncio.get_running_loop())
    worker.release()
    call = asyncio.sleep(0)

    def late() -> bool:
        with pytest.raises(asyncio.CancelledError):
            worker.wait(call)
        return inspect.getcoroutinestate(call) == inspect.CORO_CLOSED

    assert await asyncio.to_thread(late)


@asks
async def test_the_loops_own_thread_cannot_wait_for_it(revision: str) -> None:
    server = Server("confused")

    @server.tool
    def confused(ctx: Context) -> str:
        async def on_the_loop() -> str:
            return ctx.blocking.elicit("a", Name).action

        assert ctx.worker
        return asyncio.run_coroutine_threadsafe(on_the_loop(), ctx.worker.loop).result(WAIT_S)

    async with answering(server, revision, give) as client:
        answer = await client.call("confused")
    assert answer["content"][0]["text"] == (
        "ctx.blocking is for threads: here, await the same call of ctx"
    )


@asks
async def test_blocking_calls_are_refused_where_they_would_block_the_loop(revision: str) -> None:
    server = Server("confused")

    @server.tool
    async def confused(ctx: Context) -> str:
        return ctx.blocking.elicit("a", Name).action

    async with answering(server, revision, give) as client:
        answer = await client.call("confused")
    assert answer["isError"]
    assert answer["content"][0]["text"] == (
        "ctx.blocking is for handlers that are not async; await ctx instead"
    )
