"""Import and start-up benchmarks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial

from bench.child import Child, printed_by
from bench.requests import HANDSHAKE, initialize
from bench.sampling import Row, Settings, at_most, compare

__all__ = ["rows"]

BARE = "import asyncio, msgspec"

# Not ru_maxrss: a child begins with its parent's.
_PROGRAM = """
import resource, time
def resident_pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
{before}
pages, started = resident_pages(), time.perf_counter()
{statement}
print((time.perf_counter() - started) * 1000)
print((resident_pages() - pages) * resource.getpagesize() / 2**20)
"""


def rows(settings: Settings) -> Iterator[Row]:
    """Measure imports in fresh interpreters, then the time from server start to first answer."""
    repetitions = settings.repetitions(12)
    module = f"mcp_wire.v{HANDSHAKE.replace('-', '_')}"
    bare = partial(_import_ms, BARE)
    yield compare(
        "import one revision on top of that",
        "ms",
        partial(_import_ms, f"import {module}", before=BARE),
        bare,
        repetitions=repetitions,
        goal=at_most(0.4),
    )
    yield compare(
        "memory of one revision / 6 MB",
        "MB",
        partial(_import_mb, f"import {module}", before=BARE),
        lambda: 6.0,
        repetitions=settings.repetitions(6),
        goal=at_most(1),
    )
    for statement in ("import mcp_gen", "from mcp_gen import Server", "from mcp_gen import Client"):
        yield compare(
            statement, "ms", partial(_import_ms, statement), bare, repetitions=repetitions
        )
    yield compare(
        "start to initialize answered",
        "ms",
        partial(_start_ms, "ours_stdio"),
        partial(_start_ms, "bare_stdio", HANDSHAKE),
        repetitions=repetitions,
    )


def _import_ms(statement: str, before: str = "") -> float:
    return _measured(statement, before)[0]


def _import_mb(statement: str, before: str = "") -> float:
    return _measured(statement, before)[1]


def _measured(statement: str, before: str) -> tuple[float, float]:
    program = _PROGRAM.format(statement=statement, before=before)
    time_ms, size_mb = printed_by([sys.executable, "-c", program])
    return time_ms, size_mb


def _start_ms(module: str, *arguments: str) -> float:
    started = time.perf_counter()
    with Child(module, *arguments) as child:
        child.ask(initialize(1))
        return (time.perf_counter() - started) * 1000
