"""Rows of the change table, as they are printed."""

from __future__ import annotations

import pytest

from codegen.decisions import Told


def told(before: str, after: str, detail: str = "+ C") -> str:
    """Return the printed row of a union that has gained an arm."""
    return str(Told("widened", "Either", before, after, detail, ""))


@pytest.mark.parametrize(("before_length", "after_length"), [(30, 30), (0, 60), (60, 0)], ids=str)
def test_shapes_of_60_characters_together_are_printed(
    before_length: int, after_length: int
) -> None:
    before, after = "b" * before_length, "a" * after_length
    shapes = " -> ".join(shape for shape in (before, after) if shape)
    assert told(before, after) == f"Either: {shapes}"


@pytest.mark.parametrize(("before_length", "after_length"), [(30, 31), (0, 61), (61, 0)], ids=str)
def test_of_longer_shapes_only_the_difference_is_printed(
    before_length: int, after_length: int
) -> None:
    assert told("b" * before_length, "a" * after_length) == "Either: + C"


def test_longer_shapes_without_a_known_difference_are_printed() -> None:
    before, after = "b" * 40, "a" * 40
    assert told(before, after, detail="") == f"Either: {before} -> {after}"


def test_an_object_without_further_shape_is_printed_by_its_path() -> None:
    assert told("", "object", detail="") == "Either"
