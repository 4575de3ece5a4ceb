"""Choice of a few cases of a test that has many: `@pytest.mark.few_cases(2)`.

For tests that start processes of others for each case, and meet the same lines in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TypeVar
from zlib import crc32

import pytest

__all__ = ["few_of", "left_out"]

T = TypeVar("T")


def few_of(cases: Sequence[T], number: int, test: str) -> list[T]:
    """Return some of the cases, which change from test to test.

    They lie apart, by a step that divides the number of cases by no number but 1: of a test with
    two parameters both change from one case to the next.

    Args:
        cases: All cases of the test.
        number: How many are returned, if there are so many.
        test: Name of the test.
    """
    every = len(cases)
    if every <= number:
        return list(cases)
    step = every // number
    while gcd(step, every) != 1:
        step += 1
    start = crc32(test.encode()) % every
    chosen = {(start + step * one) % every for one in range(number)}
    return [case for place, case in enumerate(cases) if place in chosen]


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the cases of tests with `few_cases` that are run with `--full` alone."""
    cases: dict[str, list[pytest.Item]] = {}
    numbers: dict[str, int] = {}
    for item in items:
        mark = item.get_closest_marker("few_cases")
        if mark is not None:
            test = item.nodeid.partition("[")[0]
            cases.setdefault(test, []).append(item)
            numbers[test] = mark.args[0]
    return {
        item
        for test, found in cases.items()
        for item in {*found} - {*few_of(found, numbers[test], test)}
    }
