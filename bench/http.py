"""HTTP benchmarks on 16 keep-alive connections; uvicorn, uvloop and httptools on both sides."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

import uvloop

from bench.child import Child
from bench.load import Load
from bench.requests import HANDSHAKE, PER_REQUEST, call, raw_post
from bench.sampling import Row, Settings, compare
from bench.wire import begin_session, check_answers, named

__all__ = ["rows"]

CONNECTIONS = 16
CALLS = 600
ID = 1

_EVENTS_ONLY = {"accept": "text/event-stream"}


def rows(settings: Settings) -> Iterator[Row]:
    """Measure calls without and within a session; bare is always the minimal call."""
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        Child("http", "ours") as ours,
        Child("http", "bare", PER_REQUEST) as bare,
        Child("http", "bare", HANDSHAKE) as bare_in_session,
    ):
        ports = [int(child.read_line()) for child in (ours, bare, bare_in_session)]
        our_port, bare_port, bare_in_session_port = ports
        calls = settings.calls(CALLS)

        def compared(name: str, our_requests: list[bytes], theirs: Load) -> Row:
            load = Load(ours, our_port, our_requests)
            return compare(
                name,
                "calls/CPU s",
                lambda: runner.run(load.rate(calls)),
                lambda: runner.run(theirs.rate(calls)),
                repetitions=settings.repetitions(40),
            )

        check_answers(our_port, bare_port, named("tools/call", "add"), call(ID, PER_REQUEST))
        alone = Load(bare, bare_port, per_request("add"))
        compared_alone = partial(compared, theirs=alone)
        yield compared_alone(f"HTTP, {PER_REQUEST}", per_request("add"))
        yield compared_alone("the same, a tool that suspends", per_request("add_later"))
        yield compared_alone("the same, a notification first", per_request("add_aloud"))

        session = begin_session(our_port)
        check_answers(our_port, bare_in_session_port, session, call(ID, HANDSHAKE))
        plain = Load(bare_in_session, bare_in_session_port, in_session(session))
        compared_in_session = partial(compared, theirs=plain)
        yield compared_in_session(f"HTTP, session of {HANDSHAKE}", in_session(session))
        yield compared_in_session("the same, as events", in_session({**session, **_EVENTS_ONLY}))
        yield compared_in_session(
            "the same, a notification first", in_session(session, "add_aloud")
        )


def per_request(tool: str) -> list[bytes]:
    """Return the requests of each connection without a session."""
    return [raw_post(named("tools/call", tool), call(ID, PER_REQUEST, tool))] * CONNECTIONS


def in_session(headers: dict[str, str], tool: str = "add") -> list[bytes]:
    """Return the requests of each connection in a session, with distinct ids."""
    ids = range(100, 100 + CONNECTIONS)
    return [raw_post(headers, call(id, HANDSHAKE, tool)) for id in ids]
