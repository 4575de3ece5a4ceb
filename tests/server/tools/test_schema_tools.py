"""Schema tools: a description and a handler, with any JSON Schema kept and validated."""

from __future__ import annotations

import copy
import functools
import logging
import socket
from typing import Any

import jsonschema_rs
import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server, UsageError, content
from mcp_gen.schemas.messages import MAX_MESSAGE
from mcp_gen.server.functions import schema_validation
from mcp_gen.server.functions.schema_validation import MAX_DEPTH, MAX_SUBSCHEMAS
from mcp_wire import REVISIONS, UNSET, latest
from tests.server.tools.calls import call, failure, listed, texts, with_tool
from tests.support.frames import every_revision

OBJECT: dict[str, Any] = {"type": "object"}

RICH: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.org/order",
    "type": "object",
    "properties": {
        "kind": {"enum": ["one", "many"]},
        "count": {"$ref": "#/$defs/count"},
        "other": {"$ref": "#small"},
        "$ref": {"const": {"$ref": "https://example.org/elsewhere"}},
    },
    "if": {"properties": {"kind": {"const": "many"}}, "required": ["kind"]},
    "then": {"required": ["count"]},
    "allOf": [{"anyOf": [{"required": ["kind"]}, {"required": ["other"]}]}],
    "unevaluatedProperties": False,
    "$defs": {
        "count": {"type": "integer", "minimum": 2},
        "small": {"$anchor": "small", "type": "integer", "maximum": 9},
    },
    "examples": [{"kind": "one"}],
    "x-own": [1, {"deep": None}],
}


def described(schema: Any = OBJECT, output: Any = None, name: str = "raw") -> latest.Tool:
    return latest.Tool(name=name, input_schema=schema, output_schema=output)


async def echo(ctx: Context, arguments: dict[str, Any]) -> str:
    return msgspec.json.encode(arguments).decode()


def giving(value: Any, output: Any = None) -> Server:
    """Return a server with a raw tool that returns a value."""
    return with_tool(described(output=output), lambda ctx, arguments: value)


# --- listed schema and arguments ---


@every_revision
async def test_a_schema_reaches_clients_to_the_letter(revision: str) -> None:
    before = copy.deepcopy(RICH)
    server = with_tool(described(RICH), echo)
    assert msgspec.json.encode((await listed(server, revision)).input_schema) == (
        msgspec.json.encode(before)
    )


@every_revision
async def test_arguments_that_fit_reach_the_handler_as_plain_json(revision: str) -> None:
    result = await call(with_tool(described(RICH), echo), revision, kind="many", count=2)
    assert texts(result) == ['{"kind":"many","count":2}']


@every_revision
async def test_a_call_without_arguments_has_none(revision: str) -> None:
    assert texts(await call(with_tool(described(), echo), revision)) == ["{}"]


@every_revision
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"kind": "few"}, "$.arguments.kind"),
        ({"kind": "many", "count": 1}, "$.arguments.count"),
        ({"other": 10}, "$.arguments.other"),
        ({"kind": "many"}, "$.arguments"),
        ({"kind": "one", "more": 1}, "$.arguments"),
        ({}, "$.arguments"),
    ],
    ids=str,
)
async def test_arguments_that_do_not_fit_are_answered_with_their_path(
    revision: str, arguments: Any, path: str
) -> None:
    assert f"`{path}`" in await failure(with_tool(described(RICH), echo), revision, **arguments)


async def test_what_is_said_of_wrong_arguments_repeats_no_value() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert "s3cret" not in await failure(with_tool(described(schema), echo), a="s3cret")


async def test_what_is_said_of_wrong_arguments_is_of_bounded_length() -> None:
    schema = {"type": "object", "unevaluatedProperties": False}
    said = await failure(with_tool(described(schema), echo), **{"a" * 10_000: 1})
    assert len(said) < MAX_MESSAGE + 100


async def test_where_arguments_are_wrong_is_of_bounded_length() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    said = await failure(with_tool(described(schema), echo), **{"a" * 10_000: "b"})
    assert len(said) < MAX_MESSAGE + 100


@pytest.mark.parametrize(
    ("dialect", "schema"),
    [
        ("http://json-schema.org/draft-04/schema#", {"minimum": 1, "exclusiveMinimum": True}),
        ("http://json-schema.org/draft-07/schema#", {"exclusiveMinimum": 1}),
        ("http://json-schema.org/draft-07/schema", {"exclusiveMinimum": 1}),
        ("https://json-schema.org/draft/2019-09/schema", {"exclusiveMinimum": 1}),
        ("https://json-schema.org/draft/2020-12/schema", {"exclusiveMinimum": 1}),
    ],
)
async def test_a_schema_is_of_the_dialect_it_names(dialect: str, schema: Any) -> None:
    whole = {"$schema": dialect, "type": "object", "properties": {"a": schema}}
    server = with_tool(described(whole), echo)
    assert texts(await call(server, a=2)) == ['{"a":2}']
    assert "`$.arguments.a`" in await failure(server, a=1)


async def test_without_a_dialect_it_is_2020_12() -> None:
    schema = {"type": "object", "properties": {"a": {"prefixItems": [{"type": "integer"}]}}}
    assert "`$.arguments.a[0]`" in await failure(with_tool(described(schema), echo), a=["b"])


async def test_a_schema_may_contain_itself() -> None:
    schema = {
        "type": "object",
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#"}},
    }
    server = with_tool(described(schema), echo)
    said = await failure(server, next={"next": {"value": "a"}})
    assert "`$.arguments.next.next.value`" in said


# --- handlers ---


@every_revision
async def test_a_handler_need_not_be_async(revision: str) -> None:
    def handler(ctx: Context, arguments: dict[str, Any]) -> str:
        return ctx.revision

    assert texts(await call(with_tool(described(), handler), revision)) == [revision]


async def test_a_handler_may_be_an_object_that_can_be_called() -> None:
    class Handler:
        async def __call__(self, ctx: Context, arguments: dict[str, Any]) -> str:
            return "called"

    assert texts(await call(with_tool(described(), Handler()))) == ["called"]


async def test_a_handler_may_be_a_partial() -> None:
    async def handler(what: str, ctx: Context, arguments: dict[str, Any]) -> str:
        return what

    assert texts(await call(with_tool(described(), functools.partial(handler, "a")))) == ["a"]


@every_revision
@pytest.mark.parametrize("written_at", mcp_wire.REVISIONS)
async def test_a_description_of_any_revision_is_one_of_every_other(
    revision: str, written_at: str
) -> None:
    tool: Any = mcp_wire.types(written_at).Tool(name="t", description="It.", input_schema=OBJECT)
    found = await listed(with_tool(tool, echo), revision)
    assert (found.name, found.description, found.input_schema) == ("t", "It.", OBJECT)


@every_revision
async def test_an_error_of_the_handler_is_a_failed_call(revision: str) -> None:
    def handler(ctx: Context, arguments: dict[str, Any]) -> str:
        raise ValueError("broken")

    result = await call(with_tool(described(), handler), revision)
    assert (result.is_error, texts(result)) == (True, ["broken"])


# --- return values ---


@every_revision
async def test_data_that_fits_the_output_schema_is_structured_content_and_text(
    revision: str,
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-own": 1}
    server = giving({"a": 1}, schema)
    result = await call(server, revision)
    has_it = mcp_wire.profile(revision).structured_content != "none"
    assert getattr(await listed(server, revision), "output_schema", None) == (
        schema if has_it else None
    )
    assert result.structured_content == ({"a": 1} if has_it else UNSET)
    assert texts(result) == ['{"a":1}']


@every_revision
async def test_data_that_is_no_object_is_wrapped_where_it_must_be_one(revision: str) -> None:
    server = giving([1, 2], {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {}}})
    holds = mcp_wire.profile(revision).structured_content
    result = await call(server, revision)
    wanted = {"none": UNSET, "object": {"result": [1, 2]}, "any": [1, 2]}[holds]
    assert result.structured_content == wanted
    assert texts(result) == ["[1,2]"]


@every_revision
async def test_a_text_is_data_where_the_output_schema_says_so(revision: str) -> None:
    result = await call(giving("a", {"type": "string"}), revision)
    assert texts(result) == ["a"]
    holds = mcp_wire.profile(revision).structured_content
    wanted = {"none": UNSET, "object": {"result": "a"}, "any": "a"}[holds]
    assert result.structured_content == wanted


NUMBERED = {
    "type": "object",
    "properties": {"n": {"type": "integer", "not": {"const": 13}}},
    "required": ["n"],
}


@every_revision
@pytest.mark.parametrize(
    "value",
    [
        {"n": "s3cret"},
        {},
        "s3cret",
        None,
        [{"n": 1}],
        {"n": 13},
        latest.TextContent(text="s3cret"),
        latest.CallToolResult(content=[latest.TextContent(text="s3cret")]),
        latest.CallToolResult(content=[], structured_content={"n": "s3cret"}),
    ],
    ids=str,
)
async def test_what_does_not_fit_the_output_schema_is_not_sent(
    revision: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    result = await call(giving(value, NUMBERED), revision)
    assert result.is_error is True
    assert not getattr(result, "structured_content", None)
    assert texts(result) == ["raw: the result is not what the tool's output schema says"]
    (record,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert record.exc_info is not None
    assert record.exc_info[1] is not None
    assert record.exc_info[1].__cause__ is not None


@every_revision
@pytest.mark.parametrize(
    "value",
    [
        latest.CallToolResult(
            content=[latest.TextContent(text='{"n":1}')], structured_content={"n": 1}
        ),
        content.Structured({"n": 1}, ['{"n":1}']),
    ],
    ids=["result", "structured"],
)
async def test_a_result_that_fits_the_output_schema_is_sent(revision: str, value: Any) -> None:
    result = await call(giving(value, NUMBERED), revision)
    assert not result.is_error
    assert texts(result) == ['{"n":1}']


@every_revision
async def test_a_result_written_for_a_revision_that_wraps_data_is_sent(revision: str) -> None:
    wrapping = [one for one in REVISIONS if mcp_wire.profile(one).structured_content == "object"]
    types = mcp_wire.types(wrapping[0])
    value = types.CallToolResult(
        content=[types.TextContent(text="[1]")], structured_content={"result": [1]}
    )
    result = await call(giving(value, {"type": "array"}), revision)
    assert (result.is_error, texts(result)[0]) == (None, "[1]")


@every_revision
async def test_a_result_that_says_it_failed_needs_no_data(revision: str) -> None:
    value = latest.CallToolResult(content=[latest.TextContent(text="no")], is_error=True)
    assert texts(await call(giving(value, NUMBERED), revision)) == ["no"]


@every_revision
async def test_a_function_may_have_an_output_schema_of_its_own(revision: str) -> None:
    async def f(n: int) -> Any:
        return {"n": n}

    server = with_tool(f, output_schema=NUMBERED)
    assert texts(await call(server, revision, n=1)) == ['{"n":1}']
    assert (await call(server, revision, n=13)).is_error is True


@every_revision
async def test_without_an_output_schema_data_is_text_alone(revision: str) -> None:
    result = await call(giving({"a": 1}), revision)
    assert texts(result) == ['{"a":1}']
    assert not getattr(result, "structured_content", None)


# --- errors of definitions ---

ELSEWHERE = "is another document, and none is fetched"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, 'expected `"type": "object"`'),
        ({"type": "array"}, 'expected `"type": "object"`'),
        ({"type": ["object", "null"]}, 'expected `"type": "object"`'),
        ("object", "expected a dict, got str"),
        ({"type": "object", "properties": []}, "`properties`: expected an object of schemas"),
        ({"type": "object", "properties": {"a": 1}}, "expected a schema, got int"),
        ({"type": "object", "allOf": {}}, "`allOf`: expected a list of schemas"),
        ({"type": "object", "not": [{}]}, "expected a schema, got list"),
        ({"type": "object", "$schema": "https://example.org/own"}, "`$schema`: expected one of"),
        ({"type": "object", "$schema": "http://json-schema.org/draft-03/schema#"}, "`$schema`"),
        ({"type": "object", "$ref": "https://example.org/a"}, ELSEWHERE),
        ({"type": "object", "$ref": "other.json#/a"}, ELSEWHERE),
        ({"type": "object", "$ref": "file:///etc/passwd"}, ELSEWHERE),
        ({"type": "object", "$dynamicRef": "https://example.org/a#b"}, ELSEWHERE),
        ({"type": "object", "properties": {"a": {"items": {"$ref": "http://a/"}}}}, ELSEWHERE),
        ({"type": "object", "$defs": {"a": {"$ref": "urn:a"}}}, ELSEWHERE),
        ({"type": "object", "$id": "https://a/b", "allOf": [{"$ref": "c"}]}, ELSEWHERE),
        ({"type": "object", "$ref": "#/$defs/a"}, "refers to what is not there"),
        ({"type": "object", "$ref": "#/allOf/1", "allOf": [{}]}, "refers to what is not there"),
        ({"type": "object", "$ref": "#a"}, "refers to an anchor that is not there"),
    ],
    ids=str,
)
def test_a_schema_that_is_not_understood_here_is_a_usage_error(schema: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Server("s").add_tool(described(schema), echo)
    assert str(caught.value).startswith("tool raw: input schema: ")
    assert said in str(caught.value)


def test_an_output_schema_is_looked_over_too() -> None:
    with pytest.raises(UsageError, match=r"raw: output schema: .* is another document"):
        Server("s").add_tool(described(output={"$ref": "http://a/b"}), echo)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/b%25~1c"}}, "$defs": {"b%/c": {}}},
        {"type": "object", "$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"type": "object", "properties": {"$ref": {"type": "string"}}},
        {"type": "object", "default": {"$ref": "http://a/b"}, "enum": [{}, {"$ref": "http://a/b"}]},
        {
            "type": "object",
            "properties": {"a": {"$ref": "b#/x"}, "c": {"$ref": "/b"}},
            "$id": "https://a/",
            "$defs": {"b": {"$id": "b", "x": {}}},
        },
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"a": {"$ref": "#here"}},
            "definitions": {"b": {"$id": "#here"}},
            "dependencies": {"a": ["b"]},
        },
        {"type": "object", "properties": {"a": {"$dynamicRef": "#n"}}, "$dynamicAnchor": "n"},
        {"type": "object", "x-own": {"$ref": "http://a/b"}},
        {"type": "object", "properties": {"a": {"$ref": "#/allOf/0"}}, "allOf": [{}]},
    ],
    ids=str,
)
async def test_references_within_the_document_are_followed(schema: Any) -> None:
    assert texts(await call(with_tool(described(schema), echo))) == ["{}"]


async def test_nothing_is_fetched(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/schema"
    # As if the reference had been overlooked.
    monkeypatch.setattr(schema_validation, "_REFERENCES", ())
    server = with_tool(described({"type": "object", "$ref": address}), echo)
    with listener:
        with pytest.raises(McpError, match="internal error"):
            await call(server)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert "is another document" in caplog.text


@pytest.mark.parametrize(
    "output",
    [
        {"type": "array", "items": {"$ref": "#"}},
        {"anyOf": [{"type": "integer"}, {"items": {"$ref": "#/anyOf/0"}}]},
    ],
    ids=str,
)
def test_a_schema_that_has_to_move_refers_to_what_moves_with_it(output: Any) -> None:
    with pytest.raises(UsageError, match=r"put what `#.*` refers to under `\$defs`"):
        Server("s").add_tool(described(output=output), echo)


@every_revision
@pytest.mark.parametrize(
    "output",
    [
        {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "array",
            "items": {"$ref": "#/definitions/n"},
            "definitions": {"n": {"type": "integer"}},
        },
        {
            "$id": "https://a/b",
            "type": "array",
            "items": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#"}]},
            "$defs": {"n": {"type": "integer"}},
        },
        {"type": "array", "items": {"$ref": "#n"}, "$defs": {"n": {"$anchor": "n"}}},
    ],
    ids=str,
)
async def test_what_is_sent_fits_the_schema_wherever_it_moves(revision: str, output: Any) -> None:
    server = giving([1], output)
    schema = getattr(await listed(server, revision), "output_schema", None)
    if schema is not None:
        sent = (await call(server, revision)).structured_content
        jsonschema_rs.validator_for(schema).validate(sent)
        assert not jsonschema_rs.is_valid(schema, {"result": 1} if sent != [1] else 1)


def test_a_schema_too_deep_is_a_usage_error() -> None:
    schema: Any = {}
    for _ in range(MAX_DEPTH + 1):
        schema = {"not": schema}
    with pytest.raises(UsageError, match="schemas in each other"):
        Server("s").add_tool(described({"type": "object", "not": schema}), echo)


def test_a_schema_too_large_is_a_usage_error() -> None:
    schema = {"type": "object", "anyOf": [{} for _ in range(MAX_SUBSCHEMAS)]}
    with pytest.raises(UsageError, match=f"{MAX_SUBSCHEMAS} in all"):
        Server("s").add_tool(described(schema), echo)


async def test_the_deepest_schema_that_is_taken_can_be_used() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(MAX_DEPTH - 1):
        schema = {"properties": {"a": schema}}
    server = with_tool(described({"type": "object", **schema}), echo)
    assert texts(await call(server)) == ["{}"]


@pytest.mark.parametrize("handler", [None, "handler", lambda: None, lambda ctx: None])
def test_a_handler_that_takes_something_else_is_a_usage_error(handler: Any) -> None:
    with pytest.raises(UsageError, match=r"tool raw: .*handler"):
        Server("s").add_tool(described(), handler)


def test_a_handler_for_a_function_is_a_usage_error() -> None:
    def function() -> None: ...

    wrong: Any = Server("s").add_tool
    with pytest.raises(UsageError, match="its own handler"):
        wrong(function, echo)


def test_a_name_of_a_raw_tool_is_held_to_the_rules() -> None:
    with pytest.raises(UsageError, match="1 to 128"):
        Server("s").add_tool(described(name="a b"), echo)


def test_an_input_schema_that_is_none_is_refused_with_its_place() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "nonsense"}}}
    with pytest.raises(UsageError, match=r"no valid schema: .* - at `\$\.properties\.a\.type`"):
        with_tool(described(schema), echo)
