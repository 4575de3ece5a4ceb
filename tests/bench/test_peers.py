"""The comparison with other SDKs runs: our own server stands for all of them."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench.peers.measuring import OURS, Effort
from bench.peers.rows import http, memory, start, stdio
from bench.peers.sides import ours

ONCE = Effort(rounds=1, run_s=0, warm_s=0, items=3, runs=1)
SIDES = [ours(), replace(ours(), name="other", cannot={"listen": "it has none"})]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_calls_over_stdio_are_compared_at_both_revisions() -> None:
    rows = list(stdio.rows(SIDES, ONCE, "plain"))
    assert len(rows) == 4
    assert all(row.values.keys() == {OURS, "other"} for row in rows)


def test_every_request_over_http_is_checked_and_compared(runner: asyncio.Runner) -> None:
    rows = list(http.rows(SIDES, ONCE, runner, "plain"))
    assert len({row.name for row in rows}) == 9
    assert all(figure > 0 for row in rows for values in row.values.values() for figure in values)


def test_starts_and_imports_are_compared() -> None:
    assert [row.better for row in start.rows(SIDES, ONCE)] == ["less", "less"]


def test_a_side_that_cannot_do_a_row_says_why(runner: asyncio.Runner) -> None:
    # In this setting servers need uvloop, which tests do not have.
    # The default binds the side; a type checker sees a parameter more.
    plain = [replace(one, server=lambda _, one=one: one.server(True)) for one in SIDES]  # type: ignore[misc]
    _, told = memory.rows(plain, ONCE, runner)
    assert told.not_offered == {"other": "it has none"}
    assert told.values.keys() == {OURS}
