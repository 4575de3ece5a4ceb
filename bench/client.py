"""Our client against that of the official SDK, one program each, doing the same calls.

In memory each has a server of its own SDK; over stdio and HTTP both have our server, each one of
its own process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from bench.child import Child
from bench.official import python
from bench.requests import HANDSHAKE, PER_REQUEST
from bench.sampling import Goal, Row, Settings, at_least, compare

__all__ = ["rows"]

IN_FLIGHT = 64
_MODES = {HANDSHAKE: "legacy", PER_REQUEST: PER_REQUEST}
"""What the official client calls a session with a handshake; without one it dispatches directly."""


def rows(settings: Settings) -> Iterator[Row]:
    """In memory, over stdio, over HTTP; at the newest revision and the newest with a handshake."""
    server = [sys.executable, "-m", "bench.programs.ours_stdio"]
    for revision, goal in ((HANDSHAKE, 15), (PER_REQUEST, 8)):
        name = f"client in memory, one at a time, {revision}"
        yield _compared(name, revision, ["memory"], at_least(goal), settings)
    for revision in (HANDSHAKE, PER_REQUEST):
        name = f"client over stdio, {IN_FLIGHT} in flight, {revision}"
        yield _compared(name, revision, ["stdio", *server], at_least(10), settings, IN_FLIGHT)
    for revision in (HANDSHAKE, PER_REQUEST):
        name = f"client over HTTP, one at a time, {revision}"
        yield _compared(name, revision, ["http"], at_least(1.8), settings)


def _compared(
    name: str,
    revision: str,
    way: list[str],
    goal: Goal,
    settings: Settings,
    in_flight: int = 1,
) -> Row:
    with ExitStack() as programs:
        ways = [way, way]
        if way == ["http"]:
            ways = [["http", _url(programs.enter_context(Child("http", "ours")))] for _ in ways]
        ours = programs.enter_context(Child("asks_ours", revision, *ways[0]))
        official = programs.enter_context(
            Child("asks_official", _MODES[revision], *ways[1], python=python())
        )
        sides = (ours, official)
        for side in sides:
            assert side.read_line() == b"ready\n"
        # Each asks for as long as the other.
        run_s = settings.calls(300) / 1000
        our_calls, their_calls = (
            in_flight * max(1, round(_rate(side, 128, in_flight) * run_s / in_flight))
            for side in sides
        )
        return compare(
            name,
            "calls/CPU s",
            lambda: _rate(ours, our_calls, in_flight),
            lambda: _rate(official, their_calls, in_flight),
            repetitions=settings.repetitions(15),
            goal=goal,
        )


def _url(server: Child) -> str:
    return f"http://127.0.0.1:{int(server.read_line())}/mcp"


def _rate(side: Child, calls: int, in_flight: int) -> float:
    """Calls per second of the client's own CPU."""
    _, cpu_s = map(float, side.ask(f"{calls} {in_flight}".encode()).split())
    return calls / cpu_s
