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


def paused_wait(paused_at: float, resumed_at: float) -> tuple[Clock, Any]:
    """Return a clock and a wait of 10 s that was paused, and begins at 0 s."""
    clock, deadlines = set_up()
    waiter = asyncio.get_running_loop().create_future()
    deadlines.add(10, waiter, "m")
    clock.pass_until(paused_at)
    deadlines.pause(waiter)
    clock.pass_until(resumed_at)
    assert not waiter.done()
    deadlines.resume(waiter)
    return clock, waiter


async def test_a_pause_ends_a_wait_at_no_time() -> None:
    clock, waiter = paused_wait(5, 1000)
    clock.pass_until(1009.9)
    assert not waiter.done()
    clock.pass_until(1010)
    assert failure(waiter) == "m: no answer in 10 s"
    assert clock.timers == []


async def test_after_a_pause_the_time_begins_anew_also_if_it_was_not_over() -> None:
    clock, waiter = paused_wait(5, 9)
    clock.pass_until(18.9)
    assert not waiter.done()
    clock.pass_until(19)
    assert failure(waiter) == "m: no answer in 10 s"


async def test_a_pause_that_is_no_wait_changes_nothing() -> None:
    clock, waiter = paused_wait(5, 5.05)
    clock.pass_until(9.9)
    assert not waiter.done()
    clock.pass_until(10)
    assert failure(waiter) == "m: no answer in 10 s"


async def test_a_pause_of_one_wait_is_none_of_another() -> None:
    clock, deadlines = set_up()
    first, second = (asyncio.get_running_loop().create_future() for _ in range(2))
    deadlines.add(10, first, "first")
    deadlines.add(10, second, "second")
    deadlines.pause(first)
    clock.pass_until(10)
    assert (failure(first), failure(second)) == (None, "second: no answer in 10 s")
    deadlines.resume(first)
    clock.pass_until(20)
    assert failure(first) == "first: no answer in 10 s"
    assert clock.timers == []


async def test_a_wait_that_ends_in_its_pause_is_left_alone() -> None:
    clock, deadlines = set_up()
    waiter = asyncio.get_running_loop().create_future()
    deadlines.add(10, waiter, "m")
    deadlines.pause(waiter)
    clock.pass_until(15)
    waiter.set_result("answer")
    deadlines.resume(waiter)
    clock.pass_until(40)
    assert waiter.result() == "answer"
    assert clock.timers == []
