"""Bridge benchmarks: what a bridge costs where messages are copied, restated, and sent over HTTP.

The CPU is that of the bridge alone; the server behind it is another process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from bench.child import Child
from bench.requests import HANDSHAKE, PER_REQUEST, call, initialize, initialized
from bench.sampling import Row, Settings, at_most, in_turn, row_of
from bench.stdio import one_cpu

__all__ = ["rows"]

LIMIT_US = 90.0
"""Limit of a call where the revisions differ."""
IN_FLIGHT = 64


def rows(settings: Settings) -> Iterator[Row]:
    """Measure against a program that copies bytes, a limit, and a server and a client of ours."""
    loop = ["--uvloop"] if settings.uvloop else []
    for revision in (PER_REQUEST, HANDSHAKE):
        with (
            one_cpu(),
            Child("bridge_stdio", revision, *loop) as bridge,
            Child("copy_stdio", revision, *loop) as copy,
        ):
            yield _copied(bridge, copy, revision, settings)
    for outside, inside in ((HANDSHAKE, PER_REQUEST), (PER_REQUEST, HANDSHAKE)):
        with one_cpu(), Child("bridge_stdio", inside, *loop) as bridge:
            yield _restated(bridge, outside, inside, settings)
    with one_cpu(), Child("http", "ours") as server:
        url = f"http://127.0.0.1:{int(server.read_line())}/mcp"
        for revision in (PER_REQUEST, HANDSHAKE):
            yield from _over_http(url, revision, loop, settings)


def _copied(bridge: Child, copy: Child, revision: str, settings: Settings) -> Row:
    calls = settings.calls(2000)
    for child in (bridge, copy):
        _open(child, revision)
    return row_of(
        f"bridge, one at a time, {revision} / a copy of the bytes",
        "CPU us",
        in_turn(
            lambda: _one_at_a_time_us(bridge, revision, calls),
            lambda: _one_at_a_time_us(copy, revision, calls),
            settings.repetitions(15),
        ),
        at_most(3),
    )


def _restated(bridge: Child, outside: str, inside: str, settings: Settings) -> Row:
    _open(bridge, outside)
    calls = settings.calls(6000)
    _in_flight_us(bridge, outside, settings.calls(1000))
    measured = [
        (_in_flight_us(bridge, outside, calls), LIMIT_US) for _ in range(settings.repetitions(9))
    ]
    name = f"bridge, {IN_FLIGHT} in flight, {outside} of {inside} / {LIMIT_US:g} us"
    return row_of(name, "CPU us", measured, at_most(1))


def _over_http(url: str, revision: str, loop: list[str], settings: Settings) -> Iterator[Row]:
    """Compare with our server over stdio and our client over HTTP.

    First each is asked alone. Then the server is asked as a bridge is, with an HTTP call of another
    process between two of its calls: asked again at once, it finds the caches of the CPU warm.
    """
    command = [sys.executable, "-m", "bench.programs.ours_stdio"]
    calls = settings.calls(600)
    with (
        Child("bridge_stdio", url, *loop) as bridge,
        Child("only_stdio", revision, *loop) as server,
        Child("asks_ours", revision, url, *command, *loop) as client,
    ):
        for child in (bridge, server):
            _open(child, revision)
        assert client.read_line() == b"ready\n"

        def bridge_us() -> float:
            return _one_at_a_time_us(bridge, revision, calls)

        def client_us() -> float:
            return float(client.ask(f"http {calls} 1".encode()).split()[1]) / calls * 1e6

        def alone_us() -> float:
            return client_us() + _one_at_a_time_us(server, revision, calls)

        def in_rhythm_us() -> float:
            between = partial(client.ask, b"http 1 1")
            return client_us() + _one_at_a_time_us(server, revision, calls, between)

        name = f"bridge to HTTP, one at a time, {revision} / our server and our client"
        repetitions = settings.repetitions(15)
        yield row_of(name, "CPU us", in_turn(bridge_us, alone_us, repetitions), at_most(1.15))
        name = "the same, with an HTTP call of another process between two of the server"
        yield row_of(name, "CPU us", in_turn(bridge_us, in_rhythm_us, repetitions), None)


def _open(child: Child, revision: str) -> None:
    """Open a session and check that the tool is called."""
    if revision == HANDSHAKE:
        child.ask(initialize(0))
        child.write(initialized() + b"\n")
    answer = msgspec.json.decode(child.ask(call(1, revision)))
    assert answer["result"]["content"][0]["text"] == "42", answer


def _one_at_a_time_us(
    child: Child, revision: str, calls: int, between: Callable[[], object] | None = None
) -> float:
    """Return the CPU time of the child per call, one at a time, with something between two."""
    requests = [call(id, revision) + b"\n" for id in range(2, calls + 2)]
    started_s = child.cpu_s()
    for request in requests:
        child.write(request)
        child.read_line()
        if between is not None:
            between()
    return (child.cpu_s() - started_s) / calls * 1e6


def _in_flight_us(child: Child, revision: str, calls: int) -> float:
    """Return the CPU time of the child per call, with many in flight."""
    requests = [call(id, revision) + b"\n" for id in range(2, calls + 2)]
    sent = answered = 0
    started_s = child.cpu_s()
    while answered < calls:
        wanted = min(IN_FLIGHT - (sent - answered), calls - sent)
        child.write(b"".join(requests[sent : sent + wanted]))
        sent += wanted
        answered += child.read().count(b"\n")
    return (child.cpu_s() - started_s) / calls * 1e6
