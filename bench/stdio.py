"""Stdio benchmarks: one call at a time, and 64 in flight."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator, Iterator
from functools import partial
from itertools import product

import msgspec

from bench.child import Child
from bench.requests import HANDSHAKE, PER_REQUEST, call, initialize, initialized
from bench.sampling import Row, Settings, compare

__all__ = ["IDS", "IN_FLIGHT", "in_flight", "one_at_a_time", "one_cpu", "rows"]

IN_FLIGHT = 64
IDS = 4 * IN_FLIGHT


def rows(settings: Settings) -> Iterator[Row]:
    """Measure both modes, at the newest revision with a handshake and at the newest of all.

    First with the allocator as it is, where the bare loop pays for a large buffer at each read and
    we do not; then with one that spares both of it, so that the work itself is compared. The goals
    are the same: only a figure that holds in both says that our work is small enough.
    """
    for tuned, revision in product((False, True), (PER_REQUEST, HANDSHAKE)):
        loop = ["--uvloop"] if settings.uvloop else []
        with (
            one_cpu(),
            Child("ours_stdio", *loop, tuned=tuned) as ours,
            Child("bare_stdio", revision, *loop, tuned=tuned) as bare,
        ):
            if revision == HANDSHAKE:
                _shake_hands(ours)
                _shake_hands(bare)
            _check_answers(ours, bare, revision)
            yield from _compared(ours, bare, revision, settings, tuned=tuned)


@contextlib.contextmanager
def one_cpu() -> Generator[None, None, None]:
    """Keep this process, and the children it starts, on one CPU.

    On two, a call one at a time is mostly the waking of the other: up to ten times the work itself,
    or nothing, as the scheduler happens to place them.
    """
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _compared(
    ours: Child, bare: Child, revision: str, settings: Settings, *, tuned: bool
) -> Iterator[Row]:
    how = f"{revision}, tuned malloc" if tuned else revision
    requests = [call(id, revision) + b"\n" for id in range(IDS)]
    calls = settings.calls(3000)
    yield compare(
        f"stdio, one at a time, {how}",
        "calls/s",
        lambda: one_at_a_time(ours, requests, calls),
        lambda: one_at_a_time(bare, requests, calls),
        repetitions=settings.repetitions(15),
    )
    many = settings.calls(15000)
    timed = [call(id, revision, "add_in_time") + b"\n" for id in range(IDS)]
    for what, asked in (("", requests), (", a tool with a timeout", timed)):
        yield compare(
            f"stdio, {IN_FLIGHT} in flight{what}, {how}",
            "calls/CPU s",
            partial(in_flight, ours, asked, many),
            partial(in_flight, bare, asked, many),
            repetitions=settings.repetitions(15),
        )


def _shake_hands(child: Child) -> None:
    child.ask(initialize(0))
    if "ours" in child.name:
        child.write(initialized() + b"\n")


def _check_answers(ours: Child, bare: Child, revision: str) -> None:
    """Check that both do the same work."""
    for tool in ("add", "add_in_time"):
        asked = call(1, revision, tool)
        answers = [msgspec.json.decode(child.ask(asked)) for child in (ours, bare)]
        assert answers[0] == answers[1], answers


def one_at_a_time(child: Child, requests: list[bytes], calls: int) -> float:
    """Return the calls per second, one at a time."""
    started = time.perf_counter()
    for number in range(calls):
        child.write(requests[number % IDS])
        child.read_line()
    return calls / (time.perf_counter() - started)


def in_flight(child: Child, requests: list[bytes], calls: int) -> float:
    """Return the calls per second of the child's CPU time, with many in flight."""
    ring = requests * 2
    sent = answered = 0
    started_s = child.cpu_s()
    while answered < calls:
        wanted = min(IN_FLIGHT - (sent - answered), calls - sent)
        first = sent % IDS
        child.write(b"".join(ring[first : first + wanted]))
        sent += wanted
        answered += child.read().count(b"\n")
    return calls / child.cpu_since(started_s)
