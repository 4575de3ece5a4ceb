"""Limits on the checks that wait for the schema worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from unittest.mock import patch

from mcp_gen.core.errors import SchemaNotChecked
from mcp_gen.schemas import process
from mcp_gen.schemas.process import SchemaWorker
from mcp_gen.schemas.schema import JsonSchema
from tests.hostile.work.limits.limit import TAKEN, Limit

__all__ = ["LIMITS"]

ANY = JsonSchema({"type": "array"})
WAITING = 8
BYTES = 10_000
REFUSED = "SchemaNotChecked"
SAYS_NOTHING = "import os\nos.read(0, 1)\nos.read(0, 9)"
"""Script of a worker that never gets ready: the first check keeps it, all others wait."""


@asynccontextmanager
async def busy_worker(limit: str, value: int) -> AsyncGenerator[SchemaWorker]:
    """Yield a worker with a limit that is at a check, so that others wait."""
    worker = SchemaWorker(("-c", SAYS_NOTHING))
    with patch.object(process, limit, value):
        first = asyncio.ensure_future(worker.check(ANY, [], 30))
        # Another thread starts it.
        for _ in range(3_000):
            if worker.pid is not None:
                break
            await asyncio.sleep(0.01)
        try:
            yield worker
        finally:
            await asyncio.to_thread(worker.close)
            await asyncio.gather(first, return_exceptions=True)


async def waiting(count: int) -> str:
    """Let as many checks wait."""
    async with busy_worker("MAX_WAITING", WAITING) as worker:
        return await outcome(worker, [[at] for at in range(count)])


async def waiting_bytes(count: int) -> str:
    """Let values of as many bytes wait, with one schema."""
    room = len(ANY.encoded) + len("[]")
    async with busy_worker("MAX_WAITING_BYTES", BYTES) as worker:
        return await outcome(worker, [["x" * (count - room - len('""'))]])


async def outcome(worker: SchemaWorker, values: list[list[object]]) -> str:
    """Return how the last of these checks is taken."""
    checks = [asyncio.ensure_future(worker.check(ANY, value, 30)) for value in values]
    # What is refused is refused at once.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    refused = [one for one in checks if one.done()]
    for one in checks:
        one.cancel()
    ended = await asyncio.gather(*checks, return_exceptions=True)
    errors = {type(one).__name__ for one in ended if isinstance(one, SchemaNotChecked)}
    return errors.pop() if refused and errors else TAKEN


LIMITS = [
    Limit("schema checks that wait", WAITING, 2_000, REFUSED, waiting),
    Limit("bytes of schema checks that wait", BYTES, 1_000_000, REFUSED, waiting_bytes),
]
