"""Starts of servers and imports, each in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bench.child import printed_by
from bench.peers.measuring import Effort, Row, in_rounds
from bench.peers.sides import Side
from bench.requests import initialize

__all__ = ["rows"]

_PYTHON = """\
import time
started = time.perf_counter()
{statement}
print((time.perf_counter() - started) * 1000)
"""
_NODE = """\
const started = performance.now();
{statement};
console.log(performance.now() - started);
"""


def rows(sides: Sequence[Side], effort: Effort) -> Iterator[Row]:
    """Measure from the start of a process, and the import of what a server needs."""
    # Both sides compile their modules at the first start: it does not count.
    started: dict[str, Callable[[], float]] = {one.name: partial(_start_ms, one) for one in sides}
    imported: dict[str, Callable[[], float]] = {one.name: partial(_import_ms, one) for one in sides}
    for name, what in (
        ("process start to `initialize` answered, stdio", started),
        ("import of what a server needs", imported),
    ):
        for measure in what.values():
            measure()
        yield Row(
            name=name,
            unit="ms",
            better="less",
            setting="plain",
            placed="asyncio, default malloc, free CPUs, modules compiled",
            values=in_rounds(what, effort.runs),
        )


def _start_ms(side: Side) -> float:
    started = time.perf_counter()
    with side.serving("stdio", plain=True) as child:
        child.ask(initialize(1))
        return (time.perf_counter() - started) * 1000


def _import_ms(side: Side) -> float:
    command, statement = side.imports
    program = _NODE if "await" in statement else _PYTHON
    (took_ms,) = printed_by([*command, program.format(statement=statement)])
    return took_ms
