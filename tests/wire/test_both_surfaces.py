"""Both surfaces agree: what a wire type reads, its pydantic model reads, with equal JSON."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from random import Random
from types import MappingProxyType, ModuleType
from typing import Any

import msgspec
import pydantic
import pytest
from pydantic import TypeAdapter

import mcp_wire
from codegen.extensions.read import extension_folders, read_extension
from codegen.model import ir
from codegen.model.overlay import Overlay
from codegen.verify.instances import instance
from mcp_wire import UnknownContent, Wire, decode, encode
from mcp_wire.pydantic import WireModel, from_pydantic, to_pydantic
from tests.random_changes import changed
from tests.support.checks.failures import failures
from tests.wire.revisions import SCHEMAS, every_revision, kept, smallest, text

FEW, MANY = 20, 600
"""Number of values per definition: in every run, and with `--full`."""

BOUNDS = {"greater_than_equal", "less_than_equal", "too_long"}
"""Errors of models alone: bounds of the schema, which wire types leave to documentation."""

EXTENSIONS = [folder.name for folder in extension_folders(SCHEMAS.parent)]

every_module = pytest.mark.parametrize(
    "module",
    [
        *(
            mcp_wire.types(revision).__name__.removeprefix("mcp_wire.")
            for revision in mcp_wire.REVISIONS
        ),
        *(f"extensions.{name}" for name in EXTENSIONS),
    ],
)


@pytest.fixture(scope="module", name="count")
def _count(pytestconfig: pytest.Config) -> int:
    return MANY if pytestconfig.getoption("full") else FEW


class Surfaces:
    """The wire types of one revision or extension, and their models."""

    def __init__(self, module: str) -> None:
        own, whole = model_of(module)
        self.module = module
        self.document = {"$defs": whole.normalized}
        self.types = import_module(f"mcp_wire.{module}.types")
        self.models = import_module(f"mcp_wire.pydantic.{module}")
        self.names = [name for name in own.normalized if name not in self.types.NOT_DECODED]
        fields = [field for struct in whole.structs.values() for field in struct.fields]
        self.keys = ["com.example/extra", *sorted({n for f in fields for n in (f.wire, f.name)})]
        """Keys and attribute names of all types, and a key that no type has."""

    def written(self, name: str, random: Random) -> bytes:
        """Return JSON of a type, or up to three changes away from it."""
        value = instance(self.document, self.document["$defs"][name], random.choice)
        for _ in range(random.choice([0, 1, 1, 2, 3])):
            value = changed(value, self.keys, random)
        return json.dumps(value).encode()

    def as_wire(self, name: str, data: bytes) -> Any:
        return read_as_wire(getattr(self.types, name), data)

    def as_model(self, name: str, data: bytes) -> Any:
        return read_as_model(adapter(self.models.__name__, name), data)


@cache
def surfaces(module: str) -> Surfaces:
    return Surfaces(module)


def model_of(module: str) -> tuple[ir.Revision, ir.Revision]:
    """Return the generator's model of a module, and the one with all types that it refers to."""
    home, _, name = module.rpartition(".")
    if home == "extensions":
        overlay = Overlay(SCHEMAS / "overlay.toml")
        extension = read_extension(SCHEMAS / home / name, SCHEMAS.parent, overlay, name)
        return extension.own, extension.whole
    model = kept(module.removeprefix("v").replace("_", "-")).model
    return model, model


@cache
def adapter(module: str, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(import_module(module), name))


REFUSED, BOUND = object(), object()


def read_as_wire(kind: Any, data: bytes) -> Any:
    try:
        return decode(kind, data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return REFUSED


def read_as_model(reads: TypeAdapter[Any], data: bytes) -> Any:
    """Read JSON by the keys of the wire; BOUND if nothing but a bound is broken."""
    try:
        return reads.validate_json(data, by_alias=True, by_name=False)
    except pydantic.ValidationError as caught:
        return BOUND if {error["type"] for error in caught.errors()} <= BOUNDS else REFUSED


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


# --- Random values ---


@every_module
def test_a_model_reads_and_writes_what_its_wire_type_does(module: str, count: int) -> None:
    there = surfaces(module)

    def check(name: str) -> None:
        for number in range(count):
            data = there.written(name, Random(f"{module} {name} {number}"))
            wire, model = there.as_wire(name, data), there.as_model(name, data)
            assert (wire is REFUSED) == (model is REFUSED), data
            if wire is not REFUSED and model is not BOUND:
                assert text(json.loads(encode(wired(model)))) == text(json.loads(encode(wire))), (
                    data
                )

    assert failures(there.names, check) == {}


@every_module
def test_what_was_read_by_either_is_equal_to_the_other_converted(module: str, count: int) -> None:
    there = surfaces(module)

    def check(name: str) -> None:
        for number in range(count):
            data = there.written(name, Random(f"{module} {name} {number}"))
            wire, model = there.as_wire(name, data), there.as_model(name, data)
            if isinstance(wire, Wire) and model is not BOUND and comes_back(wire):
                assert from_pydantic(model) == wire, data
                assert to_pydantic(wire) == model, data

    assert failures(there.names, check) == {}


def comes_back(wire: Wire) -> bool:
    """Return True if a value's own JSON gives it back, and so a model of that JSON can.

    A block of an unknown kind keeps bytes that a model has as JSON; an arm that was picked by a key
    with null is another one without it.
    """
    return "UnknownContent(" not in repr(wire) and decode(type(wire), encode(wire)) == wire


@every_module
def test_random_values_are_accepted_and_refused(module: str) -> None:
    there = surfaces(module)
    read = [
        there.as_wire(name, there.written(name, Random(f"{module} {name} {number}"))) is REFUSED
        for name in there.names
        for number in range(FEW)
    ]
    assert 0.1 < sum(read) / len(read) < 0.9


@pytest.mark.parametrize("name", ["tasks", "ui"])
def test_models_of_an_extension_have_the_names_of_its_wire_types(name: str) -> None:
    there = surfaces(f"extensions.{name}")
    assert set(there.models.__all__) == set(there.types.__all__)


def test_models_of_an_extension_use_those_of_the_revision() -> None:
    there = surfaces("extensions.tasks").models
    assert there.Error is import_module("mcp_wire.pydantic.v2026_07_28").Error


def test_an_error_of_an_extension_s_model_names_the_extension() -> None:
    task: Any = surfaces("extensions.tasks").models.WorkingTask
    made = task(task_id="1", created_at="", last_updated_at="")
    made.task_id = 1
    with pytest.raises(msgspec.ValidationError, match=r"^WorkingTask of io\.modelcontextprotocol/"):
        from_pydantic(made)


# --- Docstrings ---


@every_module
def test_types_fields_and_aliases_have_the_docstrings_of_the_wire_types(module: str) -> None:
    there = surfaces(module)
    own = model_of(module)[0]
    wire = {
        place: docstring
        for place, docstring in docstrings(there.types).items()
        if place.partition(".")[0] in own.structs.keys() | own.aliases.keys()
    }
    assert len(wire) > len(own.structs)
    # An attribute that pydantic has too is called otherwise, with `_` at its end.
    models = {place.removesuffix("_"): text for place, text in docstrings(there.models).items()}
    assert models == wire


def docstrings(module: ModuleType) -> dict[str, str]:
    """Return the docstrings of a module by `Name` and `Class.field`, as its source has them."""
    found: dict[str, str] = {}

    def look(nodes: list[ast.stmt], prefix: str) -> None:
        for node, following in zip(nodes, [*nodes[1:], None], strict=True):
            match node:
                case ast.ClassDef(name=name):
                    found[name] = ast.get_docstring(node) or ""
                    look(node.body, f"{name}.")
                case ast.If():
                    look(node.body, prefix)
                case (
                    ast.AnnAssign(target=ast.Name(id=name))
                    | ast.Assign(targets=[ast.Name(id=name)])
                ):
                    match following:
                        case ast.Expr(value=ast.Constant(value=str(text))):
                            found[f"{prefix}{name}"] = inspect.cleandoc(text)
                        case _:
                            pass
                case _:
                    pass

    look(ast.parse(inspect.getsource(module)).body, "")
    return {name: text for name, text in found.items() if text}


# --- Scalars alone ---


@every_revision
@pytest.mark.parametrize("value", [True, 1, 1.0, "1", "user", b"user", None, ["1"], {"1": "1"}])
def test_an_alias_alone_takes_what_its_wire_type_takes(revision: str, value: Any) -> None:
    module = mcp_wire.types(revision).__name__.removeprefix("mcp_wire.")
    there, model = surfaces(module), kept(revision).model
    unlike = [
        alias.name
        for alias in model.scalars
        if converts(getattr(there.types, alias.name), value)
        != validates(adapter(there.models.__name__, alias.name), value)
    ]
    assert unlike == []


def converts(kind: Any, value: Any) -> bool:
    try:
        msgspec.convert(value, kind, builtin_types=(bytes, bytearray))
    except msgspec.ValidationError:
        return False
    return True


def validates(reads: TypeAdapter[Any], value: Any) -> bool:
    try:
        reads.validate_python(value)
    except pydantic.ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "value"), [("JSONArray", ("a",)), ("JSONObject", MappingProxyType({"a": "b"}))]
)
def test_an_alias_alone_takes_lists_and_dicts_of_python_and_nothing_like_them(
    name: str, value: Any
) -> None:
    reads = adapter("mcp_wire.pydantic.v2026_07_28", name)
    plain = list(value) if isinstance(value, tuple) else dict(value)
    assert (validates(reads, plain), validates(reads, value)) == (True, False)


# --- Numbers that JSON lacks ---

NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400"]

PLACES = [
    ("Annotations", '{"priority":%s}'),
    ("TextContent", '{"type":"text","text":"","_meta":{"a":[{"b":%s}]}}'),
    ("Tool", '{"name":"","inputSchema":{"default":%s}}'),
    ("MetaObject", '{"a":%s}'),
    ("JSONValue", "%s"),
    ("JSONArray", "[%s]"),
    ("InputResponses", '{"a":{"action":"accept","content":{"b":%s}}}'),
]


@pytest.mark.parametrize("number", NO_NUMBERS)
@pytest.mark.parametrize(("name", "place"), PLACES)
def test_a_number_that_json_lacks_is_refused_by_both(name: str, place: str, number: str) -> None:
    there = surfaces("v2026_07_28")
    assert there.as_wire(name, (place % 1).encode()) is not REFUSED
    data = (place % number).encode()
    assert (there.as_wire(name, data), there.as_model(name, data)) == (REFUSED, REFUSED)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("value", ["%r", "[%r]", "(%r, 1)", "{'a': %r}"])
def test_a_number_that_json_lacks_is_refused_in_python_values_too(
    value: str, number: float
) -> None:
    made = eval(value % number, {"nan": float("nan"), "inf": float("inf")})
    tool = surfaces("v2026_07_28").models.Tool
    with pytest.raises(pydantic.ValidationError, match="finite number"):
        tool(name="", input_schema={"default": made})


# --- Where they differ: `mcp_wire.pydantic` says so ---


def verdicts(name: str, data: str) -> tuple[Any, Any]:
    there = surfaces("v2025_06_18")
    return there.as_wire(name, data.encode()), there.as_model(name, data.encode())


@every_module
def test_the_last_of_two_tags_counts_for_a_model_and_a_wire_type_refuses_them(module: str) -> None:
    there = surfaces(module)
    unlike = {
        (union, first, arm): read
        for union, first, arm, data in with_two_tags(there)
        for name in (union, arm)
        if (read := (there.as_wire(name, data), type(there.as_model(name, data)).__name__))
        != (REFUSED, arm)
    }
    assert unlike == {}


def with_two_tags(there: Surfaces) -> Iterator[tuple[str, str, str, bytes]]:
    """Yield JSON of each arm of each union, with another arm's tag and an unknown one before it."""
    own, whole = model_of(there.module)
    for union in own.aliases.values():
        if union.strategy == "tag" and union.name in there.names:
            arms = [whole.structs[name] for name in ir.arm_names(union.type)]
            tags = [arm.tag for arm in arms if arm.tag]
            for arm, tag in zip(arms, tags, strict=True):
                schema = there.document["$defs"][arm.name]
                value = {**instance(there.document, schema, smallest), tag.wire: tag.value}
                for first in ["hologram", *(one.value for one in tags if one != tag)]:
                    both = f'{{"{tag.wire}":"{first}",{json.dumps(value)[1:]}'
                    yield union.name, first, arm.name, both.encode()


def test_there_are_unions_in_which_two_tags_are_tried() -> None:
    unions = {union for union, *_ in with_two_tags(surfaces("v2025_11_25"))}
    assert {"ContentBlock", "CompletionReference", "ClientRequest"} <= unions


def test_a_tag_given_twice_with_one_value_is_read_by_both() -> None:
    wire, model = verdicts("ContentBlock", '{"type":"text","type":"text","text":"a"}')
    assert wired(model) == wire


def test_the_last_of_two_tags_is_the_kind_of_an_unknown_block_for_both() -> None:
    wire, model = verdicts("ContentBlock", '{"type":"text","type":"hologram","text":"a"}')
    assert (wire.type, model.type) == ("hologram", "hologram")


def test_a_wire_type_checks_both_values_of_a_key_and_a_model_the_last() -> None:
    wire, model = verdicts("TextContent", '{"type":"text","text":1,"text":"a"}')
    assert (wire, model.text) == (REFUSED, "a")


def test_the_last_value_of_a_key_counts_for_both() -> None:
    wire, model = verdicts("TextContent", '{"type":"text","text":"a","text":"b"}')
    assert (wire.text, model.text) == ("b", "b")


def test_a_model_does_not_look_into_what_it_drops() -> None:
    wire, model = verdicts("TextContent", '{"type":"text","text":"a","com.example/extra":NaN}')
    assert (wire, model.text) == (REFUSED, "a")


def test_a_model_refuses_deeper_json_than_a_wire_type() -> None:
    deep = "[" * 250 + "]" * 250
    wire, model = verdicts("TextContent", f'{{"type":"text","text":"a","_meta":{{"a":{deep}}}}}')
    assert (wire.text, model) == ("a", REFUSED)


@pytest.mark.parametrize(("number", "kept"), [("NaN", False), ("1e400", True)])
def test_a_number_beyond_floats_is_kept_in_an_unknown_block_by_a_wire_type_alone(
    number: str, kept: bool
) -> None:
    wire, model = verdicts("ContentBlock", f'{{"type":"hologram","size":{number}}}')
    assert (wire is not REFUSED, model) == (kept, REFUSED)


def test_an_unknown_block_in_json_text_is_kept_as_json_by_a_model() -> None:
    wire, model = verdicts("ContentBlock", '{"type": "hologram"}')
    assert (wire.raw, model.raw) == (b'{"type": "hologram"}', b'{"type":"hologram"}')
    assert isinstance(model, UnknownContent)
