"""Bounds: decoding takes what breaks one, the closed check names it, and it is not sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import UsageError
from mcp_gen.core import bounds
from mcp_gen.core.bounds import broken_bounds, check_bounds
from mcp_gen.core.projection.closed import violations
from mcp_wire import latest
from tests.support.frames import every_revision


def annotated(revision: str, priority: float) -> Any:
    """Return a tool result whose one block has this priority."""
    types = mcp_wire.types(revision)
    block = types.TextContent(text="t", annotations=types.Annotations(priority=priority))
    return types.CallToolResult(content=[block])


@every_revision
@pytest.mark.parametrize("priority", [0, 0.5, 1, None])
def test_a_value_within_its_bounds_is_kept(revision: str, priority: Any) -> None:
    assert list(broken_bounds(annotated(revision, priority), "$")) == []


@every_revision
@pytest.mark.parametrize(
    ("priority", "what"),
    [(-0.1, "expected `minimum` 0, got -0.1"), (1.5, "expected `maximum` 1, got 1.5")],
)
def test_a_broken_bound_is_told_with_its_path(revision: str, priority: float, what: str) -> None:
    found = list(broken_bounds(annotated(revision, priority), "$"))
    assert found == [("$.content[0].annotations.priority", what)]


@every_revision
def test_decoding_takes_a_value_that_breaks_a_bound(revision: str) -> None:
    value = annotated(revision, 7)
    assert mcp_wire.decode(type(value), mcp_wire.encode(value)) == value


@every_revision
def test_the_closed_check_names_a_broken_bound(revision: str) -> None:
    value = annotated(revision, 7)
    found = list(violations(type(value), mcp_wire.encode(value), revision, "$.result"))
    assert [str(one) for one in found] == [
        f"$.result.content[0].annotations.priority: expected `maximum` 1, got 7 at {revision}"
    ]


def test_a_value_that_breaks_a_bound_is_not_sent() -> None:
    with pytest.raises(UsageError) as caught:
        check_bounds(annotated(mcp_wire.LATEST, 7))
    assert str(caught.value) == (
        "CallToolResult cannot be sent: expected `maximum` 1, got 7 - at "
        "`$.content[0].annotations.priority`"
    )


def test_values_of_other_classes_have_no_bounds() -> None:
    for value in (
        None,
        {"priority": 7},
        [1],
        "text",
        msgspec.Raw(b"7"),
        latest.TextContent(text=""),
    ):
        check_bounds(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (latest.ListToolsResult(tools=[], ttl_ms=-1, cache_scope="private"), "$.ttlMs"),
        (latest.Completion(values=["a"] * 101), "$.values"),
        (latest.ModelPreferences(cost_priority=2), "$.costPriority"),
    ],
)
def test_every_bound_of_the_newest_revision_is_checked(value: Any, path: str) -> None:
    assert [where for where, _ in broken_bounds(value, "$")] == [path]


def test_bounds_of_items_and_of_members_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {
        "Completion.values": ((("items",), "maxLength", 2),),
        "CallToolRequestParams.arguments": ((("values",), "minimum", 0),),
    }
    monkeypatch.setitem(bounds.BOUNDS, mcp_wire.LATEST, fields)
    bounds._fields_of.cache_clear()
    try:
        completion = latest.Completion(values=["a", "abc"])
        call = latest.CallToolRequestParams(name="t", arguments={"a": 1, "b": -1}, meta={})
        assert [where for where, _ in broken_bounds(completion, "$")] == ["$.values[1]"]
        assert [where for where, _ in broken_bounds(call, "$")] == ["$.arguments.b"]
    finally:
        bounds._fields_of.cache_clear()


@pytest.mark.parametrize(
    ("keyword", "limit", "kept", "broken"),
    [
        ("minimum", 1, [1, 1.5, True, "0"], [0, 0.9]),
        ("maximum", 1, [1, 0, False, [2]], [2, 1.1]),
        ("exclusiveMinimum", 1, [2, "1"], [1, 0]),
        ("exclusiveMaximum", 1, [0, None], [1, 2]),
        ("multipleOf", 0.5, [0, 1.5, -2, "0.3"], [0.3]),
        ("minLength", 2, ["ab", 1], ["", "a"]),
        ("maxLength", 2, ["ab", [1, 2, 3]], ["abc"]),
        ("pattern", "^a+$", ["aa", 1], ["ab", ""]),
        ("minItems", 1, [[1], ""], [[]]),
        ("maxItems", 1, [[1], "ab"], [[1, 2]]),
        ("uniqueItems", True, [[1, 2], [], "aa"], [[1, 1], [{"a": 1}, {"a": 1}]]),
        ("uniqueItems", False, [[1, 1]], []),
        ("minProperties", 1, [{"a": 1}, []], [{}]),
        ("maxProperties", 1, [{"a": 1}], [{"a": 1, "b": 2}]),
    ],
)
def test_a_keyword_is_about_values_of_its_kind_alone(
    keyword: str, limit: Any, kept: list[Any], broken: list[Any]
) -> None:
    check = bounds._KEPT[keyword]
    assert [check(value, limit) for value in kept] == [True] * len(kept)
    assert [check(value, limit) for value in broken] == [False] * len(broken)


@every_revision
def test_every_bound_that_is_generated_can_be_checked(revision: str) -> None:
    keywords = {one[1] for found in bounds.BOUNDS[revision].values() for one in found}
    assert keywords <= bounds._KEPT.keys()
