"""Memory of a warm `tools/call`: blocks taken, the most at one time, and nothing left of it.

A later change may raise a figure of the table, with its reason beside it.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, TypeAlias
from unittest import mock

import pytest

from mcp_gen import Client
from mcp_gen.transports.lines import LineReader
from tests.budgets.allocations import Taken, blocks_taken, kept_blocks, peak_bytes, settled
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.processes.forked import run_alone
from tests.test_walk import adding, over_asgi, over_lines

# The counters themselves work everywhere; the limits would be others. 3.11 is what CI runs.
pytestmark = [
    pytest.mark.skipif(
        sys.version_info[:2] != (3, 11),
        reason="counted on 3.11: other versions have other instructions and other free lists",
    ),
]

WARM_CALLS = 100
MEASURED_CALLS = 3
KEPT_CALLS = 1_000
KEPT_BLOCKS = 20
"""Far fewer than one per call: a table of the interpreter may grow meanwhile."""

Call: TypeAlias = Callable[[], Awaitable[Any]]
Route: TypeAlias = Callable[[str], AbstractAsyncContextManager[Call]]


class Limits(NamedTuple):
    """The most that one call may take."""

    blocks: int
    peak_bytes: int


@asynccontextmanager
async def in_memory(revision: str) -> AsyncIterator[Call]:
    """A client and its server in this process: both count."""
    async with Client("counter") as client:
        server = await client.connect(adding(), revision=revision)

        async def call() -> Any:
            return await server.call_tool("add", {"a": 1, "b": 2})

        yield call


# Four blocks and a twentieth of the bytes more than measured: another thread of the process, such
# as one of pytest-xdist, may take a block meanwhile. Without a handshake a call has `_meta`: a dict
# with the client's name and capabilities. Over HTTP the scope's headers are read into a dict.
ROUTES: dict[str, tuple[Route, str, Limits]] = {
    "HTTP without sessions": (over_asgi, PER_REQUEST, Limits(92, 5_600)),
    "HTTP session": (over_asgi, HANDSHAKE, Limits(99, 5_700)),
    "stdio with a handshake": (over_lines, HANDSHAKE, Limits(65, 3_000)),
    "stdio without a handshake": (over_lines, PER_REQUEST, Limits(84, 4_000)),
    "in memory with a handshake": (in_memory, HANDSHAKE, Limits(95, 3_800)),
    "in memory without a handshake": (in_memory, PER_REQUEST, Limits(116, 4_650)),
}

each_route = pytest.mark.parametrize("name", ROUTES)


async def least_taken(call: Call) -> Taken:
    """Return the fewest blocks of some calls: the first one traced has more to set up."""
    async with settled(call, WARM_CALLS):
        measured = [await blocks_taken(call) for _ in range(MEASURED_CALLS)]
    return min(measured, key=Taken.total)


async def least_peak_bytes(call: Call) -> int:
    """Return the lowest peak of some calls."""
    tracemalloc.start()
    try:
        async with settled(call, WARM_CALLS):
            return min([await peak_bytes(call) for _ in range(MEASURED_CALLS)])
    finally:
        tracemalloc.stop()


async def blocks_of(name: str) -> tuple[int, str]:
    """Return the number of blocks that a call takes on this route, and where."""
    route, revision, _ = ROUTES[name]
    async with route(revision) as call:
        taken = await least_taken(call)
    return taken.total(), str(taken)


async def peak_bytes_of(name: str) -> int:
    """Return how far memory rises during a call on this route."""
    route, revision, _ = ROUTES[name]
    async with route(revision) as call:
        return await least_peak_bytes(call)


async def blocks_kept_of(name: str) -> int:
    """Return the number of blocks that are left of `KEPT_CALLS` on this route."""
    route, revision, _ = ROUTES[name]
    async with route(revision) as call, settled(call, WARM_CALLS):
        return await kept_blocks(call, KEPT_CALLS)


@each_route
def test_a_tool_call_takes_few_blocks_of_memory(name: str) -> None:
    blocks, where = run_alone(blocks_of, name)
    assert blocks <= ROUTES[name][2].blocks, f"{name}: {where}"


@each_route
def test_a_tool_call_holds_little_memory_at_one_time(name: str) -> None:
    assert run_alone(peak_bytes_of, name) <= ROUTES[name][2].peak_bytes


@each_route
def test_a_thousand_tool_calls_leave_nothing_not_even_a_cycle(name: str) -> None:
    assert run_alone(blocks_kept_of, name) <= KEPT_BLOCKS


# --- The counters themselves: each must be able to fail ---


async def blocks_freed_at_once() -> int:
    """Return how many blocks more a call takes that takes some, and frees them at once."""
    async with over_lines(HANDSHAKE) as call:
        before = await least_taken(call)
    # Compiled as a function of the runtime: only those count.
    source = "def feed(reader, data):\n    [object(), object(), object()]\n    old(reader, data)\n"
    names: dict[str, Any] = {"old": LineReader.feed}
    exec(compile(source, LineReader.feed.__code__.co_filename, "exec"), names)
    with mock.patch.object(LineReader, "feed", names["feed"]):
        async with over_lines(HANDSHAKE) as call:
            after = await least_taken(call)
    return after.total() - before.total()


def test_blocks_that_are_freed_at_once_are_counted() -> None:
    # The objects, the list's items, and the frame of the function.
    assert run_alone(blocks_freed_at_once) == 5


async def peak_of_a_call_that_holds(size_bytes: int) -> int:
    """Return how far memory rises during a call that holds so much more."""
    feed = LineReader.feed

    def feed_with_a_copy(reader: LineReader, data: bytes) -> None:
        copy = bytearray(size_bytes)
        feed(reader, data)
        del copy

    with mock.patch.object(LineReader, "feed", feed_with_a_copy):
        async with over_lines(HANDSHAKE) as call:
            return await least_peak_bytes(call)


def test_memory_that_a_call_holds_is_counted() -> None:
    assert run_alone(peak_of_a_call_that_holds, 100_000) > 100_000


async def blocks_kept_of_calls_with_a_cycle() -> int:
    """Return the number of blocks that are left of `KEPT_CALLS` that each leave a cycle."""
    feed = LineReader.feed

    def feed_and_leave(reader: LineReader, data: bytes) -> None:
        cycle: list[Any] = []
        cycle.append(cycle)
        feed(reader, data)

    with mock.patch.object(LineReader, "feed", feed_and_leave):
        async with over_lines(HANDSHAKE) as call, settled(call, WARM_CALLS):
            return await kept_blocks(call, KEPT_CALLS)


def test_a_cycle_that_each_call_leaves_is_found() -> None:
    assert run_alone(blocks_kept_of_calls_with_a_cycle) >= KEPT_CALLS
