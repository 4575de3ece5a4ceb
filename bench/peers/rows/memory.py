"""Memory of idle sessions, and changes told to those who listen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from bench.child import Child
from bench.peers.measuring import Effort, Row, in_rounds
from bench.peers.rows.http import ENGINES, FEW
from bench.peers.sides import Side
from bench.requests import HANDSHAKE, PER_REQUEST, call, raw_post
from bench.wire import Streams, allowing_files, begin_session, listen, named, post

__all__ = ["rows"]

RUNS = 3
"""Servers that are filled with sessions: each takes seconds."""
LISTENERS = 200


def rows(sides: Sequence[Side], effort: Effort, runner: asyncio.Runner) -> Iterator[Row]:
    """Measure what a session adds to a server, and a change until all listeners know."""
    sized: dict[str, Callable[[], float]] = {
        side.name: partial(_session_kb, side, effort.items) for side in sides
    }
    yield Row(
        name=f"memory of an idle session of {HANDSHAKE}",
        unit="KB",
        better="less",
        setting="fast",
        placed=f"{ENGINES['fast']}, default malloc, free CPUs; mean of {effort.items}",
        values=in_rounds(sized, min(RUNS, effort.runs)),
    )
    number = min(LISTENERS, effort.items)
    change = raw_post(named("tools/call", "change"), call(1, PER_REQUEST, "change"))
    with ExitStack() as stack:
        stack.enter_context(allowing_files(len(sides) * number + 300))
        told: dict[str, Callable[[], float]] = {}
        for side in sides:
            if "listen" in side.cannot:
                continue
            child = stack.enter_context(side.serving("http", "json", str(FEW)))
            streams = Streams(int(child.read_line()))
            stack.callback(streams.aclose)
            runner.run(streams.open(listen(), number))
            told[side.name] = partial(_spread_ms, runner, child, streams, change)
        for measure in told.values():
            measure()
        yield Row(
            name=f"list_changed told to {number} `subscriptions/listen` streams",
            unit="CPU ms",
            better="less",
            setting="fast",
            placed=f"{ENGINES['fast']}, default malloc, free CPUs",
            values=in_rounds(told, effort.rounds),
            not_offered={
                side.name: side.cannot["listen"] for side in sides if "listen" in side.cannot
            },
        )


def _session_kb(side: Side, number: int) -> float:
    """Return the resident memory that each session adds, after a handshake and a call."""
    with side.serving("http", "json", str(FEW)) as child:
        port = int(child.read_line())
        for _ in range(number // 5):
            _session(side.name, port)
        before = child.resident_bytes()
        for _ in range(number):
            _session(side.name, port)
        return max(0.1, (child.resident_bytes() - before) / number / 1024)


def _session(name: str, port: int) -> None:
    _, data = post(port, begin_session(port), call(1, HANDSHAKE))
    answer = msgspec.json.decode(data)
    assert answer["result"]["content"][0]["text"] == "42", (name, answer)


def _spread_ms(runner: asyncio.Runner, child: Child, streams: Streams, change: bytes) -> float:
    """Return the CPU time of the server for one change."""
    before_s = child.cpu_s()
    runner.run(streams.spread_ms(change))
    return child.cpu_since(before_s) * 1000
