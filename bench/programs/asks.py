"""Main loop of a client program, independent of the client; imports neither SDK."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping

__all__ = ["ARGUMENTS", "SUM", "answer_orders"]

ARGUMENTS = {"a": 17, "b": 25}
SUM = "42"


async def answer_orders(calls: Mapping[str, Callable[[], Awaitable[str]]]) -> None:
    """Run the calls that each line of stdin orders, and print the wall-clock and CPU time.

    A line is `WAY TIMES IN_FLIGHT`; what is printed is in seconds. Nothing else is done meanwhile,
    so reading may block.
    """
    for call in calls.values():
        assert await call() == SUM
    print("ready", flush=True)
    while line := sys.stdin.readline():
        way, *numbers = line.split()
        call, (times, in_flight) = calls[way], map(int, numbers)
        started, started_cpu = time.perf_counter(), time.process_time()
        if in_flight == 1:
            await _ask(call, times)
        else:
            await asyncio.gather(*(_ask(call, times // in_flight) for _ in range(in_flight)))
        print(time.perf_counter() - started, time.process_time() - started_cpu, flush=True)


async def _ask(call: Callable[[], Awaitable[str]], times: int) -> None:
    for _ in range(times):
        await call()
