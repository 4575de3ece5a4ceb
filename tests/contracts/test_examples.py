"""Examples of findings: the values that one schema takes and the other does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from mcp_gen.contracts.subsumption.comparing import compare_schemas
from mcp_gen.contracts.subsumption.examples import numbers_in
from mcp_gen.contracts.subsumption.plain_facets import some_texts
from mcp_gen.contracts.subsumption.shapes import Range

WHOLE = {"type": "integer"}
SMALL = {"type": "integer", "maximum": 3}


def examples(before: Any, after: Any) -> list[Any]:
    """Return the example of each finding, where arguments of one schema meet the other."""
    found = compare_schemas(before, after, "arguments")
    return [value for finding in found.findings for value in finding.witness]


def test_an_object_has_as_many_other_members_as_it_needs_beside_the_one_that_differs() -> None:
    others = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 2}
    before, after = ({**others, "properties": {"a": one}} for one in (WHOLE, SMALL))
    assert examples(before, after) == [{"other": "", "a": 4}]


def test_a_member_of_any_name_that_differs_is_in_an_object_of_enough_members() -> None:
    before, after = (
        {"type": "object", "additionalProperties": one, "minProperties": 3}
        for one in (WHOLE, SMALL)
    )
    ((shown,),) = [examples(before, after)]
    assert len(shown) == 3
    assert max(shown.values()) == 4


def test_a_member_that_differs_has_a_name_that_the_schema_allows() -> None:
    names = {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}
    before, after = ({**names, "additionalProperties": one} for one in (WHOLE, SMALL))
    assert examples(before, after) == [{"other": 4}]


@pytest.mark.parametrize("kinds", [{}, {"type": ["object", "array"]}])
def test_an_item_that_differs_is_in_an_array_whatever_else_is_allowed(kinds: Any) -> None:
    before, after = ({**kinds, "prefixItems": [one]} for one in (WHOLE, SMALL))
    assert examples(before, after) == [[4]]


def test_texts_have_the_least_length_one_more_and_the_greatest() -> None:
    texts = some_texts(Range(Fraction(20), Fraction(30)))
    assert texts[-6:] == [letter * length for length in (20, 21, 30) for letter in ("a", "0")]


def test_of_the_numbers_of_a_schema_the_first_forty_are_taken() -> None:
    assert len(numbers_in({"enum": [*range(39)]}, [])) == 39
    assert len(numbers_in({"enum": [*range(41)]}, [])) == 40
