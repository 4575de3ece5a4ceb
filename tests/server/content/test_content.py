"""Content block helpers, and tool results with content blocks."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import msgspec
import pydantic
import pytest

import mcp_wire
from mcp_gen import Context, Structured, UsageError, content
from mcp_gen.server.tools.output import Output
from mcp_wire import UnknownContent, latest
from tests.server.tools.calls import call, listed, texts, with_tool
from tests.support.frames import every_revision

HOLDS = {one: mcp_wire.profile(one).structured_content for one in mcp_wire.REVISIONS}


def kinds(result: Any) -> list[str]:
    return [block.type for block in result.content]


def data_of(result: Any) -> Any:
    """Return the structured content before it was wrapped; UNSET if there is none."""
    return msgspec.to_builtins(result).get("structuredContent", msgspec.UNSET)


def at(revision: str, value: Any) -> Any:
    """Return the structured content of a revision for data that is not an object."""
    return {"none": msgspec.UNSET, "object": {"result": value}, "any": value}[HOLDS[revision]]


def returning(value: Any, hint: Any = None) -> Any:
    async def give():  # type: ignore[no-untyped-def]
        return value

    if hint is not None:
        give.__annotations__["return"] = hint
    return with_tool(give)


# --- blocks ---


def test_a_picture_is_told_by_its_file_name(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(b"\x89PNG")
    block = content.image(file)
    assert (base64.b64decode(block.data), block.mime_type) == (b"\x89PNG", "image/png")


def test_bytes_are_of_the_type_that_is_said() -> None:
    block = content.audio(b"RIFF", mime_type="audio/wav")
    assert (base64.b64decode(block.data), block.mime_type) == (b"RIFF", "audio/wav")


@pytest.mark.parametrize(
    ("make", "data", "mime_type"),
    [
        (content.image, b"", None),
        (content.image, Path("a.wav"), None),
        (content.image, b"", "audio/wav"),
        (content.audio, b"", "image/png"),
        (content.audio, Path("a"), None),
    ],
)
def test_a_type_that_is_not_known_is_a_usage_error(make: Any, data: Any, mime_type: Any) -> None:
    with pytest.raises(UsageError, match="say it with mime_type="):
        make(data, mime_type=mime_type)


def test_a_text_is_no_data_of_a_picture() -> None:
    wrong: Any = "a.png"
    with pytest.raises(UsageError, match="expected bytes or a Path"):
        content.image(wrong)


def test_a_resource_of_text_has_text() -> None:
    block = content.embedded("file:///a.md", "# A", meta={"a/b": 1})
    assert block.resource == latest.TextResourceContents(
        uri="file:///a.md", text="# A", mime_type="text/markdown"
    )
    assert block.meta == {"a/b": 1}


def test_a_resource_of_a_file_has_a_blob(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"\0")
    block = content.embedded("own://a", file, mime_type="a/b")
    assert block.resource == latest.BlobResourceContents(
        uri="own://a", blob="AA==", mime_type="a/b"
    )


@pytest.mark.parametrize(
    ("uri", "name"),
    [("file:///a/b.txt", "b.txt"), ("own://a/", "a"), ("urn:a", "urn:a"), ("/", "/")],
)
def test_a_link_is_named_by_the_end_of_its_uri(uri: str, name: str) -> None:
    assert content.link(uri).name == name


def test_text_may_say_whom_it_is_for() -> None:
    block = content.text("a", annotations=latest.Annotations(audience=["user"]))
    assert (block.text, block.annotations) == ("a", latest.Annotations(audience=["user"]))


@every_revision
async def test_a_tool_may_return_any_mix_of_blocks_and_texts(revision: str) -> None:
    mixed = [
        "first",
        content.image(b"i", mime_type="image/png"),
        content.audio(b"a", mime_type="audio/wav"),
        content.embedded("own://a", "text"),
        content.link("own://b"),
        {"a": 1},
    ]
    types = mcp_wire.types(revision)
    result = await call(returning(mixed), revision)
    assert [block.type for block in result.content] == [
        "text",
        "image",
        "audio" if hasattr(types, "AudioContent") else "resource",
        "resource",
        "resource_link" if hasattr(types, "ResourceLink") else "text",
        "text",
    ]
    assert result.content[-1].text == '{"a":1}'


@every_revision
@pytest.mark.parametrize("many", [list, tuple])
async def test_a_tuple_of_blocks_is_like_a_list(revision: str, many: Any) -> None:
    result = await call(returning(many(["a", content.text("b")])), revision)
    assert texts(result) == ["a", "b"]


def test_a_block_of_a_kind_that_nobody_knows_is_sent_as_it_is() -> None:
    block = UnknownContent("new", b'{"type":"new","of":[1.0]}')
    result = Output().encoder(mcp_wire.LATEST, False)(["a", block])
    assert mcp_wire.encode(result).endswith(b',{"type":"new","of":[1.0]}]}')


# --- annotations of structured output ---

Count = NewType("Count", int)


@every_revision
@pytest.mark.parametrize(
    ("hint", "value", "promised"),
    [
        (str, "a", None),
        (Annotated[str, "a text"], "a", None),
        (str | None, "a", None),
        (list[str], ["a"], None),
        (Any, {"a": 1}, None),
        (object, {"a": 1}, None),
        (latest.TextContent, content.text("a"), None),
        (list[str | latest.TextContent], ["a", content.text("b")], None),
        (tuple[str, latest.TextContent], ("a", content.text("b")), None),
        (Sequence[latest.ContentBlock], [content.text("b")], None),
        (latest.CallToolResult, latest.CallToolResult(content=[]), None),
        (int | latest.CallToolResult, latest.CallToolResult(content=[]), None),
        (Count, 1, {"type": "integer"}),
        (Annotated[int, msgspec.Meta(ge=0)], 1, {"type": "integer", "minimum": 0}),
        (int | latest.InputRequiredResult, 1, {"type": "integer"}),
        (Literal["a", "b"], "a", {"enum": ["a", "b"]}),
        (Structured[int], Structured(1), {"type": "integer"}),
        (Structured[str], Structured("a"), {"type": "string"}),
    ],
    ids=str,
)
async def test_data_is_promised_by_the_annotation_and_sent(
    revision: str, hint: Any, value: Any, promised: Any
) -> None:
    server = returning(value, hint)
    schema = getattr(await listed(server, revision), "output_schema", None)
    result = await call(server, revision)
    assert not result.is_error
    if promised is None or HOLDS[revision] == "none":
        assert (schema, data_of(result)) == (None, msgspec.UNSET)
    else:
        data = value.data if isinstance(value, Structured) else value
        inner = schema["properties"]["result"] if HOLDS[revision] == "object" else schema
        assert (inner, data_of(result)) == (promised, at(revision, data))


# --- data with content of its own ---


@dataclass
class Report:
    rows: int


@every_revision
async def test_data_may_have_content_of_its_own(revision: str) -> None:
    value = Structured(Report(2), ["two rows", content.image(b"i", mime_type="image/png")])
    server = returning(value, Structured[Report])
    result = await call(server, revision)
    assert kinds(result)[:2] == ["text", "image"]
    if HOLDS[revision] == "none":
        assert result.content[0].text == "two rows"
    else:
        assert (len(result.content), data_of(result)) == (2, {"rows": 2})


@every_revision
async def test_content_without_text_is_followed_by_the_data_as_text(revision: str) -> None:
    value = Structured(Report(2), [content.image(b"i", mime_type="image/png")])
    result = await call(returning(value, Structured[Report]), revision)
    assert kinds(result) == ["image", "text"]
    assert result.content[1].text == '{"rows":2}'


@every_revision
async def test_data_that_is_no_object_is_always_text_too(revision: str) -> None:
    result = await call(returning(Structured([1], ["one"]), Structured[list[int]]), revision)
    assert texts(result) == ["one", "[1]"]


@every_revision
async def test_data_that_no_annotation_promises_is_text(revision: str) -> None:
    result = await call(returning(Structured(Report(1), ["one"])), revision)
    assert texts(result) == ["one", '{"rows":1}']
    assert data_of(result) is msgspec.UNSET


# --- pydantic models ---


class Order(pydantic.BaseModel):
    """An order."""

    item: str = pydantic.Field(serialization_alias="theItem")
    count: int = 1


@every_revision
async def test_a_pydantic_model_is_data_as_it_writes_itself(revision: str) -> None:
    server = returning(Order(item="a"), Order)
    schema = getattr(await listed(server, revision), "output_schema", None)
    result = await call(server, revision)
    assert texts(result) == ['{"theItem":"a","count":1}']
    if HOLDS[revision] == "none":
        assert schema is None
    else:
        assert (schema["type"], list(schema["properties"])) == ("object", ["theItem", "count"])
        assert data_of(result) == {"theItem": "a", "count": 1}


@every_revision
async def test_pydantic_models_in_a_list_are_data(revision: str) -> None:
    result = await call(returning([Order(item="a")], list[Order]), revision)
    assert data_of(result) == at(revision, [{"theItem": "a", "count": 1}])


@every_revision
async def test_a_pydantic_model_that_no_annotation_promises_is_text(revision: str) -> None:
    result = await call(returning([{"order": Order(item="a")}]), revision)
    assert texts(result) == ['{"order":{"theItem":"a","count":1}}']


# --- output that does not match the schema ---


@every_revision
@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, None),
        (int, "s3cret"),
        (int, True),
        (Report, {"rows": "s3cret"}),
        (Report, Order(item="s3cret")),
        (dict[str, int], [1]),
        (Literal["a"], "s3cret"),
        (Order, {"item": "s3cret"}),
        (Order, Report(1)),
        (list[Order], [{"item": "s3cret"}]),
        (int, content.text("s3cret")),
        (Report, latest.CallToolResult(content=[])),
    ],
    ids=str,
)
async def test_what_was_not_promised_is_a_failure_that_says_nothing_of_it(
    revision: str, hint: Any, value: Any
) -> None:
    result = await call(returning(value, hint), revision)
    assert result.is_error is True
    (said,) = texts(result)
    assert said.startswith("give: the result is not what the tool's output schema says")
    assert "s3cret" not in said


@every_revision
@pytest.mark.parametrize(
    ("hint", "value", "data"),
    [
        (float, 1, 1),
        (Report, {"rows": 1}, {"rows": 1}),
        (Sequence[int], (1, 2), [1, 2]),
        (int | None, None, None),
        (dict[str, Any], {"a": Report(1)}, {"a": {"rows": 1}}),
        (Order | Literal["none"], "none", "none"),
    ],
    ids=str,
)
async def test_what_reads_as_promised_is_sent(
    revision: str, hint: Any, value: Any, data: Any
) -> None:
    result = await call(returning(value, hint), revision)
    wanted = data if isinstance(data, dict) else at(revision, data)
    assert data_of(result) == (msgspec.UNSET if HOLDS[revision] == "none" else wanted)


@every_revision
async def test_what_json_has_nothing_for_is_a_failure(revision: str) -> None:
    result = await call(returning({"a": object()}), revision)
    assert (result.is_error, texts(result)) == (
        True,
        ["the result: JSON has nothing for object - at `$.a`"],
    )


# --- hooks and middleware see plain values ---


@every_revision
@pytest.mark.parametrize("value", [{"a": [1]}, Report(1)], ids=str)
async def test_hooks_see_data_as_plain_values(revision: str, value: Any) -> None:
    seen: list[Any] = []
    server = returning(value, dict[str, list[int]] if isinstance(value, dict) else Report)

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: Any, result: Any) -> None:
        seen.append(result.structured_content)

    result = await call(server, revision)
    assert seen == [msgspec.to_builtins(value)]
    assert texts(result) == [msgspec.json.encode(value).decode()]


@every_revision
async def test_middleware_sees_data_as_plain_values(revision: str) -> None:
    seen: list[Any] = []

    async def middleware(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        if hasattr(result, "content"):
            seen.append(getattr(result, "structured_content", {"rows": 1}))
        return result

    server = returning(Report(1), Report)
    server.add_middleware(middleware)
    await call(server, revision)
    assert seen == [{"rows": 1}]
