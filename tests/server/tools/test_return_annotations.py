"""Return annotations: which values of a tool are sent without being checked."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Literal, TypedDict, TypeVar

import msgspec
import pytest

from mcp_gen.server.tools.return_annotations import accepted_classes

T = TypeVar("T")


class Place(msgspec.Struct):
    name: str


class Named(TypedDict):
    name: str


@pytest.mark.parametrize(
    ("hint", "classes"),
    [
        (int, {int}),
        (Annotated[int, msgspec.Meta(ge=1)], {int}),
        (float, {float, int}),
        (Place, {Place}),
        (Named, {dict}),
        (dict[str, int], {dict}),
        (list[Place], {list}),
        (Sequence[int], {list, tuple}),
        (MutableSequence[int], {list}),
        (Mapping[str, int], {dict}),
        (AbstractSet[int], {set, frozenset}),
        (MutableSet[int], {set}),
        (int | list[str], {int, list}),
        (Literal["a"] | int, {int}),
        (Place | Named, {Place, dict}),
    ],
    # A set of classes has no order that all processes share.
    ids=lambda one: str(one) if not isinstance(one, set) else "",
)
def test_values_of_the_annotated_classes_are_not_checked(hint: Any, classes: set[type]) -> None:
    assert accepted_classes(hint) == frozenset(classes)


@pytest.mark.parametrize("hint", [Any, T, int | Any], ids=str)
def test_where_anything_may_be_returned_no_value_is_checked(hint: Any) -> None:
    assert accepted_classes(hint) is None


@pytest.mark.parametrize("hint", [Literal["a", "b"], None], ids=str)
def test_where_single_values_are_annotated_each_value_is_checked(hint: Any) -> None:
    assert accepted_classes(hint) == frozenset()
