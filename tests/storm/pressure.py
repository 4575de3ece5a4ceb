"""Watches if the machine has a processor to spare: without one nobody is in time."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.storm.ledger import Fault, Ledger

__all__ = ["watch_processors"]

PRESSURE = Path("/proc/pressure/cpu")
"""Linux counts here for how long some process has waited for a processor."""
_COUNTS = PRESSURE.exists()
EVERY_S = 0.5
BUSY = 0.9
"""Share of the time in which some process waits, from which on the machine is busy."""


def _waited_s() -> float:
    first = PRESSURE.read_text().splitlines()[0]
    return int(first.rpartition("total=")[2]) / 1e6


async def watch_processors(ledger: Ledger) -> None:
    """Record in a ledger when the machine is busy; never where nothing counts it."""
    if not _COUNTS:
        return
    fault: Fault | None = None
    before_s, waited_s = time.monotonic(), _waited_s()
    while True:
        await asyncio.sleep(EVERY_S)
        now_s, total_s = time.monotonic(), _waited_s()
        is_busy = total_s - waited_s > BUSY * (now_s - before_s)
        before_s, waited_s = now_s, total_s
        if is_busy and fault is None:
            fault = ledger.fault("busy", "machine busy")
        elif fault is not None and not is_busy:
            fault.ended_s, fault = ledger.now_s(), None
