"""Typed results of tools (`returns=`), and helpers that read results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

import mcp_wire
from mcp_gen import (
    Client,
    InvalidResult,
    ProtocolError,
    Server,
    ToolError,
    UsageError,
    content,
    images_of,
    links_of,
    media_of,
    text_of,
)
from mcp_gen.types import (
    CallToolResult,
    EmbeddedResource,
    GetPromptResult,
    PromptMessage,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
)
from tests.client.using import using
from tests.support.frames import ALL, PER_REQUEST, every_revision
from tests.support.peers.scripted import MemoryPeer, opening

STRUCTURED = [one for one in ALL if mcp_wire.profile(one).structured_content != "none"]
with_data = pytest.mark.parametrize("revision", STRUCTURED)
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@dataclass
class Point:
    x: int
    y: int = 0


class PointStruct(msgspec.Struct):
    x: int
    y: int


class PointDict(TypedDict):
    x: int
    y: int


class PointModel(pydantic.BaseModel):
    x: int
    y: int


def pointing() -> Server:
    server = Server("pointing")

    @server.tool
    def point() -> Point:
        return Point(1, 2)

    @server.tool
    def number() -> int:
        return 7

    @server.tool
    def points() -> list[Point]:
        return [Point(1), Point(2)]

    @server.tool
    def text() -> str:
        return "five"

    @server.tool
    def mapping() -> dict[str, int]:
        return {"result": 3}

    @server.tool
    def fail() -> int:
        raise ToolError("no number today")

    return server


async def returned(name: str, kind: type[Any], revision: str) -> Any:
    async with using(Client("c"), pointing(), revision) as session:
        return await session.call_tool(name, returns=kind)


@every_revision
@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("point", Point, Point(1, 2)),
        ("point", PointStruct, PointStruct(1, 2)),
        ("point", PointDict, {"x": 1, "y": 2}),
        ("point", PointModel, PointModel(x=1, y=2)),
        ("point", dict, {"x": 1, "y": 2}),
        ("number", int, 7),
        ("points", list[Point], [Point(1), Point(2)]),
        ("points", list[PointModel], [PointModel(x=1, y=0), PointModel(x=2, y=0)]),
        ("text", str, "five"),
        ("mapping", dict[str, int], {"result": 3}),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
async def test_data_comes_as_the_type_that_was_asked_for(
    revision: str, name: str, kind: Any, value: Any
) -> None:
    assert await returned(name, kind, revision) == value


@every_revision
async def test_a_tool_that_failed_is_an_error_with_its_text(revision: str) -> None:
    with pytest.raises(ToolError, match="no number today"):
        await returned("fail", int, revision)


@every_revision
async def test_data_of_another_type_is_an_error_with_its_path(revision: str) -> None:
    with pytest.raises(InvalidResult, match=r"^points: .* at `\$\[0\]`"):
        await returned("points", list[int], revision)


async def test_a_type_that_nothing_reads_is_the_callers_mistake() -> None:
    class Odd:
        pass

    with pytest.raises(UsageError, match=r"returns=.*: JSON has nothing for Odd: use builtins"):
        await returned("number", Odd, PER_REQUEST)


def saying(revision: str, schema: Any, **members: Any) -> MemoryPeer:
    """Return a server with one tool, which has this output schema and returns the members."""
    per_request = mcp_wire.profile(revision).handshake is None
    typed = {"resultType": "complete"} if per_request else {}
    hints = {"ttlMs": 0, "cacheScope": "private"} if per_request else {}
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    tool |= {} if schema is None else {"outputSchema": schema}
    return MemoryPeer(
        {
            **opening(revision),
            "tools/list": lambda params: {"tools": [tool], **typed, **hints},
            "tools/call": lambda params: {"content": [], **typed, **members},
        }
    )


async def said(server: MemoryPeer, revision: str, kind: Any) -> Any:
    async with using(Client("c"), await server.start(), revision) as session:
        return await session.call_tool("t", returns=kind)


@with_data
async def test_data_that_does_not_fit_the_tools_schema_is_an_error(revision: str) -> None:
    server = saying(revision, POINT, structuredContent={"x": "one"})
    with pytest.raises(InvalidResult, match=r"not what the tool promised: .* at `\$\.x`"):
        await said(server, revision, dict)


@with_data
async def test_data_that_was_promised_and_is_not_there_is_an_error(revision: str) -> None:
    with pytest.raises(InvalidResult, match="promised structured content, and gave none"):
        await said(saying(revision, POINT), revision, dict)


@with_data
async def test_data_that_nobody_promised_is_taken(revision: str) -> None:
    assert await said(saying(revision, None, structuredContent={"x": 1}), revision, Point) == Point(
        1
    )


@with_data
async def test_a_schema_is_never_fetched(revision: str) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/x.json"}}}
    server = saying(revision, schema, structuredContent={"x": 1})
    with pytest.raises(ProtocolError, match="schema is none"):
        await said(server, revision, dict)


@with_data
async def test_the_schema_is_asked_for_once_and_again_when_data_does_not_fit(
    revision: str,
) -> None:
    server = saying(revision, POINT, structuredContent={"x": 1})
    async with using(Client("c"), await server.start(), revision) as session:
        for _ in range(3):
            assert await session.call_tool("t", returns=Point) == Point(1)
    assert sum(one.get("method") == "tools/list" for one in server.asked) == 1


async def test_null_is_data_where_any_json_is() -> None:
    server = saying(PER_REQUEST, {"type": "null"}, structuredContent=None)
    assert await said(server, PER_REQUEST, type(None)) is None


@every_revision
async def test_text_that_is_no_json_is_no_data(revision: str) -> None:
    server = saying(revision, None, content=[{"type": "text", "text": "about five"}])
    with pytest.raises(InvalidResult, match="text that is not JSON"):
        await said(server, revision, int)


# --- contents of results ---

IMAGE = content.image(b"png", mime_type="image/png")
SOUND = content.audio(b"wav", mime_type="audio/wav")
LINK = content.link("a://x", name="x")
INSIDE = EmbeddedResource(resource=TextResourceContents(uri="a://y", text="inside"))
MIXED = CallToolResult(
    content=[TextContent(text="one"), IMAGE, SOUND, LINK, INSIDE, TextContent(text="two")]
)


def test_the_texts_of_a_result_stand_one_below_the_other() -> None:
    assert text_of(MIXED) == "one\ninside\ntwo"


def test_the_pictures_of_a_result_are_bytes() -> None:
    ((data, mime_type, uri),) = images_of(MIXED)
    assert (data, mime_type, uri) == (b"png", "image/png", None)


def test_media_are_told_apart_by_what_they_are() -> None:
    assert [one.data for one in media_of(MIXED)] == [b"png", b"wav"]
    assert [one.data for one in media_of(MIXED, "audio/")] == [b"wav"]


def test_the_links_of_a_result_are_its_blocks() -> None:
    assert links_of(MIXED) == [LINK]


def test_resources_and_prompts_have_texts_too() -> None:
    contents = [TextResourceContents(uri="a://y", text="read")]
    assert text_of(ReadResourceResult(contents=contents, ttl_ms=0, cache_scope="public")) == "read"
    messages = [PromptMessage(role="user", content=TextContent(text=text)) for text in "ab"]
    assert text_of(GetPromptResult(messages=messages), " ") == "a b"


def test_data_that_is_no_base64_is_an_error() -> None:
    wrong = CallToolResult(content=[msgspec.structs.replace(IMAGE, data="?")])
    with pytest.raises(InvalidResult, match="base64"):
        images_of(wrong)
