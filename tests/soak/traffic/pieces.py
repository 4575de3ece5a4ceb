"""Requests in unusual pieces: batches, several in one segment, one in several segments."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import msgspec

from mcp_wire.profile import Profile
from tests.soak.traffic.act import Act
from tests.soak.traffic.kinds import Web
from tests.soak.traffic.peers import Peer, expect, text

__all__ = ["PIECES"]


async def batch(peer: Web) -> None:
    """Send a batch of requests and notifications: a response for each request."""
    ids = [peer.new_id() for _ in range(peer.rng.randint(1, 6))]
    tools = [peer.rng.choice(("slow", "work", "nothing")) for _ in ids]
    entries = [_entry(peer, id, tool) for id, tool in zip(ids, tools, strict=True)]
    entries.insert(peer.rng.randint(0, len(entries)), peer.speaker.cancel("nobody"))
    frame = b"[" + b",".join(entries) + b"]"
    async with peer.posted(frame) as answer:
        if answer.is_stream:
            async with aclosing(answer.events()) as events:
                frames = [msgspec.json.decode(one.data) async for one in events if one.data]
        else:
            frames = [msgspec.json.decode(await answer.body())]
    flat = [one for each in frames for one in (each if isinstance(each, list) else [each])]
    answers = {repr(one["id"]): one for one in flat if "method" not in one}
    expect(answers.keys() == set(map(repr, ids)), f"asked {ids}, answered {list(answers)}")
    for id, tool in zip(ids, tools, strict=True):
        one = answers[repr(id)]
        expect(("error" in one) == (tool == "nothing"), f"{tool}: {one}")
        expect("error" in one or text(one["result"]) in (f"{id}", "2 steps"), f"{one}")


def _entry(peer: Peer, id: Any, tool: str) -> bytes:
    arguments: dict[str, dict[str, Any]] = {
        "slow": {"ms": 2, "text": str(id)},
        "work": {"steps": 2, "ms": 0},
    }
    return peer.call(id, tool, arguments.get(tool, {}))


async def pipeline(peer: Web) -> None:
    """Send two requests in one piece: two responses, in order."""
    numbers = [peer.rng.randrange(1000) for _ in range(peer.rng.randint(2, 4))]
    ids = [peer.new_id() for _ in numbers]
    frames = [
        peer.call(id, "add", {"a": number, "b": 1}) for id, number in zip(ids, numbers, strict=True)
    ]
    for frame in frames:
        peer.watch.saw("client", frame)
    async with peer.connected() as connection:
        sent_s = peer.now_s()
        await connection.send(b"".join(map(peer.raw, frames)))
        for id, number in zip(ids, numbers, strict=True):
            answer = await connection.answer()
            peer.note(answer, sent_s)
            said = await peer.hear(answer, id)
            expect(text(said.result) == str(number + 1), f"{number} + 1: {said.result}")


async def dribble(peer: Web) -> None:
    """Send a request in pieces."""
    id, number = peer.new_id(), peer.rng.randrange(1000)
    frame = peer.call(id, "add", {"a": number, "b": 1})
    peer.watch.saw("client", frame)
    raw = peer.raw(frame)
    cuts = sorted({0, len(raw), *(peer.rng.randrange(len(raw)) for _ in range(4))})
    async with peer.connected() as connection:
        sent_s = peer.now_s()
        for start, end in pairwise(cuts):
            await connection.send(raw[start:end])
            await asyncio.sleep(peer.rng.choice((0, 0.001, 0.01)))
        answer = await connection.answer()
        peer.note(answer, sent_s)
        said = await peer.hear(answer, id)
    expect(text(said.result) == str(number + 1), f"{number} + 1: {said.result}")


def _streamable(profile: Profile) -> bool:
    return profile.http_transport == "streamable"


PIECES = (
    Act(batch, 3, lambda profile: profile.allows_batches and _streamable(profile)),
    Act(pipeline, 1, _streamable),
    Act(dribble, 1, _streamable),
)
