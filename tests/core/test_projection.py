"""Projection between any two revisions: the value is closed at the target, or refused."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from itertools import permutations, product
from typing import Any

import jsonschema_rs
import msgspec
import pytest

import mcp_wire
from codegen.verify.instances import instance
from mcp_gen.core.errors import McpError, ProjectionError
from mcp_gen.core.projection.project import Projected, project, project_error
from mcp_wire import Wire, decode, decoder, encode
from mcp_wire import v2024_11_05 as a
from mcp_wire import v2025_03_26 as b
from mcp_wire import v2025_06_18 as c
from mcp_wire import v2025_11_25 as d
from mcp_wire import v2026_07_28 as e
from tests.wire.revisions import Kept, fullest, kept, overlay_rows

PAIRS = list(permutations(mcp_wire.REVISIONS, 2))
ROUNDS = 6


def messages(revision: str) -> list[str]:
    """Return the names of every params and every result type that is a struct."""
    profile = mcp_wire.profile(revision)
    kinds = {method.params for method in profile.methods.values()}
    kinds |= {result for method in profile.methods.values() for result in method.results}
    return sorted(
        kind.__name__
        for kind in kinds
        if isinstance(kind, type)
        and issubclass(kind, Wire)
        and kind.__name__ in definitions(revision)
    )


@cache
def definitions(revision: str) -> dict[str, Any]:
    """Return the normalised schema of a revision, in which hoisted types have names too."""
    return kept(revision).normalized


@cache
def validator(revision: str, name: str) -> Any:
    schema = {"$ref": f"#/$defs/{name}", "$defs": definitions(revision)}
    return jsonschema_rs.Draft202012Validator(schema)


def made(revision: str, name: str, seed: str) -> Wire:
    """Return a random value of a type, the same in every run."""
    choose = random.Random(seed).choice if seed != "fullest" else fullest
    schema = definitions(revision)
    plain = with_object_schemas(instance({"$defs": schema}, schema[name], choose))
    value: Wire = decode(kept(revision).named(name), json.dumps(plain).encode())
    return value


def with_object_schemas(plain: Any) -> Any:
    """Return the JSON with output schemas of objects, which every revision accepts."""
    if isinstance(plain, list):
        return [with_object_schemas(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    typed = {key: with_object_schemas(value) for key, value in plain.items()}
    if "outputSchema" in typed:
        typed["outputSchema"]["type"] = "object"
    return typed


def is_closed(value: Wire) -> bool:
    """Return True if decoding with the value's own type and encoding again gives the same JSON."""
    data = encode(value)
    return json.loads(encode(decoder(type(value)).decode(data))) == json.loads(data)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_any_message_becomes_valid_and_closed_at_the_target_or_is_refused_with_its_path(
    source: str, target: str
) -> None:
    projected, refusals = 0, list[str]()
    for name, round_ in product(messages(source), range(ROUNDS)):
        value = made(source, name, f"{name} {round_}" if round_ else "fullest")
        try:
            restated = project(value, target).value
        except ProjectionError as error:
            refusals.append(str(error))
            continue
        projected += 1
        assert type(restated).__module__ == kept(target).types.__name__
        assert is_closed(restated), restated
        plain = json.loads(encode(restated))
        problems = list(validator(target, type(restated).__name__).iter_errors(plain))
        assert not problems, (value, restated, problems[0].message)
    assert all(re.search(r" - at `\$.*`$", refusal) for refusal in refusals), refusals
    unstamped = [text for text in refusals if text.endswith("`$._meta`")]
    others = len(refusals) - len(unstamped)
    assert projected > others, "most messages of one date have a place at another"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_there_and_back_keeps_what_both_dates_know(source: str, target: str) -> None:
    kept_whole = 0
    for name, round_ in product(messages(source), range(ROUNDS)):
        value = made(source, name, f"{name} {round_}" if round_ else "fullest")
        try:
            there = project(value, target)
            back = project(there.value, source)
        except ProjectionError:
            continue
        if not there.losses and not back.losses:
            kept_whole += 1
            assert back.value == value
    assert kept_whole


def test_a_value_of_the_target_is_the_same_object() -> None:
    for revision in mcp_wire.REVISIONS:
        tool = kept(revision).named("Tool")(name="a", input_schema={"type": "object"})
        assert project(tool, revision) == Projected(tool, [])
        assert project(tool, revision).value is tool


# --- The rules, each once ---

CONTENT = [
    e.TextContent(text="t"),
    e.AudioContent(data="AA==", mime_type="audio/wav"),
    e.ResourceLink(name="n", uri="file:///a"),
]


def content_at(revision: str) -> list[str]:
    result = project(e.CallToolResult(content=CONTENT), revision).value
    return [f"{block.type} {getattr(block, 'text', '')}".strip() for block in result.content]


def test_audio_becomes_an_embedded_resource_where_the_date_lacks_it() -> None:
    audio = project(e.CallToolResult(content=CONTENT), "2024-11-05").value.content[1]
    assert isinstance(audio, a.EmbeddedResource)
    assert isinstance(audio.resource, a.BlobResourceContents)
    assert (audio.resource.blob, audio.resource.mime_type) == ("AA==", "audio/wav")
    assert re.fullmatch(r"audio://[0-9a-f]{32}", audio.resource.uri)


def test_a_resource_link_becomes_text_where_the_date_lacks_it() -> None:
    assert content_at("2025-03-26") == ["text t", "audio", "text n: file:///a"]
    assert content_at("2025-06-18") == ["text t", "audio", "resource_link"]


def test_what_was_rewritten_is_reported_with_its_path() -> None:
    losses = project(e.CallToolResult(content=CONTENT), "2024-11-05").losses
    assert [loss.path for loss in losses] == ["$.content[1]", "$.content[2]"]


def test_audio_in_a_sampling_message_is_refused_where_the_date_lacks_it() -> None:
    message = e.SamplingMessage(role="user", content=e.AudioContent(data="", mime_type="a/b"))
    with pytest.raises(ProjectionError, match=r"AudioContent here - at `\$\.content`"):
        project(message, "2024-11-05")


def test_structured_content_is_found_as_text_where_the_date_has_only_text() -> None:
    result = project(e.CallToolResult(content=[], structured_content={"n": 1}), "2025-03-26")
    assert result.value == b.CallToolResult(content=[b.TextContent(text='{"n":1}')])
    assert [loss.path for loss in result.losses] == ["$.structuredContent"]


def test_structured_content_is_not_repeated_where_a_text_block_has_it() -> None:
    text = e.TextContent(text='{ "n": 1 }')
    result = project(e.CallToolResult(content=[text], structured_content={"n": 1}), "2024-11-05")
    assert result.value.content == [a.TextContent(text='{ "n": 1 }')]


@pytest.mark.parametrize("value", [1, "x", [1], None, True])
def test_structured_content_that_is_no_object_is_wrapped_where_it_must_be_one(value: Any) -> None:
    result = project(e.CallToolResult(content=[], structured_content=value), "2025-11-25").value
    assert result == d.CallToolResult(content=[], structured_content={"result": value})


def test_the_output_schema_is_wrapped_as_its_content_is() -> None:
    schema = {"type": "integer", "$defs": {"x": {}}}
    tool = e.Tool(name="t", input_schema={"type": "object"}, output_schema=schema)
    assert project(tool, "2025-06-18").value.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
        "$defs": {"x": {}},
    }


def test_a_tools_title_moves_into_its_annotations_where_the_date_has_only_those() -> None:
    tool = e.Tool(name="t", title="T", input_schema={"type": "object"})
    assert project(tool, "2025-03-26") == Projected(
        b.Tool(name="t", input_schema={"type": "object"}, annotations=b.ToolAnnotations(title="T")),
        [],
    )
    assert [loss.path for loss in project(tool, "2024-11-05").losses] == ["$.title"]


def form(**properties: Any) -> e.ElicitRequestFormParams:
    return e.ElicitRequestFormParams(
        message="m", requested_schema=e.ElicitationSchema(properties=properties)
    )


def test_a_titled_choice_becomes_an_enum_with_names() -> None:
    options = [e.EnumOption(const="1", title="One"), e.EnumOption(const="2", title="Two")]
    asked = project(form(size=e.TitledSingleSelectEnumSchema(one_of=options)), "2025-06-18").value
    assert asked == c.ElicitRequestParams(
        message="m",
        requested_schema=c.ElicitationSchema(
            properties={"size": c.EnumSchema(enum=["1", "2"], enum_names=["One", "Two"])}
        ),
    )


@pytest.mark.parametrize(("default", "lost"), [(None, []), ("1", ["default"])])
def test_a_default_of_a_choice_is_lost_if_there_is_one(
    default: str | None, lost: list[str]
) -> None:
    choice = e.UntitledSingleSelectEnumSchema(enum=["1"], default=default)
    losses = project(form(size=choice), "2025-06-18").losses
    at = "$.requestedSchema.properties.size"
    assert [loss.path for loss in losses] == [f"{at}.{name}" for name in lost]


def test_a_choice_of_several_is_refused_with_the_field_that_asks_for_it() -> None:
    several = e.UntitledMultiSelectEnumSchema(items=e.UntitledEnumItems(type="string", enum=["1"]))
    with pytest.raises(ProjectionError, match=r"at `\$\.requestedSchema\.properties\.sizes`"):
        project(form(sizes=several), "2025-06-18")


def test_one_sampling_block_in_an_array_stays_and_two_are_refused() -> None:
    one = e.SamplingMessage(role="user", content=[e.TextContent(text="t")])
    assert project(one, "2025-06-18").value.content == c.TextContent(text="t")
    two = msgspec.structs.replace(one, content=[e.TextContent(text="t")] * 2)
    with pytest.raises(ProjectionError, match=r"got 2 - at `\$\.content`"):
        project(two, "2025-06-18")


def test_a_tool_use_is_refused_where_the_date_lacks_it() -> None:
    message = d.SamplingMessage(
        role="assistant", content=d.ToolUseContent(id="1", name="n", input={})
    )
    with pytest.raises(ProjectionError, match=r"has no ToolUseContent - at `\$\.content`"):
        project(message, "2025-06-18")


def test_going_up_fills_in_what_the_specification_says_to_assume() -> None:
    result = project(a.ListToolsResult(tools=[]), "2026-07-28").value
    assert json.loads(encode(result)) == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "tools": [],
    }


@pytest.mark.parametrize(
    ("error", "of", "to", "code"),
    [
        (McpError(-32002, "gone", {"uri": "a:b"}), "2025-11-25", "2026-07-28", -32602),
        (McpError(-32602, "gone", {"uri": "a:b"}), "2026-07-28", "2024-11-05", -32002),
        (McpError(-32602, "bad"), "2026-07-28", "2024-11-05", -32602),
        (McpError(-32601, "no"), "2024-11-05", "2026-07-28", -32601),
        (McpError(4711, "own"), "2025-06-18", "2026-07-28", 4711),
    ],
)
def test_an_error_has_the_code_of_the_target(error: McpError, of: str, to: str, code: int) -> None:
    assert project_error(error, of=of, to=to).code == code


def test_every_alias_is_restated_as_its_namesake() -> None:
    renamed = [[row["old"], row["new"]] for row in overlay_rows("renamed")]
    for names in [*(row["names"] for row in overlay_rows("also_named")), *renamed]:
        homes = {
            revision: name
            for revision in mcp_wire.REVISIONS
            for name in names
            if isinstance(named(revision, name), type) and issubclass(named(revision, name), Wire)
        }
        for source, target in permutations(homes, 2):
            value = made(source, homes[source], "fullest")
            assert type(project(value, target).value).__name__ == homes[target]


def named(revision: str, name: str) -> Any:
    return getattr(Kept(revision).types, name, None)
