"""Shutdown of a busy server: open requests are answered, everything else ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

import mcp_wire
from tests.soak.child import Child
from tests.soak.traffic.kinds import InSession, Lone, Paired, Web, peer
from tests.soak.traffic.peers import Peer, Said, expect, text
from tests.soak.traffic.wire import WAIT_S
from tests.support.checks.watch import Watch

__all__ = ["farewell"]

STEPS, STEP_MS = 8, 40

Part: TypeAlias = Callable[[Peer, asyncio.Event], Awaitable[None]]


async def farewell(child: Child, rng: random.Random) -> list[str]:
    """Terminate the server while it answers, at every revision; return the failures."""
    begun: list[asyncio.Event] = []
    parts: list[asyncio.Task[list[str]]] = []
    for revision in mcp_wire.REVISIONS:
        for part in (_work, _listen):
            begun.append(asyncio.Event())
            someone = peer(child.port, revision, rng, Watch())
            parts.append(asyncio.create_task(_bounded(part, someone, begun[-1])))
    for one in begun:
        await one.wait()
    child.stop()
    return [wrong for part in parts for wrong in await part]


async def _bounded(part: Part, someone: Peer, begun: asyncio.Event) -> list[str]:
    what = f"{someone.speaker.revision}: told to end amid {part.__name__.strip('_')}"
    wrong: list[str] = []
    try:
        async with asyncio.timeout(WAIT_S):
            await someone.begin()
            await part(someone, begun)
    except Exception as error:
        wrong.append(f"{what}: {type(error).__name__}: {error}")
    finally:
        begun.set()
    await someone.end(politely=False)
    return wrong + [f"{what}: {one}" for one in someone.watch.violations]


async def _work(someone: Peer, begun: asyncio.Event) -> None:
    """Make a call that continues while the server shuts down."""
    id, said = someone.new_id(), Said()
    frame = someone.call(id, "work", {"steps": STEPS, "ms": STEP_MS})
    someone.watch.saw("client", frame)
    if isinstance(someone, Paired):
        with someone.expecting(id) as came:
            await someone.take(frame)
            while said.answer is None:
                data = await came.get()
                expect(data, "the stream ended before the answer")
                await someone.heard(data, said)
                begun.set()
    elif isinstance(someone, Web):
        async with (
            someone.listening(someone.raw(frame)) as (_, answer),
            aclosing(answer.events()) as events,
        ):
            async for event in events:
                if event.data:
                    await someone.heard(event.data, said)
                    begun.set()
    expect(text(someone.checked(said, id).result) == f"{STEPS} steps", f"{said.answer}")


async def _listen(someone: Peer, begun: asyncio.Event) -> None:
    """Open a stream that does not end by itself."""
    if isinstance(someone, Paired):
        begun.set()
        await someone.ended()
    elif isinstance(someone, InSession):
        async with someone.listening(someone.get()) as (_, answer):
            begun.set()
            expect(not await answer.body() or answer.whole, "the stream was not ended")
    elif isinstance(someone, Lone):
        id = someone.new_id()
        wanted = {"notifications": {"toolsListChanged": True}}
        frame = someone.speaker.request(id, "subscriptions/listen", wanted)
        someone.watch.saw("client", frame)
        said = Said()
        async with (
            someone.listening(someone.raw(frame)) as (_, answer),
            aclosing(answer.events()) as events,
        ):
            async for event in events:
                if event.data:
                    await someone.heard(event.data, said)
                    begun.set()
        expect(someone.checked(said, id).result, "the subscription was not ended")
