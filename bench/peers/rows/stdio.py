"""Calls over stdio, one at a time and many in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from bench.child import Child
from bench.peers.measuring import Effort, Row, in_rounds, timed
from bench.peers.sides import Side
from bench.requests import HANDSHAKE, PER_REQUEST, call, initialize, initialized
from bench.stdio import IDS, IN_FLIGHT, in_flight, one_at_a_time, one_cpu

__all__ = ["rows"]

LOOPS = {"fast": "uvloop", "plain": "asyncio"}


def rows(sides: Sequence[Side], effort: Effort, setting: str) -> Iterator[Row]:
    """Measure both modes at both revisions."""
    for revision in (PER_REQUEST, HANDSHAKE):
        with one_cpu(), ExitStack() as stack:
            children = {
                side.name: stack.enter_context(side.serving("stdio", plain=setting == "plain"))
                for side in sides
            }
            for name, child in children.items():
                _open(name, child, revision)
            requests = [call(id, revision) + b"\n" for id in range(2, IDS + 2)]
            yield _row(
                f"tools/call, stdio {revision}, one at a time",
                "calls/s",
                {name: partial(one_at_a_time, child, requests) for name, child in children.items()},
                effort,
                setting,
            )
            yield _row(
                f"tools/call, stdio {revision}, {IN_FLIGHT} in flight",
                "calls/CPU s",
                {name: partial(in_flight, child, requests) for name, child in children.items()},
                effort,
                setting,
            )


def _row(
    name: str,
    unit: str,
    rates: dict[str, Callable[[int], float]],
    effort: Effort,
    setting: str,
) -> Row:
    measured = {side: timed(rate, effort, least=IN_FLIGHT) for side, rate in rates.items()}
    return Row(
        name=name,
        unit=unit,
        better="more",
        setting=setting,
        placed=f"{LOOPS[setting]}, default malloc, driver and server on one CPU",
        values=in_rounds(measured, effort.rounds),
    )


def _open(name: str, child: Child, revision: str) -> None:
    """Shake hands where the revision does, and check the answer to a call."""
    if revision == HANDSHAKE:
        child.ask(initialize(0))
        child.write(initialized() + b"\n")
    answer = msgspec.json.decode(child.ask(call(1, revision)))
    assert answer["result"]["content"][0]["text"] == "42", (name, answer)
