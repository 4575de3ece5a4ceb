"""NaN and infinity, which JSON does not have: refused where they are made, with their path."""

from __future__ import annotations

import dataclasses
import enum
import logging
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import msgspec
import pydantic
import pytest

import mcp_wire
from mcp_gen import Client, Context, McpError, Server, Structured, UsageError, transformed
from mcp_gen.core.checks.finite import find_non_finite
from mcp_gen.server.content.results import finite_json, to_json
from mcp_gen.values.json_types import JsonTypeReader, json_reader_for
from mcp_wire import latest
from tests.client.using import using
from tests.support.frames import every_revision, with_handshake
from tests.support.peers.asked import Refused
from tests.support.peers.connect import talk

LATEST = mcp_wire.LATEST
without_handshake = pytest.mark.parametrize(
    "revision", [one for one in mcp_wire.REVISIONS if not mcp_wire.profile(one).handshake]
)
NAN, INF = float("nan"), float("inf")
numbers = pytest.mark.parametrize("number", [NAN, INF, -INF], ids=str)


class Point(msgspec.Struct, rename="camel"):
    """A Struct with another name on the wire."""

    far_away: float
    label: str | None = None


@dataclasses.dataclass
class Pair:
    """A dataclass."""

    left: float
    right: float | None = None


class Typed(TypedDict):
    """A typed dict."""

    x: float


class Model(pydantic.BaseModel):
    """A pydantic model with an alias."""

    x: float = pydantic.Field(serialization_alias="theX")
    inner: list[float] = []


class Constants(pydantic.BaseModel):
    """A pydantic model that writes NaN as it is, which is no JSON."""

    model_config = pydantic.ConfigDict(ser_json_inf_nan="constants")
    x: float


@dataclasses.dataclass
class Made:
    """Value that a tool returns, with its annotation and the path of the number."""

    hint: Any
    value: Callable[[float], Any]
    path: str


MADE = {
    "a float": Made(float, lambda it: it, "$"),
    "an optional float": Made(float | None, lambda it: it, "$"),
    "a list": Made(list[float], lambda it: [1.0, 2.0, 3.0, it], "$[3]"),
    "a dict of lists": Made(
        dict[str, list[float]], lambda it: {"a": [0.0, 1.0, 2.0, it]}, "$.a[3]"
    ),
    "a dict of anything": Made(dict[str, Any], lambda it: {"b": None, "a": (1, it)}, "$.a[1]"),
    "a bare dict": Made(dict, lambda it: {"a": {"b": it}}, "$.a.b"),
    "a tuple": Made(tuple[int, float], lambda it: (1, it), "$[1]"),
    "a typed dict": Made(Typed, lambda it: Typed(x=it), "$.x"),
    "a Struct": Made(Point, lambda it: Point(it), "$.farAway"),
    "Structs": Made(list[Point], lambda it: [Point(1), Point(it)], "$[1].farAway"),
    "a dataclass": Made(Pair, lambda it: Pair(1, it), "$.right"),
    "a model": Made(Model, lambda it: Model(x=it), "$.theX"),
    "models": Made(list[Model], lambda it: [Model(x=1, inner=[it])], "$[0].inner[0]"),
    "a model of constants": Made(Constants, lambda it: Constants(x=it), "$.x"),
    "anything": Made(Any, lambda it: {"a": [it]}, "$.a[0]"),
    "no annotation": Made(None, lambda it: {"a": [it]}, "$.a[0]"),
    "a model of anything": Made(Any, lambda it: Model(x=it), "$.theX"),
    "structured": Made(
        Structured[dict[str, float]], lambda it: Structured({"a": it}, ["text"]), "$.a"
    ),
    "a result": Made(
        Any,
        lambda it: latest.CallToolResult(content=[], structured_content={"a": [it]}),
        "$.structuredContent.a[0]",
    ),
    "a result's meta": Made(
        Any, lambda it: latest.CallToolResult(content=[], meta={"m": it}), "$._meta.m"
    ),
    "a block's meta": Made(
        Any, lambda it: latest.TextContent(text="t", meta={"m": [it]}), "$[0]._meta.m[0]"
    ),
    "blocks' meta": Made(
        Any,
        lambda it: ["t", latest.TextContent(text="t", meta={"m": it})],
        "$[1]._meta.m",
    ),
    "a result's block's meta": Made(
        Any,
        lambda it: latest.CallToolResult(content=[latest.TextContent(text="t", meta={"m": it})]),
        "$.content[0]._meta.m",
    ),
}


def returning(made: Made, number: float, **options: Any) -> Server:
    """Return a server whose tool returns such a value."""
    server = Server("numbers")

    async def run() -> Any:
        return made.value(number)

    if made.hint is None:
        del run.__annotations__["return"]
    else:
        run.__annotations__["return"] = made.hint
    server.add_tool(run, **options)
    return server


@every_revision
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
async def test_a_tools_number_that_json_lacks_is_an_error_with_its_path(
    revision: str, made: Made
) -> None:
    async with talk(lambda: returning(made, NAN), revision) as client:
        result = await client.request("tools/call", {"name": "run", "arguments": {}})
    assert result["isError"]
    assert result["content"][0]["text"].endswith(f"JSON has no number nan - at `{made.path}`")


@numbers
async def test_each_of_these_numbers_is_refused(number: float) -> None:
    async with talk(lambda: returning(MADE["a list"], number), LATEST) as client:
        result = await client.request("tools/call", {"name": "run", "arguments": {}})
    assert f"JSON has no number {number} - at `$[3]`" in result["content"][0]["text"]


@every_revision
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
async def test_other_numbers_are_returned(revision: str, made: Made) -> None:
    async with talk(lambda: returning(made, 1.5), revision) as client:
        result = await client.request("tools/call", {"name": "run", "arguments": {}})
    assert not result.get("isError")


async def test_a_schema_of_ones_own_allows_null_and_the_number_is_still_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"type": ["number", "null"]}}}
    made = Made(Any, lambda it: {"a": it}, "$.a")
    async with talk(lambda: returning(made, INF, output_schema=schema), LATEST) as client:
        result = await client.request("tools/call", {"name": "run", "arguments": {}})
    assert result["content"][0]["text"].endswith("JSON has no number inf - at `$.a`")


# --- decided once, at definition ---


class Color(enum.Enum):
    """An enum."""

    RED = "red"


class Plain(msgspec.Struct):
    """A Struct without floats."""

    a: int | None
    b: list[str]


class PlainModel(pydantic.BaseModel):
    """A pydantic model without floats."""

    a: int | None = None


@pytest.mark.parametrize(
    "hint", [int, bool, list[int], dict[str, str | None], Plain, Color, PlainModel]
)
def test_outputs_without_floats_are_not_looked_through(hint: Any) -> None:
    assert JsonTypeReader.FLOATS not in json_reader_for(hint)
    output: Any = returning(Made(hint, lambda it: it, ""), 1).tools["run"].output
    assert output._to_json is to_json


@pytest.mark.parametrize("hint", [float, list, dict, dict[str, Any], list[float | None], Pair])
def test_outputs_that_may_have_floats_are(hint: Any) -> None:
    assert JsonTypeReader.FLOATS in json_reader_for(hint)
    output: Any = returning(Made(hint, lambda it: it, ""), 1).tools["run"].output
    assert output._to_json is finite_json


# --- other answers of a server ---


def answering(number: float) -> Server:
    """Return a server whose features each answer with a number."""
    server = Server("numbers")

    @server.prompt
    async def ask() -> Any:
        return latest.GetPromptResult(messages=[], meta={"a": [number]})

    @server.resource("data://it")
    async def it() -> Any:
        return {"a": [number]}

    @server.method("acme/it", params=dict[str, Any], result=dict[str, Any])
    async def own(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
        return {"a": [number]}

    @server.tool
    async def fails() -> str:
        raise McpError(7, "failed", {"a": [number]})

    return server


@every_revision
@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("prompts/get", {"name": "ask"}, "$._meta.a[0]"),
        ("resources/read", {"uri": "data://it"}, "$.a[0]"),
        ("acme/it", {}, "$.a[0]"),
        ("tools/call", {"name": "fails", "arguments": {}}, "$.a[0]"),
    ],
)
async def test_other_answers_are_refused_too(
    revision: str, method: str, params: Any, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    async with talk(lambda: answering(NAN), revision) as client:
        with pytest.raises(Refused) as refused:
            await client.request(method, params)
    assert refused.value.code == -32603
    assert f"JSON has no number nan - at `{path}`" in caplog.text


@every_revision
async def test_log_data_is_refused_where_it_is_logged(revision: str) -> None:
    server, seen = Server("logs", declare=["logging"]), list[str]()

    @server.tool
    async def run(ctx: Context) -> str:
        for data in ({"a": [1, NAN]}, INF, Pair(1, -INF)):
            try:
                await ctx.log("error", data)
            except UsageError as error:
                seen.append(str(error))
        return "done"

    async with talk(lambda: server, revision, log_level="debug") as client:
        await client.text("run")
        assert client.heard == []
    assert seen == [
        "log: JSON has no number nan - at `$.a[1]`",
        "log: JSON has no number inf - at `$`",
        "log: JSON has no number -inf - at `$.right`",
    ]


@every_revision
async def test_progress_that_is_no_number_is_not_sent(revision: str) -> None:
    server = Server("progress")

    @server.tool
    async def run(ctx: Context) -> str:
        for progress, total in ((NAN, 2), (1, NAN), (INF, 2), (2, INF)):
            await ctx.report_progress(progress, total)
        return "done"

    async with talk(lambda: server, revision) as client:
        await client.request(
            "tools/call", {"name": "run", "arguments": {}}, meta={"progressToken": 1}
        )
        sent = [frame["params"] for frame in client.heard]
    assert [(one["progress"], one.get("total")) for one in sent] == [(1, None), (2, None)]


@without_handshake
async def test_what_a_server_asks_in_a_result_is_refused(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("asks")

    @server.tool
    async def run(ctx: Context) -> str:
        await ctx.sample("hello", max_tokens=1, metadata={"a": [NAN]})
        return "done"

    capabilities: dict[str, Any] = {"sampling": {}}
    async with talk(lambda: server, revision, capabilities=capabilities) as client:
        with pytest.raises(Refused):
            await client.text("run")
        assert client.questions == []
    assert "JSON has no number nan - at `$.inputRequests." in caplog.text
    assert ".params.metadata.a[0]`" in caplog.text


@with_handshake
async def test_what_a_server_asks_is_refused_before_it_is_sent(revision: str) -> None:
    server, seen = Server("asks"), list[str]()

    @server.tool
    async def run(ctx: Context) -> str:
        for metadata in ({"a": [NAN]}, {"b": INF}):
            try:
                await ctx.sample("hello", max_tokens=1, metadata=metadata)
            except UsageError as error:
                seen.append(str(error))
        return "done"

    capabilities: dict[str, Any] = {"sampling": {}}
    async with talk(lambda: server, revision, capabilities=capabilities) as client:
        await client.text("run")
        assert client.questions == []
    assert seen == [
        "sampling/createMessage: JSON has no number nan - at `$.metadata.a[0]`",
        "sampling/createMessage: JSON has no number inf - at `$.metadata.b`",
    ]


# --- descriptions ---


def test_the_meta_of_a_description_is_refused_at_definition() -> None:
    server, meta = Server("described"), {"a": [NAN]}
    tool = latest.Tool(name="t", input_schema={"type": "object"}, meta=meta)

    async def run(ctx: Any = None, arguments: Any = None) -> str:
        return ""

    async def none() -> str:
        return ""

    definitions: list[Callable[[], Any]] = [
        lambda: server.add_tool(none, meta=meta),
        lambda: server.add_tool(tool, run),
        lambda: server.add_prompt(none, meta=meta),
        lambda: server.add_prompt(latest.Prompt(name="p", meta=meta), run),
        lambda: server.add_resource("a://b", none, meta=meta),
        lambda: server.add_resource("a://b", "text", meta=meta),
        lambda: transformed(none, meta=meta),
    ]
    for define in definitions:
        with pytest.raises(UsageError, match=r"JSON has no number nan - at `\$\._meta\.a\[0\]`"):
            define()


def test_a_default_that_json_lacks_is_not_published() -> None:
    server = Server("defaults")

    @server.tool
    async def run(
        far: float = INF, near: Annotated[float, pydantic.Field(ge=0)] = INF, some: float = 1.5
    ) -> str:
        return ""

    properties = server.tools["run"].tool.input_schema["properties"]
    assert {name: one.get("default", "none") for name, one in properties.items()} == {
        "far": "none",
        "near": "none",
        "some": 1.5,
    }


# --- clients ---


@every_revision
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": NAN}, "$.arguments.a"),
        ({"b": None, "a": [1, {"c": INF}]}, "$.arguments.a[1].c"),
        ({"p": {"farAway": -INF}}, "$.arguments.p.farAway"),
    ],
)
async def test_a_clients_arguments_are_refused_before_they_are_sent(
    revision: str, arguments: dict[str, Any], path: str
) -> None:
    server, called = Server("called"), list[Any]()

    @server.tool
    async def run(a: Any = None, b: Any = None, p: Any = None) -> str:
        called.append(a)
        return ""

    async with using(Client("c"), server, revision) as session:
        with pytest.raises(UsageError) as refused:
            await session.call_tool("run", arguments)
        await session.call_tool("run", {"a": 1.5, "b": None})
    assert str(refused.value).endswith(f" - at `{path}`")
    assert called == [1.5]


@with_handshake
async def test_a_clients_answer_is_refused_and_logged(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, client = Server("asks"), Client("c")
    seen: list[McpError] = []

    @server.tool
    async def run(ctx: Context) -> str:
        try:
            await ctx.sample("hello", max_tokens=1)
        except McpError as error:
            seen.append(error)
        return ""

    @client.sampling
    async def answer(session: Any, params: Any) -> Any:
        return latest.CreateMessageResult(
            role="assistant", model="m", content=latest.TextContent(text=""), meta={"a": NAN}
        )

    async with using(client, server, revision) as session:
        await session.call_tool("run", {})
    assert [error.code for error in seen] == [-32603]
    assert "JSON has no number nan - at `$._meta.a`" in caplog.text


@every_revision
async def test_what_is_null_on_purpose_stays_null(revision: str) -> None:
    server = returning(Made(dict[str, float | None], lambda it: {"a": None}, ""), 0)
    async with using(Client("c"), server, revision) as session:
        result: Any = await session.call_tool("run", {})
    assert result.content[0].text == '{"a":null}'


# --- the search ---


def test_a_deep_value_is_searched_without_recursion() -> None:
    value: Any = NAN
    for _ in range(100_000):
        value = [value]
    found = find_non_finite(value)
    assert found is not None
    assert len(found[0]) < 300


@pytest.mark.parametrize(
    "value", [None, 1, 1.5, "nan", [1, None], {"a": (1, {2.5})}, Pair(1), 10**400, b"", object()]
)
def test_what_json_has_is_let_pass(value: Any) -> None:
    assert find_non_finite(value) is None
