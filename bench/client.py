"""Client benchmarks: ours and the official SDK's, one program each, with the same calls.

In memory each has a server of its own SDK; over stdio and HTTP both ask our server.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from bench.child import Child
from bench.official import python
from bench.requests import HANDSHAKE, PER_REQUEST
from bench.sampling import Row, Settings, at_least, in_turn, row_of

__all__ = ["rows"]

IN_FLIGHT = 64
RUN_MS = 80
"""Length of one measurement: short, so that what slows this machine slows neighbours alike."""
_MODES = {HANDSHAKE: "legacy", PER_REQUEST: PER_REQUEST}
"""Name in the official client of a session with a handshake; without one it dispatches directly."""


class Way(NamedTuple):
    """A connection to the server, and the required speed-up over the official client."""

    name: str
    in_flight: int
    goals: dict[str, float]
    has_clock: bool
    """True if a row of its own says what it is by the clock, the server's work included."""


WAYS = {
    "memory": Way("in memory, one at a time", 1, {HANDSHAKE: 15, PER_REQUEST: 8}, False),
    "stdio": Way(
        f"over stdio, {IN_FLIGHT} in flight", IN_FLIGHT, {HANDSHAKE: 10, PER_REQUEST: 10}, True
    ),
    "http": Way("over HTTP, one at a time", 1, {HANDSHAKE: 1.8, PER_REQUEST: 1.8}, True),
}


class Rates(NamedTuple):
    """Calls per second, by the client's CPU time and by wall-clock time."""

    by_cpu: float
    by_clock: float


def rows(settings: Settings) -> Iterator[Row]:
    """Measure each connection, at the newest revision with a handshake and at the newest of all."""
    command = [sys.executable, "-m", "bench.programs.ours_stdio"]
    with Child("http", "ours") as server:
        targets = [f"http://127.0.0.1:{int(server.read_line())}/mcp", *command]
        for revision in (HANDSHAKE, PER_REQUEST):
            with (
                Child("asks_ours", revision, *targets) as ours,
                Child("asks_official", _MODES[revision], *targets, python=python()) as official,
            ):
                for side in (ours, official):
                    assert side.read_line() == b"ready\n"
                for way in WAYS:
                    yield from _compared(ours, official, revision, way, settings)


def _compared(
    ours: Child, official: Child, revision: str, way: str, settings: Settings
) -> Iterator[Row]:
    name, in_flight, goals, has_clock = WAYS[way]
    # As many calls as fill the time.
    run_s = settings.calls(RUN_MS) / 1000
    our_calls, their_calls = (
        max(1, round(_rates(side, way, 2, in_flight).by_clock * run_s / in_flight))
        for side in (ours, official)
    )
    pairs = in_turn(
        lambda: _rates(ours, way, our_calls, in_flight),
        lambda: _rates(official, way, their_calls, in_flight),
        settings.repetitions(45),
    )
    name, goal = f"client {name}, {revision}", at_least(goals[revision])
    by_cpu = [(our.by_cpu, their.by_cpu) for our, their in pairs]
    yield row_of(name, "calls/CPU s", by_cpu, goal)
    if has_clock:
        by_clock = [(our.by_clock, their.by_clock) for our, their in pairs]
        yield row_of("the same, by the clock", "calls/s", by_clock, goal)


def _rates(side: Child, way: str, rounds: int, in_flight: int) -> Rates:
    """Measure rounds of calls, with one call per round in each slot in flight."""
    calls = rounds * in_flight
    clock_s, cpu_s = map(float, side.ask(f"{way} {calls} {in_flight}".encode()).split())
    return Rates(calls / cpu_s, calls / clock_s)
