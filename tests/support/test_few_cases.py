"""Choice of the cases that a test with many of them runs on without `--full`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from tests.support.few_cases import few_of, left_out


@dataclass(eq=False)
class Item:
    """Test of pytest, as far as it is needed here."""

    nodeid: str
    number: int | None

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        assert name == "few_cases"
        return None if self.number is None else pytest.mark.few_cases(self.number).mark


NAMES = [f"test_number_{number}" for number in range(100)]


@pytest.mark.parametrize("every", range(1, 20))
@pytest.mark.parametrize("number", range(1, 6))
def test_as_many_cases_are_chosen_as_were_asked_for_or_all(every: int, number: int) -> None:
    for name in NAMES:
        chosen = few_of(range(every), number, name)
        assert len(set(chosen)) == len(chosen) == min(every, number)


def test_over_many_tests_every_case_is_chosen() -> None:
    assert {one for name in NAMES for one in few_of(range(15), 2, name)} == {*range(15)}


def test_of_two_parameters_most_values_are_chosen() -> None:
    cases = list(product("abcde", "xyz"))
    for name in NAMES:
        chosen = few_of(cases, 5, name)
        assert {second for _, second in chosen} == {*"xyz"}
        assert len({first for first, _ in chosen}) >= 4


def test_the_same_test_runs_on_the_same_cases_in_their_order() -> None:
    chosen = few_of(range(15), 4, "test_a")
    assert chosen == few_of(range(15), 4, "test_a") == sorted(chosen)


def test_only_cases_of_tests_with_the_mark_are_left_out() -> None:
    items = [Item(f"test_a.py::test_few[{one}]", 2) for one in range(5)]
    others = [Item(f"test_a.py::test_all[{one}]", None) for one in range(5)]
    out = left_out([*items, *others])  # type: ignore[list-item]  # all that it uses
    assert out < {*items}
    assert len(out) == 3


def test_a_case_that_is_named_runs() -> None:
    for one in range(5):
        assert left_out([Item(f"test_a.py::test_few[{one}]", 2)]) == set()  # type: ignore[list-item]
