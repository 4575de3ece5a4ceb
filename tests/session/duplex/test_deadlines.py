"""Timeouts of many waits: each fires in time, and finished ones are released."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from mcp_gen.core.errors import RequestTimeout
from mcp_gen.session.duplex.deadlines import MIN_LENGTH, TimeoutQueue


class Clock:
    """Event loop stub for TimeoutQueue, with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Any, tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Any, *given: Any) -> Any:
        timer = (when, call, given)
        self.timers.append(timer)
        self.timers.sort(key=lambda one: one[0])

        return SimpleNamespace(cancel=lambda: self.timers.remove(timer))

    def pass_until(self, now: float) -> None:
        while self.timers and self.timers[0][0] <= now:
            self.now, call, given = self.timers.pop(0)
            call(*given)
        self.now = now


def set_up() -> tuple[Clock, TimeoutQueue]:
    clock: Any = Clock()
    return clock, TimeoutQueue(clock)


def failure(waiter: asyncio.Future[Any]) -> str | None:
    if not waiter.done():
        return None
    error = waiter.exception()
    assert isinstance(error, RequestTimeout)
    return str(error)


async def test_each_wait_ends_in_its_own_time() -> None:
    clock, deadlines = set_up()
    loop = asyncio.get_running_loop()
    waits: list[Any] = []
    for start, timeout_s in ((0, 10), (1, 2), (2, 10)):
        clock.pass_until(start)
        waits.append(loop.create_future())
        deadlines.add(timeout_s, waits[-1], f"m{start}")
    ended: list[list[str | None]] = []
    for now in (2.9, 3, 9.9, 10, 12):
        clock.pass_until(now)
        ended.append([failure(one) for one in waits])
    first, second, third = (f"m{n}: no answer in {s} s" for n, s in ((0, 10), (1, 2), (2, 10)))
    assert ended == [
        [None, None, None],
        [None, second, None],
        [None, second, None],
        [first, second, None],
        [first, second, third],
    ]
    assert clock.timers == []


async def test_waits_of_one_length_have_one_timer() -> None:
    clock, deadlines = set_up()
    for _ in range(10):
        deadlines.add(5, asyncio.get_running_loop().create_future(), "m")
    assert len(clock.timers) == 1
    deadlines.clear()
    assert clock.timers == []


async def test_a_wait_that_has_ended_is_left_alone() -> None:
    clock, deadlines = set_up()
    waiter = asyncio.get_running_loop().create_future()
    deadlines.add(5, waiter, "m")
    waiter.set_result("answer")
    clock.pass_until(6)
    assert waiter.result() == "answer"
    assert clock.timers == []


async def test_waits_that_have_ended_are_not_kept_behind_one_that_takes_long() -> None:
    clock, deadlines = set_up()
    loop = asyncio.get_running_loop()
    long = loop.create_future()
    deadlines.add(5, long, "long")
    for _ in range(10 * MIN_LENGTH):
        waiter = loop.create_future()
        deadlines.add(5, waiter, "short")
        waiter.set_result(None)
    assert len(deadlines._rows[5].waits) <= MIN_LENGTH
    clock.pass_until(5)
    assert failure(long) == "long: no answer in 5 s"
