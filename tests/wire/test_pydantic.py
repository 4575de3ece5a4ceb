"""Pydantic models: the same types as the wire types, with an exact round trip."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

import mcp_wire
from codegen.model import ir
from codegen.verify.instances import mutations
from mcp_wire import UnknownContent, Wire, decode, encode
from mcp_wire.pydantic import WireModel, from_pydantic, models, to_pydantic
from tests.support.checks.failures import failures
from tests.wire.revisions import Kept, every_revision, fullest, kept, smallest, text
from tests.wire.test_imports import imported_by, revisions_in
from tests.wire.test_round_trip import (
    CHOICES,
    arms_of_unions,
    complete,
    places,
    results,
    seeded,
    telling,
    with_open_maps,
)

NO_MODEL = {
    "RawCallToolRequestParams": "left undecoded for a handler's own types; a model is decoded",
}
"""Names of wire types without a model, with the reason."""

OTHER_ATTRIBUTES = {
    "schema": ("schema_", "pydantic's BaseModel has an attribute of that name"),
}
"""Attributes of wire types with another name in the models, with the reason."""


def model(revision: str, name: str) -> type[WireModel]:
    found: type[WireModel] = getattr(models(revision), name)
    return found


@cache
def adapter(revision: str, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(models(revision), name))


def wired(value: Any) -> Any:
    """Return the value with every model in it as a wire type."""
    match value:
        case WireModel():
            return from_pydantic(value)
        case dict():
            return {key: wired(one) for key, one in value.items()}
        case list():
            return [wired(one) for one in value]
        case _:
            return value


# --- Names ---


@every_revision
def test_models_have_the_names_of_the_wire_types(revision: str) -> None:
    names = set(mcp_wire.types(revision).__all__) - {"PROFILE"} - NO_MODEL.keys()
    assert set(models(revision).__all__) == names


@pytest.mark.parametrize("name", NO_MODEL)
def test_a_name_without_a_model_is_one_of_a_wire_type(name: str) -> None:
    assert any(name in mcp_wire.types(revision).__all__ for revision in mcp_wire.REVISIONS)


@every_revision
def test_attributes_and_keys_are_those_of_the_wire_types(revision: str) -> None:
    wrong = {
        name: found
        for name, struct in kept(revision).model.structs.items()
        if (found := attributes(model(revision, name))) != wire_attributes(struct)
    }
    assert wrong == {}


def attributes(kind: type[WireModel]) -> list[tuple[str, str]]:
    """Return every attribute and its key on the wire, in order."""
    return [(name, info.alias or name) for name, info in kind.model_fields.items()]


def wire_attributes(struct: ir.Struct) -> list[tuple[str, str]]:
    tag = [(struct.tag.name, struct.tag.wire)] if struct.tag else []
    fields = [
        (OTHER_ATTRIBUTES.get(field.name, (field.name, ""))[0], field.wire)
        for field in struct.fields
    ]
    return tag + fields


@pytest.mark.parametrize("name", OTHER_ATTRIBUTES)
def test_an_attribute_that_models_call_otherwise_is_one_of_pydantic(name: str) -> None:
    assert hasattr(pydantic.BaseModel, name)


@every_revision
def test_a_model_requires_what_the_wire_type_requires(revision: str) -> None:
    there = kept(revision)
    wrong = {
        name: found
        for name in there.model.structs
        if (found := required(model(revision, name))) != wire_required(there.named(name))
    }
    assert wrong == {}


def required(kind: type[WireModel]) -> set[str]:
    return {info.alias or name for name, info in kind.model_fields.items() if info.is_required()}


def wire_required(kind: type[Wire]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind) if field.required}


@every_revision
def test_every_model_is_complete_when_its_module_is_imported(revision: str) -> None:
    made = [model(revision, name) for name in kept(revision).model.structs]
    assert [one.__name__ for one in made if not one.__pydantic_complete__] == []


@every_revision
def test_every_name_has_a_json_schema_of_what_it_reads_and_of_what_it_writes(revision: str) -> None:
    assert without_json_schema(revision) == {}


def without_json_schema(revision: str) -> dict[tuple[str, JsonSchemaMode], str]:
    """Return the names without a JSON Schema, with the reason."""
    modes: tuple[JsonSchemaMode, ...] = ("validation", "serialization")
    wanted = [(name, mode) for name in models(revision).__all__ for mode in modes]
    try:
        TypeAdapter.json_schemas([(name, mode, adapter(revision, name)) for name, mode in wanted])
    except Exception:
        # One schema after the other takes three times as long, but says which is wrong.
        if found := failures(
            wanted, lambda one: adapter(revision, one[0]).json_schema(mode=one[1])
        ):
            return found
        raise
    return {}


@pytest.mark.parametrize("revision", ["2024-11-05"])
def test_a_definition_with_the_name_of_an_import_keeps_its_name(revision: str) -> None:
    assert model(revision, "Annotated")(annotations={"audience": ["user"]}).model_dump() == {
        "annotations": {"audience": ["user"], "priority": None}
    }


# --- decoding by models ---


@every_revision
@pytest.mark.parametrize("way", CHOICES)
def test_a_model_reads_what_the_wire_type_reads(revision: str, way: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        data = json.dumps(there.instance(name, CHOICES[way](f"{revision} {name}"))).encode()
        value = wired(adapter(revision, name).validate_json(data))
        assert value == decode(there.named(name), data)
        assert text(json.loads(encode(value))) == text(json.loads(data))

    assert failures(there.decoded, check) == {}


@every_revision
def test_a_model_reads_python_values_as_it_reads_json(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        value = there.instance(name, seeded(f"{revision} {name}"))
        reads = adapter(revision, name)
        assert reads.validate_python(value) == reads.validate_json(json.dumps(value))

    assert failures(there.decoded, check) == {}


BOUNDS = {"greater_than_equal", "less_than_equal", "too_long"}
"""Errors of models alone: bounds of the schema, which wire types leave to documentation."""


@every_revision
def test_a_model_refuses_what_the_wire_type_refuses_and_nothing_else(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        kind, reads = there.named(name), adapter(revision, name)
        values = [
            one for choose in (smallest, fullest) for one in mutations(there.instance(name, choose))
        ]
        written = [json.dumps(value).encode() for value in values]
        unlike = {
            data for data in written if accepted(kind, data) != accepted_as_model(reads, data)
        }
        assert unlike == set()

    assert failures(there.decoded, check) == {}


def accepted(kind: Any, data: bytes) -> bool:
    try:
        decode(kind, data)
    except msgspec.ValidationError:
        return False
    return True


def accepted_as_model(reads: TypeAdapter[Any], data: bytes) -> bool:
    try:
        reads.validate_json(data)
    except pydantic.ValidationError as caught:
        return {error["type"] for error in caught.errors()} <= BOUNDS
    return True


def test_a_bound_of_the_schema_is_one_of_the_model() -> None:
    with pytest.raises(pydantic.ValidationError, match="less than or equal to 1"):
        model(mcp_wire.LATEST, "Annotations")(priority=1.5)


@every_revision
def test_an_unknown_key_is_kept_or_dropped_as_by_the_wire_type(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        minimal = there.minimal(name)
        more = {**minimal, "com.example/other": {"a": [None]}}
        read = model(revision, name).model_validate(more)
        kept_keys = {"com.example/other"} if there.model.structs[name].open else set()
        assert (read.model_extra or {}).keys() == kept_keys
        assert from_pydantic(read) == decode(there.named(name), json.dumps(more).encode())

    assert failures(there.model.structs, check) == {}


@every_revision
def test_open_maps_keep_whatever_a_peer_put_there(revision: str) -> None:
    for place, value in with_open_maps(kept(revision)).items():
        read = model(revision, place.partition("/")[0]).model_validate_json(json.dumps(value))
        assert text(json.loads(encode(from_pydantic(read)))) == text(value), place


def test_a_model_is_built_from_attribute_names() -> None:
    tool = model("2025-06-18", "Tool")
    by_name = tool(name="add", input_schema={}, annotations={"read_only_hint": True})
    by_key = tool(name="add", inputSchema={}, annotations={"readOnlyHint": True})
    assert by_name == by_key
    assert encode(from_pydantic(by_name)) == (
        b'{"name":"add","inputSchema":{},"annotations":{"readOnlyHint":true}}'
    )


@pytest.mark.parametrize("by_name", [False, True])
def test_json_text_has_the_keys_of_the_wire_unless_names_are_asked_for(by_name: bool) -> None:
    tool: Any = model("2025-06-18", "Tool")
    data = '{"name":"add","inputSchema":{},"output_schema":{"a":1}}'
    read = (
        tool.model_validate_json(data, by_name=True) if by_name else tool.model_validate_json(data)
    )
    assert read.output_schema == ({"a": 1} if by_name else None)


def test_an_attribute_name_in_json_text_is_no_tag() -> None:
    data = b'{"result_type":"input_required","content":[]}'
    read = adapter(mcp_wire.LATEST, "AnyCallToolResult").validate_json(
        data, by_alias=True, by_name=False
    )
    assert wired(read) == decode(kept(mcp_wire.LATEST).named("AnyCallToolResult"), data)


def test_a_missing_result_type_means_complete_in_a_model() -> None:
    for name in results():
        value, _ = complete(name)
        del value["resultType"]
        assert model(mcp_wire.LATEST, name).model_validate(value).model_dump()["result_type"] == (
            "complete"
        )


@pytest.mark.parametrize(
    "name", ["AnyCallToolResult", "AnyGetPromptResult", "AnyReadResourceResult"]
)
def test_a_union_of_results_reads_a_missing_result_type_as_complete(name: str) -> None:
    value, arm = complete(name)
    del value["resultType"]
    assert type(adapter(mcp_wire.LATEST, name).validate_python(value)).__name__ == arm


@pytest.mark.parametrize("number", ["50", "0.5", "50.0", "-1", "9007199254740993"])
def test_a_number_keeps_its_kind_in_a_model(number: str) -> None:
    data = f'{{"progressToken":1,"progress":{number}}}'
    read = model(mcp_wire.LATEST, "ProgressNotificationParams").model_validate_json(data)
    assert f'"progress":{number}' in encode(from_pydantic(read)).decode()


# --- Unions ---

Pair = tuple[str, str]
"""A union and one of its arms."""


def smallest_of(revision: str, union: str, arm: str) -> dict[str, Any]:
    """Return the smallest instance of an arm that a union can identify."""
    return {**telling(kept(revision), union, arm), **kept(revision).minimal(arm)}


@every_revision
def test_the_smallest_instance_of_an_arm_picks_that_model(revision: str) -> None:
    def check(pair: Pair) -> None:
        reads, picked = adapter(revision, pair[0]), model(revision, pair[1])
        value = smallest_of(revision, *pair)
        assert type(reads.validate_python(value)) is picked
        assert type(reads.validate_json(json.dumps(value))) is picked

    assert failures(arms_of_unions(kept(revision)), check) == {}


@every_revision
def test_an_arm_is_picked_by_attribute_names_too(revision: str) -> None:
    def check(pair: Pair) -> None:
        built = model(revision, pair[1])(**smallest_of(revision, *pair))
        by_name = built.model_dump(exclude_none=True)
        assert type(adapter(revision, pair[0]).validate_python(by_name)) is type(built)

    assert failures(arms_of_unions(kept(revision)), check) == {}


@every_revision
def test_a_model_that_is_an_arm_is_taken_as_it_is(revision: str) -> None:
    def check(pair: Pair) -> None:
        built = model(revision, pair[1])(**smallest_of(revision, *pair))
        assert adapter(revision, pair[0]).validate_python(built) is built

    assert failures(arms_of_unions(kept(revision)), check) == {}


@every_revision
def test_an_arm_is_written_without_a_warning(revision: str) -> None:
    def check(pair: Pair) -> None:
        built = model(revision, pair[1])(**smallest_of(revision, *pair))
        written = adapter(revision, pair[0]).dump_python(built, by_alias=True, exclude_none=True)
        assert written == built.model_dump(by_alias=True, exclude_none=True)

    assert failures(arms_of_unions(kept(revision)), check) == {}


@pytest.mark.parametrize(
    ("block", "place", "problem"),
    [
        ({"type": "text", "text": 1}, ("TextContent", "text"), "Input should be a valid string"),
        ({"type": "text"}, ("TextContent", "text"), "Field required"),
        (
            {"type": "resource", "resource": {"uri": "a"}},
            ("EmbeddedResource", "resource"),
            "Input should be one of TextResourceContents, BlobResourceContents",
        ),
        (
            {"type": "resource", "resource": {"uri": "a", "text": 1}},
            ("EmbeddedResource", "resource", "TextResourceContents", "text"),
            "Input should be a valid string",
        ),
    ],
)
def test_an_error_in_an_arm_is_about_that_arm_alone(
    block: Any, place: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        model("2025-06-18", "CallToolResult")(content=[block])
    (error,) = caught.value.errors()
    assert (error["loc"], error["msg"]) == (("content", 0, *place), problem)


@every_revision
@pytest.mark.parametrize("block", [{}, {"type": 1}, {"type": None}, 1, [], "text"])
def test_what_says_no_kind_is_no_block(revision: str, block: Any) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        model(revision, "CallToolResult")(content=[block])
    (error,) = caught.value.errors()
    assert (error["loc"], error["msg"].partition(" TextContent")[0]) == (
        ("content", 0),
        "Input should be one of",
    )


# --- Content of kinds that a revision lacks ---


@every_revision
def test_an_unknown_block_in_a_model_says_its_kind_and_content(revision: str) -> None:
    result = model(revision, "CallToolResult")(content=[{"type": "hologram", "x": 1}])
    (block,) = result.model_dump()["content"]
    assert block == {"type": "hologram", "x": 1}


@every_revision
def test_an_unknown_block_comes_back_from_a_model_byte_for_byte(revision: str) -> None:
    for name, data in places(kept(revision)):
        value = decode(kept(revision).named(name), data)
        assert from_pydantic(to_pydantic(value)) == value, name


@every_revision
def test_a_model_reads_an_unknown_block_wherever_it_stands(revision: str) -> None:
    for name, data in places(kept(revision)):
        again = encode(from_pydantic(model(revision, name).model_validate_json(data)))
        assert text(json.loads(again)) == text(json.loads(data)), name


def test_an_unknown_block_is_taken_as_it_is() -> None:
    block = UnknownContent("hologram", b'{"type": "hologram"}')
    result = model("2025-06-18", "CallToolResult")(content=[block])
    assert encode(from_pydantic(result)) == b'{"content":[{"type": "hologram"}]}'


# --- round trip ---


def structs(there: Kept) -> Iterator[tuple[str, Wire]]:
    """Return values of every struct: the smallest, and some from instances of the kept schema."""
    for name in there.model.structs:
        yield name, decode(there.named(name), json.dumps(there.minimal(name)).encode())
    for name in there.model.structs.keys() & there.definitions.keys():
        for seed in range(5):
            value = there.instance(name, random.Random(f"{name} {seed}").choice)
            yield name, decode(there.named(name), json.dumps(value).encode())


@every_revision
def test_a_wire_type_comes_back_from_its_model_equal(revision: str) -> None:
    for name, value in structs(kept(revision)):
        made = to_pydantic(value)
        assert type(made) is model(revision, name)
        again = from_pydantic(made)
        assert type(again) is type(value)
        assert encode(again) == encode(value), name


@every_revision
def test_a_model_comes_back_from_its_wire_type_equal(revision: str) -> None:
    for name, value in structs(kept(revision)):
        made = model(revision, name).model_validate_json(encode(value))
        assert to_pydantic(from_pydantic(made)) == made, name


@every_revision
def test_null_that_is_data_comes_back_and_null_that_is_not_is_left_out(revision: str) -> None:
    there = kept(revision)
    for struct in there.model.structs.values():
        for field in struct.fields:
            minimal = there.minimal(struct.name)
            value = {**minimal, field.wire: None}
            if field.absent in ("none", "unset"):
                made = model(revision, struct.name).model_validate(value)
                wanted = value if field.absent == "unset" else minimal
                place = f"{struct.name}/{field.wire}"
                assert text(json.loads(encode(from_pydantic(made)))) == text(wanted), place


def test_data_that_nobody_gave_is_absent() -> None:
    error = model(mcp_wire.LATEST, "Error")(code=1, message="")
    assert encode(from_pydantic(error)) == b'{"code":1,"message":""}'


def test_a_class_that_extends_a_model_becomes_the_model_s_wire_type() -> None:
    text_content: Any = model("2025-06-18", "TextContent")

    class Note(text_content):
        """Text block with an additional method."""

    result = model("2025-06-18", "CallToolResult")(content=[Note(text="a")])
    assert encode(from_pydantic(result)) == b'{"content":[{"type":"text","text":"a"}]}'


def test_a_class_that_adds_a_field_to_a_model_is_refused() -> None:
    text_content: Any = model("2025-06-18", "TextContent")

    class Note(text_content):
        author: str

    with pytest.raises(TypeError) as caught:
        from_pydantic(Note(text="a", author="b"))
    assert str(caught.value).endswith(
        "Note adds `author`, which mcp_wire.v2025_06_18.types.TextContent cannot hold"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": 1}, "Tool of 2025-06-18: Expected `str`, got `int` - at `$.name`"),
        (
            {"annotations": {"title": 1}},
            "Tool of 2025-06-18: Expected `str | null`, got `int` - at `$.annotations.title`",
        ),
        (
            {"input_schema": {"a": [object()]}},
            "Tool of 2025-06-18: expected a JSON value, got object - at `$.inputSchema.a[0]`",
        ),
        (
            {"input_schema": {"a": {1: 2}}},
            "Tool of 2025-06-18: expected a JSON value, got int - at `$.inputSchema.a`",
        ),
        (
            {"input_schema": {"a": float("nan")}},
            "Tool of 2025-06-18: expected a JSON value, got nan - at `$.inputSchema.a`",
        ),
    ],
)
def test_a_model_that_its_wire_type_cannot_hold_is_refused_with_type_and_path(
    change: dict[str, Any], problem: str
) -> None:
    tool = model("2025-06-18", "Tool")(name="add", input_schema={})
    for name, value in change.items():
        setattr(tool, name, value)
    with pytest.raises(msgspec.ValidationError) as caught:
        from_pydantic(tool)
    assert str(caught.value) == problem


@every_revision
def test_keys_that_a_capability_does_not_name_come_back(revision: str) -> None:
    value = {"sampling": {}, "com.example/other": {"a": [None]}}
    wire = decode(kept(revision).named("ClientCapabilities"), json.dumps(value).encode())
    assert json.loads(encode(wire)) == value
    assert to_pydantic(wire).model_extra == {"com.example/other": {"a": [None]}}
    assert from_pydantic(to_pydantic(wire)) == wire


@pytest.mark.parametrize(
    "extra", [{"x" * 129: 1}, {'"': 1}, {str(number): number for number in range(70)}]
)
def test_a_key_that_the_wire_type_cannot_keep_is_dropped_by_both(extra: dict[str, Any]) -> None:
    data = json.dumps({"sampling": {}, **extra}).encode()
    wire: Any = decode(kept(mcp_wire.LATEST).named("ClientCapabilities"), data)
    read = model(mcp_wire.LATEST, "ClientCapabilities").model_validate_json(data)
    assert len(wire.extra) < len(extra)
    assert read.model_extra == wire.extra


def test_a_number_that_json_lacks_is_refused_in_a_key_that_is_kept() -> None:
    with pytest.raises(pydantic.ValidationError, match="finite number"):
        model(mcp_wire.LATEST, "ClientCapabilities")(other=float("nan"))


def test_a_key_that_only_a_user_s_class_keeps_is_refused_with_type_and_path() -> None:
    annotations: Any = model("2025-06-18", "ToolAnnotations")

    class Open(annotations):
        model_config = pydantic.ConfigDict(extra="allow")

    tool = model("2025-06-18", "Tool")(name="add", input_schema={}, annotations=Open(x=1))
    with pytest.raises(msgspec.ValidationError) as caught:
        from_pydantic(tool)
    assert str(caught.value) == "ToolAnnotations of 2025-06-18: no key `x` - at `$.annotations`"


def test_a_wire_type_that_breaks_its_own_type_is_refused_with_model_and_path() -> None:
    types = mcp_wire.types("2025-06-18")
    tool = types.Tool(name="add", input_schema={}, annotations=types.ToolAnnotations(title=1))
    with pytest.raises(pydantic.ValidationError) as caught:
        to_pydantic(tool)
    assert (caught.value.title, [error["loc"] for error in caught.value.errors()]) == (
        "Tool",
        [("annotations", "title")],
    )


def test_a_wire_type_that_holds_what_is_no_json_is_refused_with_its_type() -> None:
    tool = mcp_wire.types("2025-06-18").Tool(name="add", input_schema={"a": object()})
    with pytest.raises(TypeError, match=r"^Tool of 2025-06-18: .*\bobject\b"):
        to_pydantic(tool)


def test_a_type_that_is_not_wholly_decoded_has_no_model() -> None:
    raw = mcp_wire.types("2025-06-18").RawCallToolRequestParams(name="add")
    with pytest.raises(TypeError, match=r"\.RawCallToolRequestParams has no pydantic model$"):
        to_pydantic(raw)


@pytest.mark.parametrize("value", [None, 1, {}, object()])
def test_what_is_no_wire_type_has_no_model(value: Any) -> None:
    with pytest.raises(TypeError, match=r"has no pydantic model$"):
        to_pydantic(value)


@pytest.mark.parametrize("value", [None, 1, {}, WireModel()])
def test_what_is_no_model_has_no_wire_type(value: Any) -> None:
    with pytest.raises(TypeError, match=r"is no model of a wire type$"):
        from_pydantic(value)


# --- Imports ---


@pytest.mark.parametrize(
    "statement",
    [
        "import mcp_wire.common, mcp_wire.handlers, mcp_wire.hooks, mcp_wire.latest",
        "import mcp_wire; [mcp_wire.profile(one) for one in mcp_wire.REVISIONS]",
        "import mcp_wire.extensions.tasks, mcp_wire.extensions.ui",
        "import mcp_gen, mcp_gen.types, mcp_gen.server, mcp_gen.client",
    ],
)
def test_nothing_imports_pydantic_by_itself(statement: str) -> None:
    roots = {name.partition(".")[0] for name in imported_by(statement)}
    assert "mcp_wire" in roots
    assert "pydantic" not in roots


def test_no_source_outside_the_package_names_it() -> None:
    import mcp_gen

    packages = [Path(str(one.__file__)).parent for one in (mcp_gen, mcp_wire)]
    naming = [
        path.name
        for package in packages
        for path in package.rglob("*.py")
        if "mcp_wire.pydantic" in path.read_text("utf-8")
        and "pydantic" not in path.relative_to(package).parts
    ]
    assert naming == []


def test_the_package_imports_no_revision() -> None:
    modules = imported_by("import mcp_wire.pydantic")
    assert "mcp_wire.pydantic.base" in modules
    assert (revisions_in(modules), models_in(modules)) == (set(), set())


def models_in(modules: Set[str]) -> set[str]:
    """Return the revisions whose models are among these."""
    return {revision for revision in mcp_wire.REVISIONS if models(revision).__name__ in modules}


@pytest.mark.parametrize(
    "statement",
    [
        "import mcp_wire.pydantic.v2025_03_26",
        "import mcp_wire.pydantic; mcp_wire.pydantic.v2025_03_26",
        "import mcp_wire.pydantic as p; p.models('2025-03-26')",
        "from mcp_wire.v2025_03_26 import Root; import mcp_wire.pydantic as p; "
        "p.to_pydantic(Root(uri='a'))",
    ],
)
def test_one_revision_of_models_imports_no_other(statement: str) -> None:
    modules = imported_by(statement)
    assert (revisions_in(modules), models_in(modules)) == ({"2025-03-26"}, {"2025-03-26"})


def test_models_of_an_extension_import_its_own_revision_and_no_other() -> None:
    modules = imported_by("import mcp_wire.pydantic.extensions.tasks")
    assert (revisions_in(modules), models_in(modules)) == ({"2026-07-28"}, {"2026-07-28"})


def test_a_revision_without_models_is_refused_with_those_there_are() -> None:
    with pytest.raises(LookupError, match=r"^no revision '2023-01-01'; there are 2024-11-05, "):
        models("2023-01-01")


def test_a_module_without_a_revision_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'v2023_01_01'"):
        _ = mcp_wire.pydantic.v2023_01_01


@pytest.mark.parametrize("module", ["mcp_wire.pydantic", "mcp_wire.pydantic.v2025_03_26"])
def test_without_pydantic_an_import_says_what_to_install(module: str) -> None:
    program = f"import sys; sys.modules['pydantic'] = None; import {module}"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: mcp_wire.pydantic needs pydantic: pip install 'mcp-gen[pydantic]'"
    )
