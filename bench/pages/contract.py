"""The speed contract: each row of it, its goal, and the rows of the benchmarks that show it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from bench.rounds import Rounds

__all__ = ["CONTRACT", "Promise", "Shown", "kept"]

HTTP = "uvloop, httptools; default malloc; free CPUs"
STDIO = "asyncio; driver and server on one CPU"
ALONE = "asyncio; default malloc; free CPUs"
OLD, NEW = "2025-11-25", "2026-07-28"


class Promise(NamedTuple):
    """A row of the contract."""

    what: str
    goal: str
    limit: float
    higher_is_better: bool
    rows: Sequence[str]
    """Names of the rows that show it."""
    placed: str
    """Event loop, HTTP parser, allocator and processors of both sides."""
    of_ours: bool = False
    """True for a limit on our own figure, and not on the ratio."""


class Shown(NamedTuple):
    """A row of the contract with the figures of one row of the benchmarks."""

    promise: Promise
    row: str
    values: Sequence[float]
    """Figures of each round; empty if the row was not measured."""

    @property
    def name(self) -> str:
        """Name of the row, without what it is compared with: the goal says that."""
        return self.row.partition(" / ")[0]

    @property
    def middle(self) -> float:
        """Median of the rounds."""
        return median(self.values)

    @property
    def margin(self) -> float:
        """The median as a multiple of its goal; 1 or more where the goal is met."""
        return self._of(self.middle)

    @property
    def margins(self) -> list[float]:
        """The same of each round."""
        return [self._of(value) for value in self.values]

    def _of(self, value: float) -> float:
        limit = self.promise.limit
        # A figure near 0 of the machine's noise is as good as a thousandth.
        value = max(value, limit / 1000)
        return value / limit if self.promise.higher_is_better else limit / value


def _least(what: str, limit: float, of: str, rows: Sequence[str], placed: str) -> Promise:
    return Promise(what, f"≥ {limit:g} of {of}", limit, True, rows, placed)


def _most(what: str, limit: float, of: str, rows: Sequence[str], placed: str) -> Promise:
    return Promise(what, f"≤ {limit:g} of {of}", limit, False, rows, placed)


def _stdio(mode: str) -> list[str]:
    return [f"stdio, {mode}, {one}{more}" for more in ("", ", tuned malloc") for one in (NEW, OLD)]


CONTRACT: tuple[Promise, ...] = (
    _least("tools/call over HTTP, 16 connections", 1.15, "bare Starlette", [f"HTTP, {NEW}"], HTTP),
    _least(
        "the same, a tool that suspends", 1, "bare", [f"HTTP, {NEW}, a tool that suspends"], HTTP
    ),
    _least("in a session, JSON answers", 1.05, "bare", [f"HTTP, session of {OLD}"], HTTP),
    _least("in a session, SSE answers", 0.85, "bare", [f"HTTP, session of {OLD}, as events"], HTTP),
    _least("stdio, one at a time", 0.9, "bare loop", _stdio("one at a time"), STDIO),
    _least("stdio, 64 in flight", 0.6, "bare loop", _stdio("64 in flight"), STDIO),
    _most(
        "process start to initialize answered",
        1.25,
        "bare loop",
        ["start to initialize answered"],
        ALONE,
    ),
    _least(
        "client and server in one process",
        30,
        "official session",
        [f"client in memory, one at a time, {OLD}"],
        ALONE,
    ),
    _least(
        "the same, direct mode", 20, "official", [f"client in memory, one at a time, {NEW}"], ALONE
    ),
    _least(
        "client over stdio, 64 in flight",
        40,
        "official",
        [f"client over stdio, 64 in flight, {one}" for one in (NEW, OLD)],
        ALONE,
    ),
    _least(
        "client over HTTP, one at a time",
        3.5,
        "official",
        [f"client over HTTP, one at a time, {one}" for one in (NEW, OLD)],
        ALONE,
    ),
    _most(
        "decode and encode of messages",
        1.2,
        "handwritten structs",
        [
            f"{do} {what}"
            for what in (
                "tools/call params",
                "result of ten blocks",
                "the same, tagged",
                "tools/list of 1000",
            )
            for do in ("decode", "encode")
        ],
        "in one process; default malloc",
    ),
    _least(
        "tools/list, 1,000 tools",
        0.9,
        "static body",
        [f"tools/list with 1,000 tools, {one}" for one in (NEW, OLD)],
        HTTP,
    ),
    _least(
        "resources/read of 1 MiB of text",
        0.7,
        "static body",
        [f"1 MiB of text, {one}" for one in (NEW, OLD)],
        HTTP,
    ),
    _least(
        "resources/read of a 1 MiB blob",
        0.6,
        "static body",
        [f"1 MiB as a blob, {one}" for one in (NEW, OLD)],
        HTTP,
    ),
    Promise(
        "start with 10,000 tools",
        "< 0.5 s of CPU",
        0.5,
        False,
        [f"start with 10,000 tools, annotations as {how} / 1 s" for how in ("types", "texts")],
        ALONE,
        of_ours=True,
    ),
    _most(
        "a call among 10,000 tools",
        1.1,
        "among 10",
        ["call among 10,000 tools / among 10"],
        "in one process; default malloc",
    ),
    Promise("idle HTTP session", "< 3 KB", 3, False, ["idle session / 6 KB"], HTTP, of_ours=True),
    Promise(
        "open listening stream",
        "< 12 KB",
        12,
        False,
        [f"listening stream of {NEW} / 16 KB"],
        HTTP,
        of_ours=True,
    ),
    _most(
        "memory after 2,000 more",
        1.02,
        "before",
        [
            f"memory after 2,000 {what}, and 2,000 more"
            for what in ("sessions", "listening streams")
        ],
        HTTP,
    ),
    _most("list_changed to 500 streams", 1.5, "bare", ["a change told to 500 streams"], HTTP),
    _most(
        "import mcp_gen and Server",
        1.4,
        "import asyncio, msgspec",
        ["import mcp_gen", "from mcp_gen import Server"],
        ALONE,
    ),
)


def kept(rows: Sequence[Rounds]) -> list[Shown]:
    """Return each row of the contract with its figures, the weakest first, then those without."""
    by_name = {one.row.name: one for one in rows}
    found: list[Shown] = []
    for promise in CONTRACT:
        for name in promise.rows:
            row = by_name.get(name)
            values = [] if row is None else row.ours if promise.of_ours else row.ratios
            found.append(Shown(promise, name, values))
    measured = [one for one in found if one.values]
    absent = [one for one in found if not one.values]
    return [*sorted(measured, key=lambda one: one.margin), *absent]
