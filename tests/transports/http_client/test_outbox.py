"""Outbox: its end is the end of everything that it sends."""

from __future__ import annotations

import asyncio

import pytest

from mcp_gen.core.transport.protocols import Lines
from mcp_gen.transports.http_client.outbox import Outbox
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
