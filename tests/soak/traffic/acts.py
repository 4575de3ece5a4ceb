"""Acts of well-behaved clients: each makes requests, and checks the responses."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec

from tests.soak.traffic.act import Act
from tests.soak.traffic.kinds import InSession, Lone, Paired, Web
from tests.soak.traffic.peers import Peer, Said, expect, text
from tests.soak.traffic.task_acts import TASK_ACTS
from tests.soak.traffic.wire import WAIT_S
from tests.support.http.asgi import Event

__all__ = ["ACTS"]


# --- calls ---


async def add(peer: Peer, tool: str = "add") -> None:
    """Get a response in one piece."""
    a, b = peer.rng.randrange(10**6), peer.rng.randrange(10**6)
    found = await peer.text(tool, a=a, b=b)
    expect(found == str(a + b), f"{a} + {b} is not {found}")


async def add_in_a_thread(peer: Peer) -> None:
    await add(peer, "add_in_a_thread")


async def add_at_once(peer: Peer) -> None:
    await asyncio.gather(*(add(peer) for _ in range(peer.rng.randint(2, 5))))


async def take_time(peer: Peer) -> None:
    """Get a response after the server has started its disconnect watch, or its SSE stream."""
    word = f"w{peer.rng.random()}"
    ms = peer.rng.choice((1, 40, 60, 120, 700))
    found = await peer.text("slow", ms=ms, text=word)
    expect(found == word, f"expected {word!r}, got {found!r}")


async def progress(peer: Peer) -> None:
    """Get a stream: every step, then the response."""
    steps = peer.rng.randint(1, 20)
    found, said, id = await peer.said("work", steps=steps, ms=peer.rng.choice((0, 0, 1, 5)))
    expect(found == f"{steps} steps", found)
    expect(said.steps(id) == list(range(1, steps + 1)), f"not {steps} steps: {said.steps(id)}")


async def look_around(peer: Peer) -> None:
    names = {one["name"] for one in (await peer.result("tools/list"))["tools"]}
    expect({"add", "work", "ask_model"} <= names, f"tools are missing: {names}")
    name = f"n{peer.rng.randrange(1000)}"
    found = await peer.result("prompts/get", name="greet", arguments={"name": name})
    said = found["messages"][0]["content"]["text"]
    expect(said == f"say hello to {name}", said)


async def fail(peer: Peer) -> None:
    """Call a tool that fails: its error is a result."""
    id = peer.new_id()
    said = await peer.ask(peer.call(id, "break_down", {}), id)
    expect(said.result.get("isError") is True, f"it did not fail: {said.result}")


async def ping(peer: Peer) -> None:
    expect(await peer.result("ping") == {}, "a ping has an empty result")


# --- input requests ---


async def be_asked(peer: Peer) -> None:
    """Answer input requests, during the call or between its rounds."""
    asks = ["ask_model", "ask_roots"]
    if peer.profile.elicit:
        asks += ["ask_user", "ask_twice"]
    word = f"{peer.rng.choice(('accept', 'decline', 'cancel'))}-{peer.rng.randrange(10**6)}"
    action = word.partition("-")[0]
    tool = peer.rng.choice(asks)
    expected = {
        "ask_model": word,
        "ask_roots": "file:///here",
        "ask_user": word if action == "accept" else action,
        "ask_twice": f"{word} {action} {action}",
    }
    found = await peer.text(tool, **({} if tool == "ask_roots" else {"word": word}))
    expect(found == expected[tool], f"{tool}: expected {expected[tool]!r}, got {found!r}")


# --- streams for messages without a request ---


async def listen(peer: Peer) -> None:
    """Receive a resource update, on the stream that the revision has for it."""
    uri = f"soak://{peer.rng.randrange(10**9)}"
    if isinstance(peer, Lone):
        wanted = {"notifications": {"resourceSubscriptions": [uri], "toolsListChanged": True}}
        id = peer.new_id()
        frame = peer.speaker.request(id, "subscriptions/listen", wanted)
        peer.watch.saw("client", frame)
        async with (
            peer.listening(peer.raw(frame)) as (_, answer),
            aclosing(answer.events()) as events,
        ):
            first = await _next(peer, events)
            expect(first["method"].endswith("/acknowledged"), f"not acknowledged: {first}")
            await peer.text("touch", uri=uri)
            await _hears(peer, events, uri)
        return
    await peer.result("resources/subscribe", uri=uri)
    if isinstance(peer, Paired):
        await peer.text("touch", uri=uri)
        async with asyncio.timeout(WAIT_S):
            while not _is_about(await peer.news.get(), uri):
                pass
    elif isinstance(peer, InSession):
        before = peer.rng.random() < 0.5 and not peer.left_a_stream
        if before:
            # The message waits for a stream.
            await peer.text("touch", uri=uri)
        async with (
            peer.listening(peer.get()) as (_, answer),
            aclosing(answer.events()) as events,
        ):
            if not before:
                await peer.text("touch", uri=uri)
            await _hears(peer, events, uri)
    await peer.result("resources/unsubscribe", uri=uri)


async def change(peer: Peer) -> None:
    """Change a list, and notify all listeners."""
    found = await peer.text("change", name=f"t{peer.rng.randrange(10**9)}")
    expect(found == "changed", found)


async def _hears(peer: Peer, events: Any, uri: str) -> None:
    while not _is_about(await _next(peer, events), uri):
        pass


async def _next(peer: Peer, events: Any) -> Any:
    """Return the next message on a stream."""
    async for event in events:
        if event.data:
            peer.saw(event.data)
            frame = msgspec.json.decode(event.data)
            if "id" in frame and "method" in frame:
                await peer.reply(frame)
            else:
                return frame
    raise EOFError("the stream ended")


def _is_about(frame: Any, uri: str) -> bool:
    return bool(frame.get("params", {}).get("uri") == uri)


# --- interrupted streams ---


async def come_back(peer: InSession) -> None:
    """Lose the stream of a call more than once, and resume it without a gap."""
    steps, id = peer.rng.randint(3, 15), peer.new_id()
    frame = peer.call(id, "work", {"steps": steps, "ms": peer.rng.choice((0, 2, 10))})
    await _in_pieces(peer, frame, id, steps, breaks=peer.rng.randint(1, 3))


async def poll(peer: InSession) -> None:
    """Resume a call after the server has disconnected."""
    steps, id = peer.rng.randint(1, 4), peer.new_id()
    await _in_pieces(peer, peer.call(id, "poll", {"steps": steps}), id, steps, breaks=0)


async def _in_pieces(peer: InSession, frame: bytes, id: Any, steps: int, breaks: int) -> None:
    peer.watch.saw("client", frame)
    said, last, raw = Said(), None, peer.raw(frame)
    while said.answer is None:
        takes = peer.rng.randint(1, 4) if breaks else 10_000
        breaks -= 1
        async with peer.listening(raw) as (_, answer), aclosing(answer.events()) as events:
            async for event in events:
                last = event.id or last
                if event.data:
                    await peer.heard(event.data, said)
                    takes -= 1
                if not takes:
                    break
        expect(last is not None, "nothing came by which to come back")
        raw = peer.get(last)
    expect(text(peer.checked(said, id).result) == f"{steps} steps", f"{said.answer}")
    expect(said.steps(id) == list(range(1, steps + 1)), f"not {steps} steps: {said.steps(id)}")


# --- cancelling ---


async def cancel(peer: Peer) -> None:
    """Cancel a call after it has started: no response arrives."""
    id = peer.new_id()
    frame = peer.call(id, "wait", {})
    peer.watch.saw("client", frame)
    said = Said()
    if isinstance(peer, Paired):
        with peer.expecting(id) as came:
            await peer.take(frame)
            async with asyncio.timeout(WAIT_S):
                await peer.heard(await came.get(), said)
            await peer.tell(peer.speaker.cancel(id))
            await ping(peer)
            expect(came.empty(), "a cancelled call is answered")
    elif isinstance(peer, Web):
        async with (
            peer.listening(peer.raw(frame)) as (_, answer),
            aclosing(answer.events()) as events,
        ):
            begun = await _next(peer, events)
            expect(begun["method"] == "notifications/progress", f"{begun}")
            # At revisions without sessions a disconnect cancels the request.
            if isinstance(peer, InSession):
                await peer.tell(peer.speaker.cancel(id))
                left: list[Event] = [event async for event in events if event.data]
                expect(not left, f"a cancelled call is answered: {left}")


ACTS = (
    Act(add, 6),
    Act(add_in_a_thread),
    Act(add_at_once, 3),
    Act(take_time, 2),
    Act(progress, 4),
    Act(look_around),
    Act(fail),
    Act(ping, 1, lambda profile: profile.ping),
    Act(be_asked, 4),
    Act(listen, 3),
    Act(change),
    Act(come_back, 4, lambda profile: profile.resumes_streams),
    Act(poll, 2, lambda profile: profile.primes_streams),
    Act(cancel, 3),
    *TASK_ACTS,
)
