"""Outbox: its end is the end of everything that it sends."""

from __future__ import annotations

import asyncio

import pytest

from mcp_gen.core.transport.protocols import Lines
from mcp_gen.transports.http_client.outbox import ENOUGH_MESSAGES, MAX_AT_ONCE, Outbox
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import soon


class Posts:
    """POSTs that no server answers."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.sent: list[bytes] = []
        self.cleaned_up: list[bytes] = []

    async def __call__(self, message: bytes, headers: Lines) -> None:
        self.sent.append(message)
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # as the end of a connection does
            self.cleaned_up.append(message)


async def end(outbox: Outbox) -> None:
    async with asyncio.timeout(WAIT_S):
        await outbox.end()


async def test_an_outbox_that_ends_cancels_its_open_posts_and_waits_for_them() -> None:
    posts = Posts()
    outbox = Outbox(posts)
    open_post = outbox.begin(posts(b"request", ()))
    await soon(posts.began)
    await end(outbox)
    assert open_post.cancelled()
    assert posts.cleaned_up == [b"request"]


@pytest.mark.parametrize("queued", [True, False])
async def test_an_outbox_that_ends_cancels_messages_without_a_response_too(queued: bool) -> None:
    posts = Posts()
    outbox = Outbox(posts)
    if queued:
        outbox.add(b"message", ())
    else:
        outbox.send(b"message")
    await soon(posts.began)
    await end(outbox)
    assert posts.cleaned_up == [b"message"]


async def test_what_is_queued_behind_an_open_post_is_not_sent_when_the_outbox_ends() -> None:
    posts = Posts()
    outbox = Outbox(posts)
    outbox.add(b"first", ())
    outbox.add(b"second", ())
    await soon(posts.began)
    await end(outbox)
    assert (posts.sent, posts.cleaned_up) == ([b"first"], [b"first"])


async def test_an_outbox_with_nothing_to_send_ends_at_once() -> None:
    await end(Outbox(Posts()))


# --- answers to a server that asks much ---


class SlowPosts:
    """POSTs that a server takes when it is told to."""

    def __init__(self) -> None:
        self.open = 0
        self.most_open = 0
        self.taken: list[bytes] = []
        self.go_on = asyncio.Event()
        self._took = asyncio.Event()

    async def __call__(self, message: bytes, headers: Lines) -> None:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await self.go_on.wait()
        self.open -= 1
        self.taken.append(message)
        self._took.set()

    async def took(self, count: int) -> None:
        """Let the server take messages until it has this many."""
        await asyncio.sleep(0)
        self.go_on.set()
        async with asyncio.timeout(WAIT_S):
            while len(self.taken) < count:
                self._took.clear()
                await self._took.wait()


async def test_few_answers_are_sent_at_the_same_time_and_all_arrive() -> None:
    posts = SlowPosts()
    outbox = Outbox(posts)
    answers = [b"%d" % number for number in range(3 * MAX_AT_ONCE)]
    for answer in answers:
        outbox.send(answer)
    await posts.took(len(answers))
    assert sorted(posts.taken) == sorted(answers)
    assert posts.most_open == MAX_AT_ONCE
    await end(outbox)


async def test_an_answer_is_sent_at_once_after_those_before_have_arrived() -> None:
    posts = SlowPosts()
    outbox = Outbox(posts)
    for number in range(1, 2 * MAX_AT_ONCE):
        outbox.send(b"%d" % number)
        await posts.took(number)
    assert posts.most_open == 1
    await end(outbox)


async def test_nothing_more_is_read_while_many_answers_wait() -> None:
    posts = SlowPosts()
    outbox = Outbox(posts)
    for number in range(MAX_AT_ONCE + ENOUGH_MESSAGES):
        outbox.send(b"%d" % number)
    await asyncio.sleep(0)
    outbox.send(b"more")
    reading = asyncio.ensure_future(outbox.wait_for_room())
    await asyncio.sleep(0)
    assert not reading.done()
    await posts.took(MAX_AT_ONCE + ENOUGH_MESSAGES + 1)
    async with asyncio.timeout(WAIT_S):
        await reading
    await end(outbox)


async def test_something_is_read_while_few_answers_wait() -> None:
    outbox = Outbox(SlowPosts())
    for number in range(MAX_AT_ONCE + ENOUGH_MESSAGES - 1):
        outbox.send(b"%d" % number)
    await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_S):
        await outbox.wait_for_room()
    await end(outbox)
