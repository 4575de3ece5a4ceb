"""One process that fuzzes one surface: `python -m tests.fuzz.worker`, told by a line of JSON.

It writes one line of JSON per block: what was found, and the memory of the target.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable

import msgspec

import mcp_wire
from tests.fuzz.findings import BLOCK, Block, Finding, Findings
from tests.fuzz.surfaces.all import make
from tests.fuzz.surfaces.surface import Complaints, Surface
from tests.support.checks.published_schema import published

__all__ = ["Done", "Order", "fuzz", "run_block"]

STALLED_S = 120.0
"""Seconds after which a block counts as stalled."""
MEASURED_EVERY = 20
"""Blocks from one measure of the memory to the next: it takes as long as some blocks do."""
MOST_TRIES = 12
"""Runs that are spent on making the inputs of a finding fewer."""


class Order(msgspec.Struct):
    """Order for a worker.

    Args:
        surface: Name of the surface.
        seed: Seed of the run.
        first: First block.
        count: Number of blocks; None for as many as the time allows.
        seconds: Seconds until no block is begun; None for no limit.
    """

    surface: str
    seed: int
    first: int = 0
    count: int | None = None
    seconds: float | None = None


class Done(msgspec.Struct):
    """Report of a worker on one block.

    Args:
        block: Number of the block.
        inputs: Number of its inputs.
        live_kb: Memory that the target's process uses, in kB; None if it was not measured.
        findings: What is wrong.
    """

    block: int
    inputs: int
    live_kb: int | None
    findings: list[Finding]


async def fuzz(
    surface: Surface, order: Order, tell: Callable[[Done], None], *, minimise: bool = True
) -> None:
    """Run blocks until the order is fulfilled; each is told at once."""
    until = None if order.seconds is None else time.monotonic() + order.seconds
    complaints, known = Complaints(), set[tuple[str, str, str]]()
    number = order.first
    for revision in mcp_wire.REVISIONS:
        # Made on demand, they would look like memory that is lost.
        published(revision).prepare()
    with complaints.installed():
        async with surface:
            while order.count is None or number < order.first + order.count:
                if until is not None and time.monotonic() > until:
                    break
                block = Block.number(order.seed, order.surface, number)
                found = await run_block(surface, block, complaints)
                new = {one.alike: one for one in found if one.alike not in known}
                known |= new.keys()
                if minimise:
                    for key, one in new.items():
                        new[key] = await _minimised(surface, block, one, complaints)
                is_measured = number % MEASURED_EVERY == MEASURED_EVERY - 1
                kb = surface.live_kb() if is_measured else None
                tell(Done(number, BLOCK, kb, [*new.values()]))
                number += 1


async def run_block(surface: Surface, block: Block, complaints: Complaints) -> list[Finding]:
    """Run one block and return its findings."""
    findings = Findings(block)
    try:
        async with asyncio.timeout(STALLED_S):
            await surface.run(block, findings)
    except TimeoutError:
        findings.add("stalled", f"no end after {STALLED_S:g} s")
    for text in complaints.take():
        findings.add("traceback", text)
    return findings.found


async def _minimised(
    surface: Surface, block: Block, finding: Finding, complaints: Complaints
) -> Finding:
    """Return the finding with few inputs that show it again, if that is cheap to find."""
    if finding.kind in ("stalled", "unanswered", "ended"):
        return finding  # Each try would take as long as the wait for an answer.
    tries = 0

    async def shows(indexes: tuple[int, ...]) -> bool:
        nonlocal tries
        tries += 1
        found = await run_block(surface, block.only(indexes), complaints)
        return any(one.alike == finding.alike for one in found)

    if finding.index in block.indexes and await shows((finding.index,)):
        return finding.shown_by(block.only((finding.index,)).words)
    indexes = block.indexes
    while len(indexes) > 1 and tries < MOST_TRIES:
        half = len(indexes) // 2
        for part in (indexes[:half], indexes[half:]):
            if await shows(part):
                indexes = part
                break
        else:
            break
    return finding.shown_by(block.only(indexes).words)


def main() -> None:
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    out = sys.stdout.buffer

    def tell(done: Done) -> None:
        out.write(msgspec.json.encode(done) + b"\n")
        out.flush()

    asyncio.run(fuzz(make(order.surface), order, tell))


if __name__ == "__main__":
    main()
