"""Counters of the memory that one awaitable takes, for code that has run before."""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import CodeType, FrameType
from typing import Any, TypeAlias

import mcp_gen
import mcp_wire

__all__ = ["Taken", "blocks_taken", "kept_blocks", "peak_bytes", "settled"]

Call: TypeAlias = Callable[[], Awaitable[Any]]

_HOMES = tuple(f"{home}/" for one in (mcp_gen, mcp_wire) for home in one.__path__)


class Taken(Counter[CodeType]):
    """Number of blocks that functions of the runtime took from the allocator."""

    def __str__(self) -> str:
        lines = [f"{self.total()} blocks"]
        for code, blocks in self.most_common():
            lines.append(f"  {blocks:4} {code.co_qualname} ({code.co_filename})")
        return "\n".join(lines)


async def blocks_taken(call: Call) -> Taken:
    """Return the blocks that a call takes in functions of `mcp_gen` and `mcp_wire`.

    The number of allocated blocks is read at each bytecode instruction, and each increase counts:
    also what is freed again before the call ends. What the interpreter takes from its free lists is
    not counted, nor what one instruction takes and frees. Each Python function counts one more,
    the frame object that tracing makes.
    """
    taken = Taken()
    blocks = sys.getallocatedblocks
    last = blocks()
    home: CodeType | None = None

    def on_event(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal last, home
        now = blocks()
        if home is not None and now > last:
            taken[home] += now - last
        # This number is a block, too, and would be freed after the count below.
        del now
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        home = frame.f_code if frame.f_code.co_filename.startswith(_HOMES) else None
        last = blocks()
        return on_event

    before = sys.gettrace()
    sys.settrace(on_event)
    try:
        await call()
    finally:
        sys.settrace(before)
    return taken


async def peak_bytes(call: Call) -> int:
    """Return how far the traced memory of the process rises during a call."""
    tracemalloc.reset_peak()
    before_bytes, _ = tracemalloc.get_traced_memory()
    await call()
    return tracemalloc.get_traced_memory()[1] - before_bytes


async def kept_blocks(call: Call, calls: int) -> int:
    """Return the number of blocks by which the process grows during some calls."""
    before = sys.getallocatedblocks()
    for _ in range(calls):
        await call()
    return sys.getallocatedblocks() - before


@asynccontextmanager
async def settled(call: Call, calls: int) -> AsyncIterator[None]:
    """Warm a call up, in a state of the process that does not depend on what ran before.

    A collection empties the free lists of the interpreter; the calls fill them as far as they need.
    Inside the block there is none: each cycle is memory that is kept. Nor does a timer run there,
    since the clock of the loop stands still. Nor is the loop in its debug mode, which remembers
    where each callback comes from.
    """
    loop: Any = asyncio.get_running_loop()
    debug = loop.get_debug()
    loop.set_debug(False)
    now_s = loop.time()
    loop.time = lambda: now_s
    gc.collect()
    gc.disable()
    try:
        for _ in range(calls):
            await call()
        yield
    finally:
        gc.enable()
        del loop.time
        loop.set_debug(debug)
