"""Large-response benchmarks, against a server that sends as many bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import uvloop

from bench.child import Child
from bench.load import Load
from bench.requests import HANDSHAKE, LONG, LONG_BYTES, PER_REQUEST, raw_post, request
from bench.sampling import Goal, Row, Settings, at_least, compare
from bench.wire import HEADERS, begin_session, named, post

__all__ = ["rows"]

CONNECTIONS = 16


class _Asked(NamedTuple):
    """One row: a method, its params, and the number of calls per measurement."""

    name: str
    method: str
    params: dict[str, object]
    about: str | None
    calls: int
    goal: Goal


_ROWS = (
    _Asked("tools/list with 1,000 tools", "tools/list", {}, None, 100, at_least(0.5)),
    _Asked("1 MiB of text", "resources/read", {"uri": LONG}, LONG, 40, at_least(0.6)),
)


def rows(settings: Settings) -> Iterator[Row]:
    """Measure each response at a revision without sessions, and in a session."""
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        Child("http", "ours") as ours,
        Child("http", "static") as static,
    ):
        our_port, static_port = (int(child.read_line()) for child in (ours, static))
        session = begin_session(our_port)
        for row in _ROWS:
            for revision in (PER_REQUEST, HANDSHAKE):
                ids = range(100, 100 + CONNECTIONS)
                headers = named(row.method, row.about) if revision == PER_REQUEST else session
                bodies = [request(id, revision, row.method, row.params) for id in ids]
                size = len(post(our_port, headers, bodies[0])[1])
                assert size > (LONG_BYTES if row.about else 100_000), size
                sent = {**HEADERS, "x-size": str(size)}
                our_load = Load(ours, our_port, [raw_post(headers, body) for body in bodies])
                load = Load(static, static_port, [raw_post(sent, body) for body in bodies])
                calls = max(CONNECTIONS, settings.calls(row.calls))
                yield compare(
                    f"{row.name}, {revision}",
                    "calls/CPU s",
                    lambda load=our_load, calls=calls: runner.run(load.rate(calls)),
                    lambda load=load, calls=calls: runner.run(load.rate(calls)),
                    repetitions=settings.repetitions(30),
                    goal=row.goal,
                )
