"""Tests of the helper that checks many names in one test."""

from __future__ import annotations

import pytest

from tests.support.checks.failures import MAX_CHARACTERS, failures


def check(name: str) -> None:
    if name == "missing":
        raise KeyError(name)
    if name == "refused":
        pytest.fail("refused\n  in two lines")
    assert name != "wrong", "x" * 2 * MAX_CHARACTERS


def test_every_failure_is_returned_with_its_reason() -> None:
    assert failures(["good", "missing", "refused"], check) == {
        "missing": "KeyError: 'missing'",
        "refused": "Failed: refused in two lines",
    }


def test_a_long_reason_is_shortened() -> None:
    assert len(failures(["wrong"], check)["wrong"]) <= MAX_CHARACTERS


def test_a_check_of_no_names_is_an_error() -> None:
    with pytest.raises(LookupError):
        failures([], check)
