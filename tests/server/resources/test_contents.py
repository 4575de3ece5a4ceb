"""Resource contents: text, blobs, JSON, wire types of any revision, and cache hints."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pydantic
import pytest

import mcp_wire
from mcp_gen import Contents, Server, UsageError
from mcp_gen.server.listing.cache_hints import CacheHints
from mcp_wire import latest
from tests.server.resources.test_resources import asked, contents, read
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision, with_handshake

URI = "a://b"
PNG = b"\x89PNG\r\n\x00\xff"
BLOB = base64.b64encode(PNG).decode()


@dataclass
class Point:
    x: int


class Shape(msgspec.Struct):
    at: Point


class Model(pydantic.BaseModel):
    name: str
    born_in: int = pydantic.Field(1970, alias="bornIn")


def holding(value: Any, **described: Any) -> Server:
    """Return a server with one resource, whose function returns a value."""
    server = Server("resources")

    @server.resource(URI, **described)
    async def f() -> Any:
        return value

    return server


@every_revision
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", {"text": "text", "mimeType": "text/plain"}),
        ("", {"text": "", "mimeType": "text/plain"}),
        (PNG, {"blob": BLOB, "mimeType": "application/octet-stream"}),
        (b"", {"blob": "", "mimeType": "application/octet-stream"}),
        (bytearray(PNG), {"blob": BLOB, "mimeType": "application/octet-stream"}),
        (memoryview(PNG), {"blob": BLOB, "mimeType": "application/octet-stream"}),
        ({"a": 1}, {"text": '{"a":1}', "mimeType": "application/json"}),
        ([], {"text": "[]", "mimeType": "application/json"}),
        (["a"], {"text": '["a"]', "mimeType": "application/json"}),
        (7, {"text": "7", "mimeType": "application/json"}),
        (False, {"text": "false", "mimeType": "application/json"}),
        (Point(1), {"text": '{"x":1}', "mimeType": "application/json"}),
        (Shape(Point(1)), {"text": '{"at":{"x":1}}', "mimeType": "application/json"}),
        (Model(name="a"), {"text": '{"name":"a","bornIn":1970}', "mimeType": "application/json"}),
        (
            [Model(name="a")],
            {"text": '[{"name":"a","bornIn":1970}]', "mimeType": "application/json"},
        ),
        (Contents("<a/>", "text/xml"), {"text": "<a/>", "mimeType": "text/xml"}),
        (Contents(PNG, "image/png"), {"blob": BLOB, "mimeType": "image/png"}),
        (Contents({"a": 1}), {"text": '{"a":1}', "mimeType": "application/json"}),
    ],
    ids=lambda value: "memoryview" if isinstance(value, memoryview) else repr(value),
)
async def test_a_value_is_text_a_blob_or_json(
    revision: str, value: Any, expected: dict[str, str]
) -> None:
    assert await contents(holding(value), revision, URI) == {"uri": URI, **expected}


@every_revision
@pytest.mark.parametrize("value", ["text", PNG, {"a": 1}, Contents("text")], ids=repr)
async def test_the_media_type_is_the_one_that_was_given(revision: str, value: Any) -> None:
    part = await contents(holding(value, mime_type="application/x-mine"), revision, URI)
    assert part["mimeType"] == "application/x-mine"


@every_revision
@pytest.mark.parametrize(("value", "key"), [("text", "text"), (PNG, "blob")])
async def test_fixed_content_is_read_as_it_is(revision: str, value: Any, key: str) -> None:
    server = Server("resources")
    server.add_resource(URI, value)
    (listed,) = (await asked(server, revision, "resources/list"))["result"]["resources"]
    part = await contents(server, revision, URI)
    assert (listed["size"], listed["mimeType"]) == (len(value), part["mimeType"])
    assert part[key] == (value if key == "text" else BLOB)


@pytest.mark.parametrize(
    ("returns", "mime_type"),
    [
        (str, "text/plain"),
        (bytes, "application/octet-stream"),
        (dict[str, int], "application/json"),
        (list[int], "application/json"),
        (Point, "application/json"),
        (Model, "application/json"),
        (dict[str, int] | None, "application/json"),
        (Annotated[str, "a note"], "text/plain"),
        (bytes | None, "application/octet-stream"),
        (str | bytes, None),
        (Any, None),
        (Contents, None),
        (list[Contents], None),
        (latest.TextResourceContents, None),
    ],
)
async def test_the_list_has_the_media_type_where_the_annotation_tells_it(
    returns: Any, mime_type: str | None
) -> None:
    def f() -> Any: ...

    f.__annotations__["return"] = returns
    server = Server("resources")
    server.add_resource(URI, f)
    (listed,) = (await asked(server, HANDSHAKE, "resources/list"))["result"]["resources"]
    assert listed.get("mimeType") == mime_type


# --- wire types ---


def text_of(revision: str, **fields: Any) -> Any:
    return mcp_wire.types(revision).TextResourceContents(uri="a://b/part", text="a", **fields)


@every_revision
@pytest.mark.parametrize("written_at", mcp_wire.REVISIONS)
@pytest.mark.parametrize("wrap", [lambda part: part, lambda part: [part], lambda part: (part,)])
async def test_wire_contents_of_any_revision_are_sent_at_any_other(
    revision: str, written_at: str, wrap: Callable[[Any], Any]
) -> None:
    part = await contents(holding(wrap(text_of(written_at))), revision, URI)
    assert part == {"uri": "a://b/part", "text": "a", "mimeType": "text/plain"}


@every_revision
@pytest.mark.parametrize("written_at", mcp_wire.REVISIONS)
async def test_a_wire_result_of_any_revision_is_sent_at_any_other(
    revision: str, written_at: str
) -> None:
    types = mcp_wire.types(written_at)
    blob = types.BlobResourceContents(uri="a://b/blob", blob=BLOB)
    result = types.ReadResourceResult(contents=[text_of(written_at), blob], meta={"e.org/a": 1})
    answer = (await read(holding(result), revision, URI))["result"]
    assert answer["_meta"]["e.org/a"] == 1
    assert answer["contents"] == [
        {"uri": "a://b/part", "text": "a", "mimeType": "text/plain"},
        {"uri": "a://b/blob", "blob": BLOB, "mimeType": "application/octet-stream"},
    ]


@every_revision
async def test_what_the_revision_lacks_is_left_out(revision: str) -> None:
    parts = [text_of(mcp_wire.LATEST, meta={"e.org/a": 1}), Contents(PNG, meta={"e.org/a": 1})]
    answer = (await read(holding(parts), revision, URI))["result"]
    fields = msgspec.structs.fields(mcp_wire.types(revision).TextResourceContents)
    has_meta = "meta" in {field.name for field in fields}
    assert [part.get("_meta") for part in answer["contents"]] == [
        {"e.org/a": 1} if has_meta else None
    ] * 2


@every_revision
async def test_a_resource_may_have_parts_of_any_kind(revision: str) -> None:
    parts = [Contents("a"), "b", PNG, Contents("c", "text/css", uri="a://b/c")]
    answer = (await read(holding(parts), revision, URI))["result"]
    assert answer["contents"] == [
        {"uri": URI, "text": "a", "mimeType": "text/plain"},
        {"uri": URI, "text": "b", "mimeType": "text/plain"},
        {"uri": URI, "blob": BLOB, "mimeType": "application/octet-stream"},
        {"uri": "a://b/c", "text": "c", "mimeType": "text/css"},
    ]


@every_revision
async def test_the_media_type_of_a_part_stands_before_that_of_the_resource(revision: str) -> None:
    parts = [text_of(revision, mime_type="text/css"), text_of(revision)]
    answer = (await read(holding(parts, mime_type="text/html"), revision, URI))["result"]
    assert [part["mimeType"] for part in answer["contents"]] == ["text/css", "text/html"]


@every_revision
async def test_what_is_no_json_is_an_internal_error(revision: str) -> None:
    answer = await read(holding(object()), revision, URI)
    assert answer["error"] == {"code": -32603, "message": "internal error"}


# --- cache hints ---

SERVER = CacheHints(ttl_ms=1000, cache_scope="public")


async def hints(server: Server, revision: str) -> tuple[Any, Any]:
    result = (await read(server, revision, URI))["result"]
    return result.get("ttlMs"), result.get("cacheScope")


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({}, (1000, "public")),
        ({"ttl_ms": 5}, (5, "public")),
        ({"cache_scope": "private"}, (1000, "private")),
        ({"ttl_ms": 0, "cache_scope": "private"}, (0, "private")),
    ],
)
async def test_what_a_resource_says_of_keeping_it_stands_before_what_the_server_says(
    described: dict[str, Any], expected: tuple[int, str]
) -> None:
    server = Server("resources", cache_hints=SERVER)
    server.add_resource(URI, "text", **described)
    assert await hints(server, PER_REQUEST) == expected


async def test_a_template_says_it_for_its_resources() -> None:
    server = Server("resources", cache_hints=SERVER)
    server.add_resource_template("a://{b}", lambda_b, ttl_ms=7)
    assert await hints(server, PER_REQUEST) == (7, "public")


def lambda_b(b: str) -> str:
    return b


async def test_a_result_says_it_for_itself() -> None:
    made = latest.ReadResourceResult(contents=[], ttl_ms=0, cache_scope="private")
    assert await hints(holding(made, ttl_ms=9), PER_REQUEST) == (0, "private")


async def test_a_result_that_cannot_say_it_has_what_the_resource_says() -> None:
    made = mcp_wire.types(HANDSHAKE).ReadResourceResult(contents=[])
    assert await hints(holding(made, ttl_ms=9), PER_REQUEST) == (9, "private")


@pytest.mark.parametrize(
    ("described", "expected"),
    [({}, (1000, "private")), ({"cache_scope": "public"}, (1000, "public"))],
)
async def test_what_a_filter_guards_is_private_unless_it_says_otherwise(
    described: dict[str, Any], expected: tuple[int, str]
) -> None:
    server = Server("resources", cache_hints=SERVER)
    server.add_resource(URI, "text", **described)
    server.filter_resources(lambda ctx, one: True)
    assert await hints(server, PER_REQUEST) == expected


@pytest.mark.parametrize("left", ["resources", "templates"])
async def test_what_a_filter_guards_in_part_is_private(left: str) -> None:
    server = Server("resources", cache_hints=SERVER)
    server.add_resource(URI, "text")
    server.filter_resources(lambda ctx, one: True)
    other = server.resources.templates if left == "resources" else server.resources.listing
    other.filters.clear()
    assert await hints(server, PER_REQUEST) == (1000, "private")


async def test_a_method_says_it_for_all_that_is_read() -> None:
    server = Server("resources", cache_hints=SERVER)
    server.add_resource(URI, "text")
    server.cache_hints(read_resource=CacheHints(ttl_ms=3))
    assert await hints(server, PER_REQUEST) == (3, "private")


@with_handshake
async def test_revisions_that_do_not_know_of_it_are_not_told(revision: str) -> None:
    assert await hints(holding("text", ttl_ms=9), revision) == (None, None)


@pytest.mark.parametrize("described", [{"ttl_ms": -1}])
def test_hints_that_make_no_sense_are_refused(described: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="ttl_ms=-1"):
        holding("text", **described)
