"""Attacks in a process of their own: `python -m tests.attack.attacker PORT SECONDS`.

It prints `ready`, attacks as each line of stdin names, and prints each outcome as JSON.
"""

from __future__ import annotations

import asyncio
import sys
import time

import msgspec

from tests.attack.attacks import ATTACKS, Attacker, Outcome
from tests.attack.measure import PACE_S

__all__ = ["attacking"]

MOST_S = 60.0
"""Seconds within which one attack ends."""


async def attacking(port: int, seconds: float, name: str) -> Outcome:
    """Attack until the time is over, once at least."""
    outcome = Outcome()
    end_s = time.monotonic() + seconds
    while True:
        next_s = time.monotonic() + PACE_S
        attacker = Attacker(port, outcome)
        try:
            async with asyncio.timeout(MOST_S):
                await ATTACKS[name](attacker)
        except TimeoutError as error:
            outcome.wrong.append(f"no answer in time: {error!r}")
        except ConnectionError:
            outcome.count("no connection")
        finally:
            await attacker.end()
        outcome.count("times")
        if next_s > end_s:
            return outcome
        await asyncio.sleep(next_s - time.monotonic())


def main(port: str, seconds: str) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        outcome = asyncio.run(attacking(int(port), float(seconds), line.strip()))
        print(msgspec.json.encode(outcome).decode(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
