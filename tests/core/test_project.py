"""Projection to another revision: dropped, rewritten and refused members, and the losses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Loss, ProjectionError, UsageError, project
from mcp_gen.core.projection.project import restate
from mcp_wire import Wire, latest
from tests.support.frames import every_revision
from tests.wire.revisions import fullest, kept, smallest

OLDEST, NEWEST = mcp_wire.REVISIONS[0], mcp_wire.LATEST
OBJECTS_ONLY = [
    one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).structured_content == "object"
]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}

every_pair = pytest.mark.parametrize(("old", "new"), list(combinations(mcp_wire.REVISIONS, 2)))
objects_only = pytest.mark.parametrize("revision", OBJECTS_ONLY)


def structs(revision: str) -> dict[str, type[Wire]]:
    """Return the wire types of a revision, by name."""
    home = mcp_wire.types(revision)
    named = {name: getattr(home, name) for name in home.__all__}
    return {name: t for name, t in named.items() if isinstance(t, type) and issubclass(t, Wire)}


def values(revision: str) -> Iterator[Wire]:
    """Return the smallest and the fullest value of each type of a revision."""
    for (name, kind), choose in product(structs(revision).items(), (smallest, fullest)):
        if name in kept(revision).definitions:
            given = kept(revision).instance(name, choose)
            yield mcp_wire.decode(kind, msgspec.json.encode(given))


@every_revision
def test_a_value_of_the_target_revision_is_the_same_object(revision: str) -> None:
    value = mcp_wire.types(revision).TextContent(text="a")
    assert project(value, revision).value is value


@every_revision
def test_plain_json_beside_values_stays_as_it_is(revision: str) -> None:
    text = mcp_wire.types(revision).TextContent(text="a")
    value = {"a": [1, None, {"b": 1.5}], "text": "é", "block": text}
    assert project(value, revision) == (value, [])


@pytest.mark.parametrize(
    ("value", "name"),
    [({"name": "t"}, "dict"), ([{"name": "t"}], "dict"), ("t", "str"), (None, "NoneType")],
)
def test_plain_json_is_refused_with_what_to_pass(value: Any, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        project(value, NEWEST)
    assert str(caught.value) == (
        f"project() takes an instance of a generated type or a list of them, not a plain {name}: "
        "`mcp_wire.decode(mcp_wire.latest.Tool, data)` decodes JSON"
    )


def test_what_the_target_lacks_is_dropped_and_reported_with_its_path() -> None:
    tool = latest.Tool(name="t", title="T", input_schema=SCHEMA, icons=[latest.Icon(src="i")])
    found = project([tool, {"nested": tool}], OLDEST)
    old = mcp_wire.types(OLDEST).Tool(name="t", input_schema=SCHEMA)
    assert found.value == [old, {"nested": old}]
    why = f"{OLDEST} has no such field"
    assert found.losses == [
        Loss("$[0].title", why),
        Loss("$[0].icons", why),
        Loss("$[1].nested.title", why),
        Loss("$[1].nested.icons", why),
    ]


def test_a_path_is_the_one_on_the_wire() -> None:
    template = latest.ResourceTemplate(name="t", uri_template="a:{b}", icons=[])
    result = latest.ListResourceTemplatesResult(resource_templates=[template])
    losses = project(result, OLDEST).losses
    assert Loss("$.resourceTemplates[0].icons", f"{OLDEST} has no such field") in losses


def test_what_is_absent_is_no_loss() -> None:
    assert project(latest.Tool(name="t", input_schema=SCHEMA), OLDEST).losses == []


@every_pair
def test_what_goes_up_and_comes_down_again_differs_only_in_what_was_reported(
    old: str, new: str
) -> None:
    silently_changed: list[Wire] = []
    compared = 0
    for value in values(old):
        try:
            up = project(value, new)
            down = project(up.value, old)
        except ProjectionError:
            continue
        compared += 1
        if down.value != value and not up.losses:
            silently_changed.append(value)
    assert silently_changed == []
    assert compared > 50


@every_pair
def test_what_goes_down_is_closed_there(old: str, new: str) -> None:
    wrong: list[Wire] = []
    for value in values(new):
        try:
            down = project(value, old).value
        except ProjectionError:
            continue
        if type(value).__name__ != "CreateMessageRequest" and not is_closed(down):
            wrong.append(value)
    assert wrong == []


def is_closed(value: Wire) -> bool:
    written = mcp_wire.encode(value)
    return mcp_wire.encode(mcp_wire.decoder(type(value)).decode(written)) == written


def test_a_type_that_the_target_lacks_is_refused_with_its_path() -> None:
    use = latest.ToolUseContent(id="1", name="t", input={})
    message = latest.SamplingMessage(role="assistant", content=use)
    with pytest.raises(ProjectionError, match=r"has no ToolUseContent - at `\$\.content`"):
        project(message, OLDEST)


def test_a_value_that_lacks_what_the_target_requires_is_refused_with_its_path() -> None:
    params = mcp_wire.types("2025-11-25").CancelledNotificationParams()
    with pytest.raises(ProjectionError, match=r"'request_id' - at `\$`"):
        project(params, NEWEST)


# --- `_meta` that says who asks ---

IDENTITY = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize("meta", [None, {}, {"progressToken": 1}])
def test_params_without_the_keys_that_the_target_requires_are_refused(meta: Any) -> None:
    params = mcp_wire.types(OLDEST).CallToolRequestParams(name="t", meta=meta)
    with pytest.raises(ProjectionError) as caught:
        project(params, NEWEST)
    keys = " and ".join(f"`{key}`" for key in IDENTITY)
    assert str(caught.value) == f"{NEWEST} requires {keys} here - at `$._meta`"


def test_params_with_the_keys_that_the_target_requires_are_restated() -> None:
    meta = {**IDENTITY, "com.example/a": 1}
    params = mcp_wire.types(OLDEST).CallToolRequestParams(name="t", meta=meta)
    assert project(params, NEWEST) == (latest.CallToolRequestParams(name="t", meta=meta), [])


def test_a_key_that_the_target_takes_for_something_else_is_refused_with_its_path() -> None:
    meta = {**IDENTITY, "io.modelcontextprotocol/clientInfo": "agent"}
    params = mcp_wire.types(OLDEST).CallToolRequestParams(name="t", meta=meta)
    with pytest.raises(ProjectionError, match=r"clientInfo.* - at `\$._meta`"):
        project(params, NEWEST)


def test_params_that_a_session_completes_before_it_sends_them_are_not_refused() -> None:
    params = mcp_wire.types(OLDEST).CallToolRequestParams(name="t")
    assert restate(params, NEWEST) == (latest.CallToolRequestParams(name="t", meta={}), [])


# --- rewriting ---


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS[1:2])
def test_a_title_that_another_takes_the_place_of_is_reported(revision: str) -> None:
    annotations = latest.ToolAnnotations(title="Mine")
    tool = latest.Tool(name="t", title="T", input_schema=SCHEMA, annotations=annotations)
    projected, losses = project(tool, revision)
    assert projected.annotations.title == "T"
    assert losses == [
        Loss(
            "$.annotations.title",
            f"{revision} has one title: that of the tool is in its place",
        )
    ]


def test_a_title_that_is_there_twice_is_no_loss() -> None:
    annotations = latest.ToolAnnotations(title="T")
    tool = latest.Tool(name="t", title="T", input_schema=SCHEMA, annotations=annotations)
    assert project(tool, mcp_wire.REVISIONS[1]).losses == []


@objects_only
def test_content_and_schema_that_are_wrapped_are_reported(revision: str) -> None:
    result = latest.CallToolResult(content=[], structured_content=1)
    tool = latest.Tool(name="t", input_schema=SCHEMA, output_schema={"type": "integer"})
    losses = [*project(result, revision).losses, *project(tool, revision).losses]
    why = f"{revision} has only objects here: the value is its `result`"
    assert losses == [Loss("$.structuredContent", why), Loss("$.outputSchema", why)]


@objects_only
@pytest.mark.parametrize("content", [1, None, [1], "a", True])
def test_structured_content_that_is_no_object_is_wrapped(revision: str, content: Any) -> None:
    result = latest.CallToolResult(content=[], structured_content=content)
    assert project(result, revision).value.structured_content == {"result": content}


@objects_only
def test_structured_content_that_is_an_object_stays(revision: str) -> None:
    result = latest.CallToolResult(content=[], structured_content={"a": 1})
    assert project(result, revision).value.structured_content == {"a": 1}


@objects_only
def test_absent_structured_content_stays_absent(revision: str) -> None:
    result = project(latest.CallToolResult(content=[]), revision).value
    assert b"structuredContent" not in mcp_wire.encode(result)


@objects_only
def test_an_output_schema_that_is_no_object_is_wrapped_as_the_content_is(revision: str) -> None:
    tool = latest.Tool(name="t", input_schema=SCHEMA, output_schema={"type": "integer"})
    assert project(tool, revision).value.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }


@objects_only
def test_what_a_wrapped_schema_refers_to_stays_where_it_is_looked_for(revision: str) -> None:
    schema = {"type": "array", "items": {"$ref": "#/$defs/P"}, "$defs": {"P": {"type": "null"}}}
    tool = latest.Tool(name="t", input_schema=SCHEMA, output_schema=schema)
    assert project(tool, revision).value.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/P"}}},
        "required": ["result"],
        "$defs": {"P": {"type": "null"}},
    }


@objects_only
def test_an_output_schema_of_an_object_stays(revision: str) -> None:
    tool = latest.Tool(name="t", input_schema=SCHEMA, output_schema=SCHEMA)
    assert project(tool, revision).value.output_schema == SCHEMA


def test_structured_content_is_dropped_where_there_is_none() -> None:
    result = latest.CallToolResult(content=[], structured_content=[1])
    found = project(result, OLDEST)
    assert b"structuredContent" not in mcp_wire.encode(found.value)
    assert [loss.path for loss in found.losses] == ["$.structuredContent"]


@every_revision
def test_open_json_inside_a_value_is_left_alone(revision: str) -> None:
    schema = {"type": "object", "icons": [1], "title": "a", "properties": {"_meta": {}}}
    tool = latest.Tool(name="t", input_schema=schema)
    assert project(tool, revision).value.input_schema == schema


def test_an_unknown_revision_is_refused() -> None:
    with pytest.raises(UsageError, match="no revision '1999-12-31'; there are 2024-11-05"):
        project(latest.TextContent(text="a"), "1999-12-31")
