"""Round trip of values: decoding and encoding give equal JSON, or a deviation in the overlay."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import msgspec
import pytest

import mcp_wire
from codegen.model import ir
from codegen.verify.instances import Choose, instance
from mcp_wire import UnknownContent, decode, encode, v2024_11_05, v2026_07_28
from tests.support.checks.failures import failures
from tests.wire.revisions import Kept, every_revision, fullest, kept, overlay_rows, smallest, text

LATEST = kept(mcp_wire.LATEST)


def there_and_back(kind: Any, value: Any) -> str:
    """Return the value as JSON text, after decoding and encoding."""
    return text(json.loads(encode(decode(kind, json.dumps(value).encode()))))


# --- Instances of the kept schemas ---


def seeded(seed: str) -> Choose:
    return random.Random(seed).choice


CHOICES: dict[str, Callable[[str], Choose]] = {
    "smallest": lambda _: smallest,
    "fullest": lambda _: fullest,
    "random": seeded,
}
"""Ways to choose an instance, by a seed of the definition."""


@every_revision
@pytest.mark.parametrize("way", CHOICES)
def test_an_instance_of_a_definition_comes_back_equal(revision: str, way: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        value = there.instance(name, CHOICES[way](f"{revision} {name}"))
        assert there_and_back(there.named(name), value) == text(value)

    assert failures(there.decoded, check) == {}


# --- Open maps ---

STRANGE = {
    "": None,
    "$ref": "#/nowhere",
    'com.example/ü\u2028"': [[], {}, [{"a": [None, True, 1, 1.0, -0.5, 1e300, 2**60]}]],
    "type": {"resultType": "neither"},
    "_meta": {"_meta": None},
}


def open_maps(there: Kept, type_: ir.Type) -> Iterator[Any]:
    """Yield values with `STRANGE` inside, if the type is an open map or a map of them."""
    resolved = behind_aliases(there, type_)
    if isinstance(resolved, ir.MapOf):
        if behind_aliases(there, resolved.value) == ir.Scalar("any"):
            yield STRANGE
        for inner in open_maps(there, resolved.value):
            yield {"com.example/ü": inner}


def behind_aliases(there: Kept, type_: ir.Type) -> ir.Type:
    while isinstance(type_, ir.Ref) and type_.name in there.model.aliases:
        type_ = there.model.aliases[type_.name].type
    return type_


def with_open_maps(there: Kept) -> dict[str, Any]:
    """Return an instance with `STRANGE` for each field that is an open map, by `Type/field`."""
    return {
        f"{struct.name}/{field.wire}": {**there.minimal(struct.name), field.wire: value}
        for struct in there.model.structs.values()
        for field in struct.fields
        for value in open_maps(there, field.type)
    }


@every_revision
def test_open_maps_keep_whatever_a_peer_put_there(revision: str) -> None:
    there = kept(revision)
    lost = [
        place
        for place, value in with_open_maps(there).items()
        if there_and_back(there.named(place.partition("/")[0]), value) != text(value)
    ]
    assert lost == []


@pytest.mark.parametrize(
    "place",
    [
        "CallToolResult/_meta",
        "Tool/inputSchema",
        "Tool/outputSchema",
        "ClientCapabilities/experimental",
        "ClientCapabilities/extensions",
        "ServerCapabilities/extensions",
        "CallToolRequestParams/arguments",
    ],
)
def test_a_place_of_metadata_or_extensions_is_an_open_map(place: str) -> None:
    assert place in with_open_maps(LATEST)


# --- null ---


@every_revision
def test_an_optional_null_is_accepted_and_left_out(revision: str) -> None:
    there = kept(revision)
    wrong = []
    for struct in there.model.structs.values():
        for field in struct.fields:
            if field.absent == "none":
                value = there.minimal(struct.name)
                if there_and_back(there.named(struct.name), {**value, field.wire: None}) != text(
                    value
                ):
                    wrong.append(f"{struct.name}/{field.wire}")
    assert wrong == []


@every_revision
def test_null_is_kept_where_it_is_data(revision: str) -> None:
    there = kept(revision)
    for struct in there.model.structs.values():
        for field in struct.fields:
            if field.absent == "unset":
                value = {**there.minimal(struct.name), field.wire: None}
                assert there_and_back(there.named(struct.name), value) == text(value)


def test_logged_data_of_an_error_may_be_null() -> None:
    value = {"code": 1, "message": "", "data": None}
    assert there_and_back(LATEST.named("Error"), value) == text(value)


# --- Unions ---


def arms_of_unions(there: Kept) -> list[tuple[str, str]]:
    """Return union and arm of every union that a tag or its keys discriminate."""
    return [
        (alias.name, arm)
        for alias in there.model.unions
        if alias.strategy in ("tag", "pick")
        for arm in ir.arm_names(alias.type)
    ]


@every_revision
@pytest.mark.parametrize("choose", [smallest, fullest], ids=["smallest", "fullest"])
def test_an_instance_of_an_arm_picks_that_arm_and_no_other(revision: str, choose: Choose) -> None:
    there = kept(revision)
    definitions = {"$defs": there.normalized}

    def check(pair: tuple[str, str]) -> None:
        union, arm = pair
        inside = instance(definitions, there.normalized[arm], choose)
        data = json.dumps({**telling(there, union, arm), **inside}).encode()
        assert type(decode(there.named(union), data)) is there.named(arm)

    assert failures(arms_of_unions(there), check) == {}


@every_revision
@pytest.mark.parametrize("choose", [smallest, fullest], ids=["smallest", "fullest"])
def test_the_arm_that_is_picked_is_the_arm_that_is_decoded(revision: str, choose: Choose) -> None:
    there = kept(revision)
    definitions = {"$defs": there.normalized}

    def check(pair: tuple[str, str]) -> None:
        union, arm = pair
        inside = instance(definitions, there.normalized[arm], choose)
        picked = there.named(union).pick({**telling(there, union, arm), **inside})
        assert picked is there.named(arm)

    untagged = {alias.name for alias in there.model.unions if alias.strategy == "pick"}
    pairs = [pair for pair in arms_of_unions(there) if pair[0] in untagged]
    assert pairs
    assert failures(pairs, check) == {}


def test_a_union_of_another_revision_is_not_picked_from() -> None:
    untagged = import_module(f"{LATEST.types.__package__}.untagged")
    with pytest.raises(ValueError, match="is not an untagged union of"):
        untagged.pick_arm(v2024_11_05.types.AnyResourceContentsArm, {"text": ""})


@every_revision
def test_every_union_of_structs_is_told_apart_here_or_never_decoded(revision: str) -> None:
    there = kept(revision)
    told_apart = {union for union, _ in arms_of_unions(there)}
    structs = there.model.structs.keys()
    found = {name: alias.type for name, alias in there.model.aliases.items()}
    found |= {f"{s.name}/{f.wire}": f.type for s in there.model.structs.values() for f in s.fields}
    several = {name for name, type_ in found.items() if len(structs & {*ir.arm_names(type_)}) > 1}
    assert several == told_apart | (several & {*there.types.NOT_DECODED})


@pytest.mark.parametrize("union", ["AnyCallToolResult", "AnyGetPromptResult", "InputResponse"])
def test_the_unions_of_results_are_among_them(union: str) -> None:
    assert union in {one for one, _ in arms_of_unions(LATEST)}


def telling(there: Kept, union: str, arm: str) -> dict[str, Any]:
    """Return the keys that a [[pick]] row looks for in the arm, with their smallest values."""
    picks = [row["arms"] for row in there.rows("pick") if row["name"] == union]
    keys = [key for arms in picks for one in arms if one["type"] == arm for key in one["when"]]
    properties = there.normalized[arm]["properties"]
    return {
        key: instance({"$defs": there.normalized}, properties[key], smallest)
        for key in keys
        if key in properties
    }


def test_an_error_in_a_picked_arm_inside_a_picked_arm_is_refused_with_its_whole_path() -> None:
    resource = {"type": "resource", "resource": {"uri": "a", "text": 1}}
    block = {"type": "tool_result", "toolUseId": "1", "content": [resource]}
    responses = {"key": {"role": "user", "model": "m", "content": block}}
    with pytest.raises(msgspec.ValidationError) as caught:
        decode(LATEST.named("InputResponses"), json.dumps(responses).encode())
    assert str(caught.value) == (
        "Expected `str`, got `int` - at `$[...].content.content[0].resource.text`"
    )


@every_revision
def test_a_decoder_reads_arms_with_the_hook_of_its_revision(revision: str) -> None:
    there = kept(revision)
    untagged = import_module(f"{mcp_wire.types(revision).__name__}.untagged")
    result = mcp_wire.decoder(there.named("CallToolResult"))
    assert result.dec_hook is untagged.read_arm


class Pair(msgspec.Struct):
    """User-defined type with arms of two revisions."""

    older: v2024_11_05.EmbeddedResource
    newer: v2026_07_28.EmbeddedResource


def test_a_type_of_ones_own_may_hold_arms_of_any_revision() -> None:
    text, blob = {"uri": "a", "text": ""}, {"uri": "b", "blob": ""}
    both = decode(Pair, encode({"older": {"resource": text}, "newer": {"resource": blob}}))
    assert (type(both.older.resource), type(both.newer.resource)) == (
        v2024_11_05.TextResourceContents,
        v2026_07_28.BlobResourceContents,
    )


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_an_enum_without_titles_is_the_untitled_one(revision: str) -> None:
    there = kept(revision)
    data = b'{"type": "string", "enum": ["one"]}'
    decoded = decode(there.named("PrimitiveSchemaDefinition"), data)
    assert type(decoded) is there.named("UntitledSingleSelectEnumSchema")


# --- Content of kinds that a revision lacks ---

BLOCK = rb'{ "x" : [1 , 2.50,"\u00e9\/"], "type": "hologram","type2":null, "text" : 1e2 }'
HERE = "the unknown block stands here"


def around(there: Kept, type_: ir.Type, passed: tuple[str, ...] = ()) -> Iterator[Any]:
    """Yield JSON values of the type with `HERE` in place of a block, each place once."""
    match type_:
        case ir.ListOf(item):
            for inner in around(there, item, passed):
                yield [inner]
                yield [inner, inner]
        case ir.MapOf(item):
            yield from ({"key": inner} for inner in around(there, item, passed))
        case ir.OneOf(arms):
            for arm in arms:
                yield from around(there, arm, passed)
        case ir.Ref(name) if name in there.model.aliases:
            alias = there.model.aliases[name]
            if alias.keeps_unknown:
                yield HERE
            yield from around(there, alias.type, passed)
        case ir.Ref(name) if name not in passed:
            for field in there.model.structs[name].fields:
                for inner in around(there, field.type, (*passed, name)):
                    yield {**there.minimal(name), **tag_of(there, name), field.wire: inner}
        case _:
            return


def tag_of(there: Kept, name: str) -> dict[str, str]:
    tag = there.model.structs[name].tag
    return {tag.wire: tag.value} if tag else {}


def places(there: Kept) -> Iterator[tuple[str, bytes]]:
    """Yield type and JSON of every place below a type, with an unknown block there."""
    for name in there.model.structs:
        for value in around(there, ir.Ref(name)):
            written = json.dumps(value).replace(json.dumps(HERE), BLOCK.decode())
            yield name, written.encode()


@every_revision
def test_an_unknown_block_comes_back_byte_for_byte_wherever_it_stands(revision: str) -> None:
    there = kept(revision)
    for name, data in places(there):
        again = encode(decode(there.named(name), data))
        assert again.count(BLOCK) == data.count(BLOCK), f"{name}: {again!r}"


@every_revision
def test_what_stands_around_an_unknown_block_comes_back_equal(revision: str) -> None:
    there = kept(revision)
    for name, data in places(there):
        again = encode(decode(there.named(name), data))
        assert text(json.loads(again)) == text(json.loads(data)), name


@pytest.mark.parametrize(
    ("revision", "types"),
    [
        ("2024-11-05", {"CallToolResult", "PromptMessage", "SamplingMessage"}),
        ("2025-11-25", {"CallToolResult", "PromptMessage", "SamplingMessage", "ToolResultContent"}),
        (
            "2026-07-28",
            {"CallToolResult", "PromptMessage", "SamplingMessage", "InputRequiredResult"},
        ),
    ],
)
def test_the_places_of_blocks_are_found(revision: str, types: set[str]) -> None:
    assert types - {name for name, _ in places(kept(revision))} == set()


@every_revision
def test_an_unknown_block_says_its_kind_and_content(revision: str) -> None:
    result = kept(revision).named("CallToolResult")
    (block,) = decode(result, b'{"content": [{"type": "hologram", "x": 1}]}').content
    assert (type(block), block.type, block.as_dict()) == (
        UnknownContent,
        "hologram",
        {"type": "hologram", "x": 1},
    )


def test_unknown_blocks_are_equal_when_their_bytes_are() -> None:
    blocks = [UnknownContent("a", b'{"type":"a"}'), UnknownContent("a", b'{"type":"a"}')]
    assert (blocks[0] == blocks[1], len(set(blocks))) == (True, 1)


def test_unknown_blocks_differ_when_their_bytes_do() -> None:
    assert UnknownContent("a", b'{"type":"a"}') != UnknownContent("a", b'{"type": "a"}')


@every_revision
@pytest.mark.parametrize(
    ("beside", "problem"),
    [
        ({"type": "text"}, "Object missing required field `text` - at `$.content[1]`"),
        ({"type": "text", "text": 1}, "Expected `str`, got `int` - at `$.content[1].text`"),
        ({"type": 1}, "Expected `str` - at `$.content[1].type`"),
        ({}, "Object missing required field `type` - at `$.content[1]`"),
        ("text", "Expected `object`, got `str` - at `$.content[1]`"),
        (
            {"type": "resource", "resource": {"uri": "a", "text": 1}},
            "Expected `str`, got `int` - at `$.content[1].resource.text`",
        ),
        (
            {"type": "resource", "resource": {"uri": "a"}},
            "expected `text` or `blob` - at `$.content[1].resource`",
        ),
        (
            {"type": "resource", "resource": {"text": "a"}},
            "Object missing required field `uri` - at `$.content[1].resource`",
        ),
        (
            {"type": "resource", "resource": "text"},
            "Expected `object`, got `str` - at `$.content[1].resource`",
        ),
        (
            {"type": "resource", "resource": ["text"]},
            "Expected `object`, got `array` - at `$.content[1].resource`",
        ),
        (
            {"type": "resource", "resource": None},
            "Expected `object`, got `null` - at `$.content[1].resource`",
        ),
    ],
)
def test_an_error_beside_an_unknown_block_is_refused_with_its_path(
    revision: str, beside: Any, problem: str
) -> None:
    value = {"content": [{"type": "hologram"}, beside]}
    with pytest.raises(msgspec.ValidationError) as caught:
        decode(kept(revision).named("CallToolResult"), json.dumps(value).encode())
    assert str(caught.value) == problem


@every_revision
def test_a_union_that_is_not_content_refuses_unknown_kinds(revision: str) -> None:
    there = kept(revision)
    with pytest.raises(msgspec.ValidationError, match="Invalid value 'ref/other'"):
        decode(there.named("CompletionReference"), b'{"type": "ref/other", "uri": "", "name": ""}')


# --- Enums with titles ---

UNTITLED = {"type": "string", "enum": ["a"]}

with_titled_enums = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
"""Revisions where an enum with `enumNames` is an arm of its own."""


def read_as(revision: str, name: str, value: Any) -> tuple[Any, Any]:
    """Return the type that a value is decoded to, and what it is after another round."""
    kind = kept(revision).named(name)
    first = decode(kind, json.dumps(value).encode())
    again = decode(kind, encode(first))
    assert again == first
    return type(first).__name__, json.loads(encode(again))


@with_titled_enums
def test_an_enum_whose_names_are_null_has_no_titles_and_stays_so(revision: str) -> None:
    value = {**UNTITLED, "enumNames": None}
    wanted = "UntitledSingleSelectEnumSchema", UNTITLED
    assert read_as(revision, "PrimitiveSchemaDefinition", value) == wanted


@with_titled_enums
def test_an_enum_with_names_stays_what_it_is(revision: str) -> None:
    value = {**UNTITLED, "enumNames": ["A"]}
    wanted = "LegacyTitledEnumSchema", value
    assert read_as(revision, "PrimitiveSchemaDefinition", value) == wanted


@pytest.mark.parametrize(
    ("revision", "name"),
    [
        ("2025-06-18", "EnumSchema"),
        ("2025-11-25", "LegacyTitledEnumSchema"),
        ("2026-07-28", "LegacyTitledEnumSchema"),
    ],
)
def test_a_titled_enum_that_is_asked_for_by_name_may_have_null_for_names(
    revision: str, name: str
) -> None:
    value = {**UNTITLED, "enumNames": None}
    assert read_as(revision, name, value) == (name, UNTITLED)


def test_an_enum_whose_names_are_null_is_an_enum_where_there_is_one_kind() -> None:
    value = {**UNTITLED, "enumNames": None}
    wanted = "EnumSchema", UNTITLED
    assert read_as("2025-06-18", "PrimitiveSchemaDefinition", value) == wanted


# --- results with a resultType ---


def results() -> list[str]:
    """Return the types of complete results."""
    return [
        name
        for name, struct in LATEST.model.structs.items()
        if struct.tag == ir.Tag("resultType", "result_type", "complete")
    ]


def unions_of_results() -> list[str]:
    """Return the unions of a complete result and a request for input."""
    return [
        alias.name
        for alias in LATEST.model.unions
        if alias.strategy == "tag" and "InputRequiredResult" in ir.arm_names(alias.type)
    ]


def complete(name: str) -> tuple[dict[str, Any], str]:
    """Return the smallest complete result of a type or union, with its type."""
    alias = LATEST.model.aliases.get(name)
    arms = ir.arm_names(alias.type) if alias else [name]
    (arm,) = set(arms) - {"InputRequiredResult"}
    return LATEST.minimal(arm), arm


def test_a_missing_result_type_means_complete() -> None:
    assert failures([*results(), *unions_of_results()], reads_complete) == {}


def reads_complete(name: str) -> None:
    value, arm = complete(name)
    without = {key: one for key, one in value.items() if key != "resultType"}
    decoded = decode(LATEST.named(name), json.dumps(without).encode())
    assert (type(decoded), text(json.loads(encode(decoded)))) == (LATEST.named(arm), text(value))


@pytest.mark.parametrize("first", [{}, {"resultType": "complete"}], ids=["missing", "complete"])
def test_a_complete_result_needs_no_lenient_decoding(
    first: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(name: str) -> None:
        value, arm = complete(name)
        del value["resultType"]
        assert type(decode(LATEST.named(name), encode({**first, **value}))) is LATEST.named(arm)

    monkeypatch.setattr("mcp_wire.lenient_decoding.decode_leniently", None)
    assert failures(unions_of_results(), check) == {}


def test_a_result_that_asks_for_input_needs_no_lenient_decoding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check(name: str) -> None:
        data = b'{"requestState":"s","resultType":"input_required"}'
        wanted = v2026_07_28.InputRequiredResult(request_state="s")
        assert decode(LATEST.named(name), data) == wanted

    monkeypatch.setattr("mcp_wire.lenient_decoding.decode_leniently", None)
    assert failures(unions_of_results(), check) == {}


@every_revision
def test_a_method_decodes_its_result_with_what_it_does_not_know(revision: str) -> None:
    call = mcp_wire.profile(revision).methods["tools/call"]
    (block,) = call.decode_result(b'{"content": [{"type": "hologram"}]}').content
    assert type(block) is UnknownContent


@every_revision
def test_a_method_refuses_another_result_with_the_path(revision: str) -> None:
    call = mcp_wire.profile(revision).methods["tools/call"]
    with pytest.raises(msgspec.ValidationError, match=r"^Expected `array`.* at `\$\.content`$"):
        call.decode_result(b'{"content": {}}')


@pytest.mark.parametrize("other", ["later", "", None, 1, {}])
def test_another_result_type_is_refused(other: Any) -> None:
    def check(name: str) -> None:
        value, _ = complete(name)
        with pytest.raises(msgspec.ValidationError, match=r"\$\.resultType"):
            decode(LATEST.named(name), json.dumps({**value, "resultType": other}).encode())

    assert failures([*results(), *unions_of_results()], check) == {}


def test_a_missing_result_type_beside_an_unknown_block_means_complete() -> None:
    decoded = decode(LATEST.named("AnyCallToolResult"), b'{"content": [' + BLOCK + b"]}")
    assert encode(decoded) == b'{"resultType":"complete","content":[' + BLOCK + b"]}"


@pytest.mark.parametrize(
    "name", ["AnyCallToolResult", "AnyGetPromptResult", "AnyReadResourceResult"]
)
def test_a_result_may_ask_for_input(name: str) -> None:
    assert name in unions_of_results()


# --- defaults of absent members ---


def lenient() -> Iterator[tuple[str, str, Any]]:
    for row in overlay_rows("lenient"):
        for struct in LATEST.model.structs.values():
            for field in struct.fields:
                if field.wire == row["path"].rpartition("/")[2] and field.absent == "always":
                    yield struct.name, field.wire, row["value"]


def test_what_an_older_server_leaves_out_is_assumed_and_written() -> None:
    assert failures(lenient(), is_assumed) == {}


def is_assumed(row: tuple[str, str, Any]) -> None:
    name, wire, assumed = row
    value = {**LATEST.minimal(name), wire: assumed}
    without = {key: one for key, one in value.items() if key != wire}
    assert there_and_back(LATEST.named(name), without) == text(value)


# --- Ids and numbers ---


@every_revision
@pytest.mark.parametrize("value", ["1", "", 1, 0, -1, 2**53])
def test_an_id_keeps_its_json_type(revision: str, value: Any) -> None:
    assert there_and_back(kept(revision).named("RequestId"), value) == text(value)


@every_revision
@pytest.mark.parametrize("name", ["RequestId", "ProgressToken"])
@pytest.mark.parametrize("value", [True, False, None, 1.5, [], {}])
def test_what_is_neither_string_nor_integer_is_no_id(revision: str, name: str, value: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"^Expected `int \| str`, got `"):
        decode(kept(revision).named(name), json.dumps(value).encode())


@every_revision
@pytest.mark.parametrize("number", ["50", "0.5", "50.0", "-1", "0", "9007199254740993"])
def test_a_number_keeps_its_kind(revision: str, number: str) -> None:
    data = f'{{"progressToken":1,"progress":{number}}}'
    decoded = decode(kept(revision).named("ProgressNotificationParams"), data.encode())
    assert f'"progress":{number}' in encode(decoded).decode()


@pytest.mark.parametrize("number", ["50", "0.5", "50.0"])
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_number_in_a_form_keeps_its_kind(revision: str, number: str) -> None:
    data = f'{{"action":"accept","content":{{"size":{number}}}}}'
    decoded = decode(kept(revision).named("ElicitResult"), data.encode())
    assert f'"size":{number}' in encode(decoded).decode()
