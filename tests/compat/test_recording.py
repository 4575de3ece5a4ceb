"""RecordingTransport: keeps every frame with its sender, and changes nothing."""

from __future__ import annotations

import asyncio

import pytest

from mcp_gen.compat.frame_check import Sender
from mcp_gen.compat.recording import Frame, RecordingTransport
from mcp_gen.transports.memory import memory_pair

WAIT_S = 30.0


class Kept:
    """Receiver that keeps what it is given."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.ended = asyncio.Event()

    def receive(self, message: bytes) -> None:
        self.told.append(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        self.told.append(limit_bytes)

    def closed(self, error: BaseException | None) -> None:
        self.told.append(error)
        self.ended.set()


@pytest.mark.parametrize(("side", "peer"), [("client", "server"), ("server", "client")])
async def test_each_frame_is_recorded_with_its_sender(side: Sender, peer: Sender) -> None:
    ours, theirs = memory_pair()
    recorded, kept = RecordingTransport(ours, side), Kept()
    await recorded.start(kept)
    await theirs.start(Kept())
    recorded.send(b"1")
    theirs.send(b"2")
    await theirs.aclose()
    await asyncio.wait_for(kept.ended.wait(), WAIT_S)
    assert recorded.frames == [Frame(side, b"1"), Frame(peer, b"2")]


async def test_what_comes_is_handed_on() -> None:
    ours, theirs = memory_pair()
    recorded, kept = RecordingTransport(ours), Kept()
    await recorded.start(kept)
    theirs.send(b"1")
    await theirs.aclose()
    await asyncio.wait_for(kept.ended.wait(), WAIT_S)
    assert kept.told == [b"1", None]


async def test_a_message_that_was_too_long_is_told_on() -> None:
    ours, _ = memory_pair()
    recorded, kept = RecordingTransport(ours), Kept()
    await recorded.start(kept)
    recorded.oversized(8)
    assert kept.told == [8]


async def test_what_is_sent_goes_out() -> None:
    ours, theirs = memory_pair()
    recorded, kept = RecordingTransport(ours), Kept()
    await theirs.start(kept)
    recorded.send(b"1")
    await recorded.drain()
    await recorded.aclose()
    await asyncio.wait_for(kept.ended.wait(), WAIT_S)
    assert kept.told == [b"1", None]
