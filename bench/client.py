"""Client benchmarks: ours, the official SDK's and a hand-written one, with the same calls.

Each is a program. In memory each has a server of its own kind; over stdio and HTTP all ask ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from bench.child import Child
from bench.official import python
from bench.requests import HANDSHAKE, PER_REQUEST
from bench.sampling import Row, Settings, in_turn, row_of

__all__ = ["rows"]

IN_FLIGHT = 64
RUN_MS = 80
"""Length of one measurement: short, so that what slows this machine slows neighbours alike."""
_MODES = {HANDSHAKE: "legacy", PER_REQUEST: PER_REQUEST}
"""Name in the official client of a session with a handshake; without one it dispatches directly."""


class Way(NamedTuple):
    """A connection to the server."""

    name: str
    in_flight: int
    has_clock: bool = True
    """True if a row of its own says what it is by the clock, the server's work included."""


WAYS = {
    "memory": Way("in memory, one at a time", 1, has_clock=False),
    "stdio": Way(f"over stdio, {IN_FLIGHT} in flight", IN_FLIGHT),
    "http": Way("over HTTP, one at a time", 1),
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
                Child("asks_by_hand", revision, *command) as by_hand,
            ):
                for side in (ours, official, by_hand):
                    assert side.read_line() == b"ready\n"
                for way in WAYS:
                    yield from _against_official(ours, official, revision, way, settings)
                yield from _against_hand_written(ours, by_hand, revision, settings)


def _against_official(
    ours: Child, official: Child, revision: str, way: str, settings: Settings
) -> Iterator[Row]:
    name, _, has_clock = WAYS[way]
    name = f"client {name}, {revision}"
    pairs = _pairs(ours, official, way, settings)
    yield row_of(name, "calls/CPU s", [(our.by_cpu, their.by_cpu) for our, their in pairs])
    if has_clock:
        by_clock = [(our.by_clock, their.by_clock) for our, their in pairs]
        yield row_of("the same, by the clock", "calls/s", by_clock)


def _against_hand_written(
    ours: Child, by_hand: Child, revision: str, settings: Settings
) -> Iterator[Row]:
    pairs = _pairs(ours, by_hand, "memory", settings)
    yield row_of(
        f"client in memory, {revision}, and a hand-written pair",
        "CPU us",
        [(1e6 / our.by_cpu, 1e6 / their.by_cpu) for our, their in pairs],
    )
    pairs = _pairs(ours, by_hand, "stdio", settings)
    yield row_of(
        f"client over stdio, {IN_FLIGHT} in flight, {revision}, and a hand-written one",
        "calls/CPU s",
        [(our.by_cpu, their.by_cpu) for our, their in pairs],
    )


def _pairs(ours: Child, other: Child, way: str, settings: Settings) -> list[tuple[Rates, Rates]]:
    """Measure both in turn, each with as many calls as fill the time."""
    in_flight = WAYS[way].in_flight
    run_s = settings.calls(RUN_MS) / 1000
    our_calls, their_calls = (
        max(1, round(_rates(side, way, 2, in_flight).by_clock * run_s / in_flight))
        for side in (ours, other)
    )
    return in_turn(
        lambda: _rates(ours, way, our_calls, in_flight),
        lambda: _rates(other, way, their_calls, in_flight),
        settings.repetitions(45),
    )


def _rates(side: Child, way: str, rounds: int, in_flight: int) -> Rates:
    """Measure rounds of calls, with one call per round in each slot in flight."""
    calls = rounds * in_flight
    clock_s, cpu_s = map(float, side.ask(f"{way} {calls} {in_flight}".encode()).split())
    return Rates(calls / cpu_s, calls / clock_s)
