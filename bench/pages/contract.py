"""The speed contract: each row of it, its goal, and the rows of the benchmarks that show it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from msgspec import structs

from bench.rounds import Rounds
from bench.sampling import Goal

__all__ = ["CONTRACT", "Promise", "Shown", "kept", "with_goals"]

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
    """True for a limit on our own figure, which the row has in place of a bare one."""
    why: str = ""
    """Reason why a row is below the goal, as far as it is known, and what was tried."""


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
    def best(self) -> float:
        """Best figure of the rounds."""
        return (max if self.promise.higher_is_better else min)(self.values)

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


def _least(
    what: str, limit: float, of: str, rows: Sequence[str], placed: str, why: str = ""
) -> Promise:
    return Promise(what, f"≥ {limit:g} of {of}", limit, True, rows, placed, why=why)


def _most(
    what: str, limit: float, of: str, rows: Sequence[str], placed: str, why: str = ""
) -> Promise:
    return Promise(what, f"≤ {limit:g} of {of}", limit, False, rows, placed, why=why)


def _stdio(mode: str) -> list[str]:
    return [f"stdio, {mode}, {one}{more}" for more in ("", ", tuned malloc") for one in (NEW, OLD)]


OF_UVICORN = (
    "uvicorn and the kernel take more than half of a call ([steps](where-the-time-goes.md)), and "
    "both sides pay for them; ours is spread over 30 to 40 functions. What was tried: "
    "[first steps](../decisions/first-steps.md)."
)
OF_EVERY_STEP = (
    "a call is spread evenly: the largest of its parts has a ninth of the bytecodes. What was "
    "tried: [first steps](../decisions/first-steps.md)."
)
OF_LONG_VALUES = (
    "the static body is there already, ours is made: "
    "[microseconds of each step](../decisions/long-values.md). On a busy machine both copies of a "
    "value find less room in the caches, and the ratio falls."
)
OF_IMPORTS = (
    "some 160 modules of ours are read, with nearly half as much bytecode again as asyncio and "
    "msgspec have. The schema of a tool is made at its decorator: all of it is needed at once. "
    "Budgets of modules, calls and code hold it ([tests](../../tests/budgets/test_imports.py))."
)
IN_ONE_PROCESS = (
    "each call is encoded, decoded and checked on both sides, as over a pipe, and takes two turns "
    "of the event loop, a fifth of it. Structs cannot pass as they are where the client reads "
    "results with newer types than the server writes; to leave out the envelope alone would save "
    "a seventh, by an estimate."
)
OF_CLIENT_PIPES = (
    "asyncio's pipes and tasks take nearly as much as all that is ours "
    "([steps](where-the-time-goes.md)): the caller's own task is woken for each answer."
)

CONTRACT: tuple[Promise, ...] = (
    _least(
        "tools/call over HTTP, 16 connections",
        1.15,
        "bare Starlette",
        [f"HTTP, {NEW}"],
        HTTP,
        OF_UVICORN,
    ),
    _least(
        "the same, a tool that suspends",
        1,
        "bare",
        [f"HTTP, {NEW}, a tool that suspends"],
        HTTP,
        OF_UVICORN,
    ),
    _least(
        "in a session, JSON answers", 1.05, "bare", [f"HTTP, session of {OLD}"], HTTP, OF_UVICORN
    ),
    _least(
        "in a session, SSE answers",
        0.85,
        "bare",
        [f"HTTP, session of {OLD}, as events"],
        HTTP,
        OF_UVICORN,
    ),
    _least("stdio, one at a time", 0.9, "bare loop", _stdio("one at a time"), STDIO, OF_EVERY_STEP),
    _least("stdio, 64 in flight", 0.6, "bare loop", _stdio("64 in flight"), STDIO, OF_EVERY_STEP),
    _least(
        "the same, a tool with a timeout",
        0.3,
        "bare loop",
        _stdio("64 in flight, a tool with a timeout"),
        STDIO,
        OF_EVERY_STEP,
    ),
    _most(
        "process start to initialize answered",
        1.25,
        "bare loop",
        ["start to initialize answered"],
        ALONE,
        OF_IMPORTS,
    ),
    _least(
        "client and server in one process",
        30,
        "official session",
        [f"client in memory, one at a time, {OLD}"],
        ALONE,
        IN_ONE_PROCESS,
    ),
    _least(
        "the same, direct mode",
        20,
        "official",
        [f"client in memory, one at a time, {NEW}"],
        ALONE,
        IN_ONE_PROCESS,
    ),
    _most(
        "the same",
        3,
        "a hand-written pair",
        [f"client in memory, {one}, and a hand-written pair" for one in (NEW, OLD)],
        ALONE,
        IN_ONE_PROCESS,
    ),
    _least(
        "client over stdio, 64 in flight",
        40,
        "official",
        [f"client over stdio, 64 in flight, {one}" for one in (NEW, OLD)],
        ALONE,
        OF_CLIENT_PIPES,
    ),
    _least(
        "the same",
        0.8,
        "a hand-written one",
        [f"client over stdio, 64 in flight, {one}, and a hand-written one" for one in (NEW, OLD)],
        ALONE,
        OF_CLIENT_PIPES,
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
        "two kinds of embedded resource differ by a key alone, and msgspec hands each to a hook in "
        "Python: of ten blocks two are of this kind, and all of the difference. Of params no "
        "reason is known: they are at the limit.",
    ),
    _least(
        "tools/list, 1,000 tools",
        0.9,
        "static body",
        [f"tools/list with 1,000 tools, {one}" for one in (NEW, OLD)],
        HTTP,
        "the list is kept as bytes; what is left beside the static body is a call like any other, "
        "and one copy of the page into its envelope. Until the memory of large messages was kept "
        "([why](../decisions/long-values.md)), one of them fell to 0.24 on a fast machine; "
        "`python -m bench large` shows 0.65 and 0.69 since.",
    ),
    _least(
        "resources/read of 1 MiB of text",
        0.7,
        "static body",
        [f"1 MiB of text, {one}" for one in (NEW, OLD)],
        HTTP,
        OF_LONG_VALUES,
    ),
    _least(
        "resources/read of a 1 MiB blob",
        0.6,
        "static body",
        [f"1 MiB as a blob, {one}" for one in (NEW, OLD)],
        HTTP,
        OF_LONG_VALUES,
    ),
    Promise(
        "start with 10,000 tools",
        "< 0.5 s of CPU",
        0.5,
        False,
        [f"start with 10,000 tools, annotations as {how} / 0.5 s" for how in ("types", "texts")],
        ALONE,
        of_ours=True,
        why="each function is inspected, its annotations are evaluated and their types checked: "
        "180 calls of functions for a tool of three parameters, 380 before. Hints are read once, "
        "and parameters without `inspect.signature`; schemas are made later.",
    ),
    _most(
        "a call among 10,000 tools",
        1.1,
        "among 10",
        ["call among 10,000 tools / among 10"],
        "in one process; default malloc",
    ),
    Promise(
        "idle HTTP session",
        "< 3 KB",
        3,
        False,
        ["idle session / 3 KB"],
        HTTP,
        of_ours=True,
    ),
    Promise(
        "open listening stream",
        "< 12 KB",
        12,
        False,
        [f"listening stream of {NEW} / 12 KB"],
        HTTP,
        of_ours=True,
        why="uvicorn's connection, protocol and task of a stream take 9.5 KB without us.",
    ),
    _most(
        "memory after 2,000 sessions or streams, or 200 reads, more",
        1.02,
        "before",
        [f"memory after 2,000 {what}, and 2,000 more" for what in ("sessions", "listening streams")]
        + ["memory after reads of 1 MiB, and 200 more"],
        HTTP,
    ),
    _most("list_changed to 500 streams", 1.5, "bare", ["a change told to 500 streams"], HTTP),
    _most(
        "import mcp_gen, Server and Client",
        1.4,
        "import asyncio, msgspec",
        ["import mcp_gen", "from mcp_gen import Server", "from mcp_gen import Client"],
        ALONE,
        OF_IMPORTS,
    ),
)


def with_goals(rows: Sequence[Rounds]) -> list[Rounds]:
    """Return rows, those of the contract with its goals."""
    return [_with_goal(one) for one in rows]


def _with_goal(rounds: Rounds) -> Rounds:
    for promise in CONTRACT:
        if rounds.row.name in promise.rows:
            limit = 1.0 if promise.of_ours else promise.limit
            row = structs.replace(rounds.row, goal=Goal(limit, promise.higher_is_better))
            return structs.replace(rounds, row=row, met=row.met)
    return rounds


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
