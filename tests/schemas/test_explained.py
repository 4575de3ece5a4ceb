"""Why a value does not fit a schema: the first error, where there is one to tell."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.schemas.schema import UNEXPLAINED, compile_schema, explain

NO_TEXT = 'the value is not of type "string"'


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(("depth", "why"), [(100, NO_TEXT), (400, UNEXPLAINED)])
def test_of_a_value_that_is_nested_too_deeply_it_is_only_told_that_it_does_not_fit(
    depth: int, why: str
) -> None:
    validator = compile_schema({"type": "string"}, linear=False)
    assert explain(validator, nested(depth)).message == why
