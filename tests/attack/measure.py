"""Calls of one client, one after the other, each with its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["PACE_S", "Felt", "calling", "calm_for"]

PACE_S = 0.5
"""Seconds from the begin of one attack to that of the next.

Without a pause an attacker takes its share of the processor, as any client that calls without one
does: the limits are about what one attack costs others.
"""
PAUSE_S = 0.002
CALL_S = 30.0
"""Seconds within which each call ends, whatever happens to others."""


@dataclass
class Felt:
    """Times of the calls of one client."""

    times_ms: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def slowest_ms(self) -> float:
        """Time of the slowest call."""
        return max(self.times_ms, default=0.0)

    @property
    def p99_ms(self) -> float:
        """Time within which 99 of 100 calls end."""
        times = sorted(self.times_ms)
        return times[len(times) * 99 // 100] if times else 0.0


@asynccontextmanager
async def calling(call: Callable[[int], Awaitable[bool]]) -> AsyncIterator[Felt]:
    """Make calls all the while; the last one ends before the context does.

    Args:
        call: Makes the call with this number; returns True if its answer is right.
    """
    felt, over = Felt(), asyncio.Event()
    calls = asyncio.create_task(_calls(call, felt, over))
    try:
        yield felt
    finally:
        over.set()
        await calls


async def calm_for(seconds: float, call: Callable[[int], Awaitable[bool]]) -> Felt:
    """Make calls for some seconds in which nothing is attacked."""
    async with calling(call) as felt:
        await asyncio.sleep(seconds)
    return felt


async def _calls(call: Callable[[int], Awaitable[bool]], felt: Felt, over: asyncio.Event) -> None:
    number = 0
    while not over.is_set():
        number += 1
        since_s = time.perf_counter()
        try:
            async with asyncio.timeout(CALL_S):
                if not await call(number):
                    felt.wrong.append(f"call {number} had a wrong answer")
        except Exception as error:
            felt.wrong.append(f"call {number}: {error!r}")
        felt.times_ms.append((time.perf_counter() - since_s) * 1000)
        await asyncio.sleep(PAUSE_S)
