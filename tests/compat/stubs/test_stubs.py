"""Stubs: the functions and classes of a typed client, and hostile servers that stay data."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_gen import Client, InvalidResult, Server, ToolError
from mcp_gen.compat.stubs.offer import (
    OfferedPrompt,
    OfferedPromptArgument,
    OfferedStub,
    ServerOffer,
    read_offer,
)
from mcp_gen.compat.stubs.python_module import Models, module_text
from mcp_gen.compat.stubs.schema_types import SchemaTypes
from mcp_gen.compat.stubs.staleness import changed_names
from tests.compat.stubs.made import RecordingSession, loaded, strange_code
from tests.support.property_tests import given, settings, st

MODELS: tuple[Models, ...] = ("msgspec", "pydantic")
both_models = pytest.mark.parametrize("models", MODELS)

HOSTILE = (
    '"""\nimport os\nos.system("echo planted")\n"""',
    "x: int) -> None: ...\nimport os",
    'a\\"; import os; "',
    "\\",
    '"',
    "'''",
    "#\n__import__('os')",
    "class",
    "None",
    "import",
    "list",
    "str",
    "session",
    "arguments",
    "ClientSession",
    "__init__",
    "__class__",
    "_JSON",
    "model_config",
    "self",
    "2fa",
    "",
    "\n",
    "\u202e evil \u2066",
    "\ud800",
    "é̀ß",
    "{0}{x}%s$",
    "a" * 300,
    "# noqa",
    "type: ignore",
)


def tool(arguments: Any, result: Any = None, name: str = "use") -> ServerOffer:
    return ServerOffer("shelf", (OfferedStub(name, "", arguments, result),))


def properties(**schemas: Any) -> dict[str, Any]:
    return {"type": "object", "properties": schemas, "required": list(schemas)}


def types_of(schema: Any, models: Models = "msgspec") -> dict[str, str]:
    """Return the annotations of the arguments of a tool, by their names."""
    with loaded(tool(schema), models) as made:
        found: dict[str, str] = made.use.__annotations__
    return {name: one for name, one in found.items() if name not in ("session", "return")}


TYPES: list[tuple[Any, str]] = [
    ({"type": "string"}, "str"),
    ({"type": "number"}, "float"),
    ({"type": ["string", "null"]}, "str | None"),
    ({"enum": ["a", "b", 1]}, "Literal['a', 'b'] | Literal[1]"),
    ({"enum": [True, None]}, "bool | None"),
    ({"enum": [[1]]}, "Any"),
    ({"const": "a"}, "Literal['a']"),
    ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
    ({"type": "array", "prefixItems": []}, "list[Any]"),
    ({"type": "object"}, "dict[str, Any]"),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
    ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "float"),
    ({"anyOf": [{"const": "a"}, {"type": "string"}]}, "str"),
    ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "Literal['a', 'b']"),
    ({"anyOf": [{"type": "array"}, {"type": "array", "items": {}}]}, "list[Any]"),
    ({"anyOf": [{"type": "string"}, {}]}, "Any"),
    ({"anyOf": []}, "Any"),
    ({"$ref": "#/$defs/Nothing"}, "Any"),
    ({"$ref": "https://example.org/schema"}, "Any"),
    ({"type": "no such type"}, "Any"),
    (True, "Any"),
    ({"allOf": [{"type": "string"}], "description": "d"}, "str"),
    (properties(a={"type": "string"}), "UseX"),
    ({"allOf": [properties(a={}), properties(b={})]}, "UseX"),
]


@pytest.mark.parametrize(("schema", "expected"), TYPES)
def test_a_schema_has_the_type_that_says_the_same(schema: Any, expected: str) -> None:
    assert types_of(properties(x=schema)) == {"x": expected}


def test_classes_that_would_have_one_name_are_numbered_from_2_on() -> None:
    taken = SchemaTypes({"UseX"}, unites_structs=True)
    assert [taken.name("use/x") for _ in range(3)] == ["UseX2", "UseX3", "UseX4"]


@both_models
def test_arguments_are_keywords_and_those_that_are_not_given_are_not_sent(models: Models) -> None:
    schema = {
        "type": "object",
        "properties": {
            "fileName": {"type": "string"},
            "class": {"type": "integer"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"oldText": {"type": "string"}, "note": {"type": "string"}},
                    "required": ["oldText"],
                },
            },
        },
        "required": ["fileName", "edits"],
    }
    session = RecordingSession()
    with loaded(tool(schema), models) as made:
        parameters = list(inspect.signature(made.use).parameters)
        edit = made.UseEditsItem(old_text="a")
        asyncio.run(made.use(session, file_name="x", edits=[edit]))
        asyncio.run(made.use(session, file_name="x", edits=[], class_=1))
    assert parameters == ["session", "file_name", "edits", "class_"]
    sent = [msgspec.to_builtins(arguments) for _, arguments in session.called]
    assert sent == [
        {"fileName": "x", "edits": [{"oldText": "a"}]},
        {"fileName": "x", "edits": [], "class": 1},
    ]


@both_models
def test_schemas_that_refer_to_themselves_are_classes_that_do(models: Models) -> None:
    node = properties(children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    schema = {**properties(node={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}
    with loaded(tool({}, schema), models) as made:
        root: dict[str, Any] = {"node": {"children": [{"children": []}]}}
        kind = made.UseResult
        read = msgspec.convert(root, kind) if models == "msgspec" else kind.model_validate(root)
    assert type(read.node.children[0]) is type(read.node)


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$defs": {"a": {"$ref": "#/$defs/a"}}}])
def test_schemas_that_refer_to_nothing_but_themselves_are_any_json(schema: Any) -> None:
    root = {**properties(x={"$ref": "#/$defs/a"}), **schema}
    assert types_of(root)["x"] == "Any"


class Found(msgspec.Struct, rename="camel"):
    item_name: str
    number: int | None = None


def server() -> Server:
    made = Server("shelf", "1.0.0")

    @made.tool
    def find(item: str, shelf: int = 1) -> Found:
        """Find an item.

        Args:
            item: Name of the item, in the singular.
        """
        if item == "nothing":
            raise ToolError("no such item")
        return Found(item, shelf)

    @made.tool(output_schema={"type": "object", "properties": {"a": {"type": "string"}}})
    def lie() -> dict[str, Any]:
        return {"a": "b"}

    @made.prompt
    def order(item: str, note: str = "none") -> str:
        """Ask for an order."""
        return f"Order {item} ({note})."

    return made


@both_models
def test_a_typed_client_of_a_live_server_is_called(models: Models) -> None:
    async def run() -> None:
        async with Client("test") as client:
            session = await client.connect(server())
            offer = await read_offer(session)
            with loaded(offer, models) as made:
                found = await made.find(session, item="bolt")
                assert type(found) is made.FindResult
                assert (found.item_name, found.number) == ("bolt", 1)
                with pytest.raises(ToolError, match="no such item"):
                    await made.find(session, item="nothing")
                prompt = await made.get_order_prompt(session, item="bolts")
                assert "Order bolts (none)." in str(prompt)
                doc = inspect.getdoc(made.find) or ""
                assert doc.startswith("Find an item.\n")
                assert "item: Name of the item, in the singular." in doc
                assert "shelf: Default: 1." in doc

    asyncio.run(run())


def test_a_result_that_is_not_as_the_stub_says_is_an_error() -> None:
    lying = tool({}, properties(a={"type": "integer"}), "lie")

    async def run() -> None:
        async with Client("test") as client:
            session = await client.connect(server())
            with loaded(lying) as made, pytest.raises(InvalidResult):
                await made.lie(session)

    asyncio.run(run())


# --- hostile servers ---


def hostile_offer(texts: tuple[str, ...]) -> ServerOffer:
    """Return an offer in which each text stands in every place."""
    said = {"enum": [*texts], "description": texts[0], "default": texts[0]}
    wires = dict.fromkeys(texts, said)
    inner = {**properties(**wires), "description": texts[0], "title": texts[0]}
    schema = properties(**wires, inner=inner, wide={"$ref": f"#/$defs/{texts[0]}"})
    whole = {**schema, "required": [*texts], "$defs": {texts[0]: inner}}
    arguments = tuple(OfferedPromptArgument(one, one, True) for one in texts)
    return ServerOffer(
        texts[0],
        tuple(OfferedStub(one, one, whole, whole) for one in texts),
        tuple(OfferedPrompt(one, one, arguments) for one in texts),
    )


OF_CLASSES = tuple(one for one in HOSTILE if one.isprintable() and not {*one} & {"\\", '"'})
"""Texts that can be names of fields; an object with any other is no class."""


@both_models
@pytest.mark.parametrize("texts", [HOSTILE, OF_CLASSES])
def test_hostile_names_and_descriptions_are_data(texts: tuple[str, ...], models: Models) -> None:
    offer = hostile_offer(texts)
    text = module_text(offer, models)
    assert strange_code(text) == []
    assert text.count("\nclass ") == (0 if texts is HOSTILE else 5 * len(texts))
    session = RecordingSession()
    with loaded(offer, models) as made:
        for function in vars(made).values():
            if inspect.iscoroutinefunction(function):
                given = list(inspect.signature(function).parameters)[1:]
                asyncio.run(function(session, **dict.fromkeys(given, "x")))
    called = {name for name, *_ in session.called}
    assert called == set(texts), "each under its own name"
    for _, arguments in session.called:
        assert set(texts) <= arguments.keys()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_module_without_line_ends_of_a_server_has_those_of_its_own(text: str) -> None:
    made = module_text(hostile_offer((text, "other")))
    assert all(line.isprintable() for line in made.split("\n"))


JSON_SCHEMAS = st.recursive(
    st.one_of(
        st.sampled_from(
            [
                {"type": "string"},
                {"type": "integer"},
                {"type": "boolean"},
                {"type": "null"},
                {"type": "array"},
                {"enum": ["a", 1, None]},
                {"const": "b"},
                {"$ref": "#"},
                {"$ref": "#/$defs/a"},
                True,
                {},
            ]
        ),
        st.text(max_size=8).map(lambda text: {"enum": [text], "description": text}),
    ),
    lambda inner: st.one_of(
        st.dictionaries(st.text(max_size=8), inner, max_size=3).map(
            lambda found: {"type": "object", "properties": found, "required": [*found][:1]}
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda found: {"anyOf": found}),
        st.lists(inner, min_size=1, max_size=2).map(lambda found: {"allOf": found}),
        inner.map(lambda found: {"type": "array", "items": found}),
        inner.map(lambda found: {"type": "object", "additionalProperties": found}),
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.text(max_size=12), JSON_SCHEMAS, JSON_SCHEMAS)
def test_a_module_of_any_schema_loads_and_each_of_its_classes_can_be_read(
    name: str, arguments: Any, result: Any
) -> None:
    schema = {"type": "object", "properties": {name: arguments}, "$defs": {"a": result}}
    offer = tool(schema, {"type": "object", "properties": {name: result}}, name)
    assert strange_code(module_text(offer)) == []
    with loaded(offer) as made:
        for kind in vars(made).values():
            if (
                inspect.isclass(kind)
                and issubclass(kind, msgspec.Struct)
                and kind is not msgspec.Struct
            ):
                msgspec.json.encode(msgspec.json.schema(kind))
                msgspec.json.Decoder(kind)


# --- staleness ---


def test_a_module_is_stale_by_the_names_that_differ() -> None:
    before = module_text(tool(properties(a={"type": "string"}), name="one"))
    both = ServerOffer(
        "shelf",
        (
            OfferedStub("one", "", properties(a={"type": "integer"})),
            OfferedStub("two", "", properties()),
        ),
    )
    assert changed_names(before, before) == []
    assert changed_names(before, module_text(both)) == ["changed one", "new two"]
    assert changed_names(module_text(both), before) == ["changed one", "gone two"]
    assert changed_names("# a comment\n" + before, before) == ["changed the module"]


def test_stubs_pass_ruff(tmp_path: Path) -> None:
    async def read() -> ServerOffer:
        async with Client("test") as client:
            return await read_offer(await client.connect(server()))

    offer = asyncio.run(read())
    for models in MODELS:
        (tmp_path / f"shelf_{models}.py").write_text(module_text(offer, models), "utf-8")
    format_check = ["format", "--check", "--line-length", "100"]
    for words in (["check"], format_check):
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--isolated", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout
