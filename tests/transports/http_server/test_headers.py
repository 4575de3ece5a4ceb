"""Headers that mirror the body, and the order of the checks of a request."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
import pytest
from msgspec import Meta

from mcp_gen import McpError, Server, UsageError
from mcp_gen.core.transport.header_params import MARK, marked_params
from mcp_gen.core.transport.header_values import decoded_value
from mcp_gen.core.transport.headers import Headers
from mcp_gen.session.http_server.header_check import HeaderCheck
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import Reply, headers_of, request
from tests.support.requirement import requirement

PEER = Speaker(PER_REQUEST)
PROFILE = PEER.profile
VERSION, METHOD, NAME = (
    str(name) for name in (PROFILE.version_header, PROFILE.method_header, PROFILE.name_header)
)
PREFIX = str(PROFILE.param_header_prefix)
MISMATCH = PROFILE.errors.header_mismatch
UNSUPPORTED = PROFILE.errors.unsupported_protocol_version


def marked(kind: Any, name: str) -> Any:
    return Annotated[kind, Meta(extra_json_schema={MARK: name})]


def a_server() -> Server:
    server = Server("marked")

    @server.tool
    async def find(
        region: marked(str, "Region") = "",
        count: marked(int, "Count") = 0,
        is_open: marked(bool, "Open") = False,
        note: str = "",
    ) -> str:
        return f"{region} {count} {is_open}"

    return server


async def post(message: bytes, headers: dict[str, str], server: Server | None = None) -> Reply:
    return await request((server or a_server()).asgi(), message, headers)


async def find(headers: dict[str, str], **arguments: Any) -> Reply:
    message = PEER.call(1, "find", **arguments)
    return await post(message, {**headers_of(PEER, message), **headers})


def told(reply: Reply) -> tuple[int, int]:
    assert reply.json["id"] == 1
    return reply.status, reply.json["error"]["code"]


def sentinel(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


# --- arguments ---


@requirement("http:headers:decoded")
@pytest.mark.parametrize(
    ("header", "arguments"),
    [
        ("Hello", {"region": "Hello"}),
        (" Hello\t", {"region": "Hello"}),
        ("=?base64?SGVsbG8=?=", {"region": "Hello"}),
        (sentinel("größer als"), {"region": "größer als"}),
        (sentinel(" padded "), {"region": " padded "}),
        (sentinel("=?base64?SGVsbG8=?="), {"region": "=?base64?SGVsbG8=?="}),
        ("=?base64?SGVsbG8=", {"region": "=?base64?SGVsbG8="}),
        ("SGVsbG8=?=", {"region": "SGVsbG8=?="}),
        ("=?BASE64?SGVsbG8=?=", {"region": "=?BASE64?SGVsbG8=?="}),
        ("", {"region": ""}),
        (sentinel(""), {"region": ""}),
    ],
)
async def test_a_header_repeats_a_text(header: str, arguments: dict[str, Any]) -> None:
    assert (await find({f"{PREFIX}Region": header}, **arguments)).status == 200


@requirement("http:headers:compared", "http:headers:invalid", "http:headers:refusal")
@pytest.mark.parametrize(
    "header",
    [
        "hello",
        "Hello2",
        "",
        None,
        "=?base64?SGVsbG8?=",
        "=?base64?SGVs!G8=?=",
        "=?base64?SGVsbG8=",
        "=?base64?/w==?=",
        "=?base64??=",
        "Hell\xf6",
    ],
)
async def test_a_header_that_does_not_is_a_mismatch(header: str | None) -> None:
    headers = {} if header is None else {f"{PREFIX}Region": header}
    assert told(await find(headers, region="Hello")) == (400, MISMATCH)


@requirement("http:headers:numbers")
@pytest.mark.parametrize("header", ["42", "42.0", " 42 ", "4.2e1", sentinel("42")])
async def test_integers_are_compared_as_numbers(header: str) -> None:
    assert (await find({f"{PREFIX}Count": header}, count=42)).status == 200


@pytest.mark.parametrize("header", ["43", "", "forty-two", "42.5", "0x2a", "1e400", "nan"])
async def test_another_number_is_a_mismatch(header: str) -> None:
    assert told(await find({f"{PREFIX}Count": header}, count=42)) == (400, MISMATCH)


@pytest.mark.parametrize(("header", "status"), [("true", 200), ("True", 400), ("false", 400)])
async def test_a_header_repeats_a_truth_value(header: str, status: int) -> None:
    assert (await find({f"{PREFIX}Open": header}, is_open=True)).status == status


@requirement("http:headers:absent")
@pytest.mark.parametrize("arguments", [{}, {"region": None}])
async def test_what_is_absent_has_no_header(arguments: dict[str, Any]) -> None:
    assert (await find({}, **arguments)).status == 200
    assert told(await find({f"{PREFIX}Region": "Hello"}, **arguments)) == (400, MISMATCH)


async def test_a_property_of_an_object_may_have_a_header() -> None:
    schema = {"properties": {"a": {"properties": {"b": {"type": "string", MARK: "Deep"}}}}}
    assert marked_params(schema) == {"Deep": ("a", "b")}


async def test_other_headers_of_this_kind_are_ignored() -> None:
    assert (await find({f"{PREFIX}Other": "x"}, note="y")).status == 200


@requirement("http:headers:case")
async def test_names_of_headers_are_of_any_case() -> None:
    assert (await find({"MCP-PARAM-REGION": "Hello"}, region="Hello")).status == 200


async def test_a_header_that_came_twice_is_a_mismatch() -> None:
    message = PEER.call(1, "find", region="Hello")
    lines = [(name.lower().encode(), v.encode()) for name, v in headers_of(PEER, message).items()]
    lines += [(f"{PREFIX}region".lower().encode(), value) for value in (b"Hello", b"other")]
    reply = await request(a_server().asgi(), message, headers_as=lines)
    assert told(reply) == (400, MISMATCH)


async def test_in_a_session_arguments_have_no_headers() -> None:
    old = Speaker(HANDSHAKE)
    app = a_server().asgi()
    begun = await request(app, old.initialize(0))
    name = str(old.profile.session_header)
    session = {name: begun.headers[name.lower()]}
    assert (await request(app, old.call(1, "find", region="Hello"), session)).status == 200
    await request(app, headers=session, method="DELETE")


NO_NAME = "^property `a`: x-mcp-header=.*: expected the end of a header's name$"
NO_TYPE = "^property `a`: x-mcp-header='A': expected its type to be one of boolean, integer, string"
NO_PLACE = "^x-mcp-header: only what is reached through `properties` alone can be marked"
WRONG_MARKS = pytest.mark.parametrize(
    ("described", "why"),
    [
        ({"type": "string", MARK: ""}, NO_NAME),
        ({"type": "string", MARK: "a b"}, NO_NAME),
        ({"type": "string", MARK: "a\r\n"}, NO_NAME),
        ({"type": "string", MARK: 7}, NO_NAME),
        ({"type": "number", MARK: "A"}, NO_TYPE),
        ({"type": "array", MARK: "A"}, NO_TYPE),
        ({"type": ["string", "object"], MARK: "A"}, NO_TYPE),
        ({MARK: "A"}, NO_TYPE),
        ({"anyOf": [{"type": "string", MARK: "A"}, {"type": "null"}]}, NO_PLACE),
        ({"type": "array", "items": {"type": "string", MARK: "A"}}, NO_PLACE),
        (
            {"$ref": "#/properties/a/$defs/b", "$defs": {"b": {"type": "string", MARK: "A"}}},
            NO_PLACE,
        ),
    ],
)


@requirement("http:param-headers")
@WRONG_MARKS
def test_a_mark_that_clients_do_not_understand_is_refused(
    described: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        marked_params({"properties": {"a": described}})


def test_a_property_may_be_called_like_the_mark() -> None:
    schema = {"properties": {MARK: {"type": "string", "default": {MARK: "a"}}}}
    assert marked_params(schema) == {}


@requirement("http:param-headers")
def test_two_properties_cannot_share_a_header() -> None:
    one, other = ({"type": "string", MARK: name} for name in ("Region", "REGION"))
    with pytest.raises(UsageError, match=r"property `b`.*another"):
        marked_params({"properties": {"a": one, "b": other}})


if TYPE_CHECKING:
    Region: TypeAlias = str


class Place(msgspec.Struct):
    """Its type is not defined yet when a tool takes it."""

    region: Region


@requirement("http:param-headers")
async def test_a_mark_that_comes_too_late_to_be_refused_is_told_once_and_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("late")

    @server.tool
    async def find(place: Place) -> str:
        return place.region

    monkeypatch.setitem(globals(), "Region", marked(str, "Region"))
    message = PEER.call(1, "find", place={"region": "Hello"})
    for _ in range(2):
        reply = await post(message, headers_of(PEER, message), server)
        assert reply.json["result"]["content"] == [{"type": "text", "text": "Hello"}]
    (told,) = [one for one in caplog.records if one.name == "mcp_gen.server"]
    assert (told.levelname, told.getMessage()) == (
        "WARNING",
        "tool find: x-mcp-header: only what is reached through `properties` alone can be marked: "
        "not what is in a list, a reference or a choice, as the type of an optional parameter is "
        "(give it a default of its own type); its headers are not looked at",
    )


# --- the name ---


def check_name(value: str, **params: str) -> None:
    lines = [(METHOD.lower().encode(), b"m"), (NAME.lower().encode(), value.encode("latin-1"))]
    (field,) = params
    HeaderCheck(PROFILE, [PER_REQUEST]).message(Headers(lines), "m", params, (field, field))


@pytest.mark.parametrize("field", ["name", "uri", "taskId"])
def test_a_name_that_is_not_ascii_is_encoded(field: str) -> None:
    check_name(sentinel("größe"), **{field: "größe"})


@pytest.mark.parametrize("field", ["name", "uri"])
async def test_a_custom_method_needs_no_name_header(field: str) -> None:
    server = Server("custom")

    @server.method("acme/find", params=dict[str, Any], result=dict[str, Any])
    async def find(ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
        return {"found": params[field]}

    message = PEER.request(1, "acme/find", {field: "note://a"})
    headers = {name: v for name, v in headers_of(PEER, message).items() if name != NAME}
    reply = await post(message, headers, server)
    assert (reply.status, reply.json["result"]["found"]) == (200, "note://a")


@requirement("http:headers:decoded")
@pytest.mark.parametrize("value", ["gr\xf6\xdfe", "=?base64?nonsense?=", sentinel("size"), ""])
def test_a_name_that_is_encoded_otherwise_is_a_mismatch(value: str) -> None:
    with pytest.raises(McpError) as caught:
        check_name(value, name="größe")
    assert caught.value.code == MISMATCH


@pytest.mark.parametrize("space", [" ", "\t", "  "])
async def test_space_around_values_does_not_matter(space: str) -> None:
    message = PEER.call(1, "find")
    headers = {name: f"{space}{v}{space}" for name, v in headers_of(PEER, message).items()}
    assert (await post(message, headers)).status == 200


# --- the order ---

GOOD_META = PEER.meta
NO_META: dict[str, Any] = {}
STRANGE = {**PEER.meta, str(PROFILE.protocol_version_key): "v999.0.0"}
NO_CAPABILITIES = {
    key: value for key, value in PEER.meta.items() if key != PROFILE.client_capabilities_key
}


@pytest.mark.parametrize(
    ("headers", "method", "meta", "expected"),
    [
        # Each row is wrong in all the ways of those below it, but for those that exclude it.
        ({VERSION: None, METHOD: "other"}, "no/such", GOOD_META, (400, MISMATCH)),
        ({METHOD: "other"}, "no/such", NO_META, (400, -32602)),
        ({METHOD: "other"}, "no/such", NO_CAPABILITIES, (400, -32602)),
        ({METHOD: "other"}, "no/such", STRANGE, (400, MISMATCH)),
        ({VERSION: "v999.0.0", METHOD: "other"}, "no/such", STRANGE, (400, UNSUPPORTED)),
        ({METHOD: "other"}, "no/such", GOOD_META, (400, MISMATCH)),
        ({METHOD: None}, "no/such", GOOD_META, (400, MISMATCH)),
        ({}, "no/such", GOOD_META, (404, -32601)),
        ({NAME: "other"}, "tools/call", GOOD_META, (400, MISMATCH)),
    ],
)
async def test_what_is_wrong_is_looked_for_in_order(
    headers: dict[str, str | None],
    method: str,
    meta: dict[str, Any],
    expected: tuple[int, int],
) -> None:
    params = {"name": "find", "arguments": [], "_meta": meta}
    message = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    said = {VERSION: PER_REQUEST, METHOD: method, NAME: "find", **headers}
    sent = {name: value for name, value in said.items() if value is not None}
    assert told(await post(message, sent)) == expected


async def test_params_of_another_shape_are_an_answer_like_any_other() -> None:
    message = PEER.request(1, "tools/call", {"name": "find", "arguments": []})
    reply = await post(message, headers_of(PEER, message))
    assert told(reply) == (200, -32602)


async def test_an_answer_has_no_place_where_nobody_is_asked() -> None:
    message = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    reply = await post(message, {VERSION: PER_REQUEST})
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("header", ["Mcp-Session-Id", "Last-Event-ID"])
async def test_what_belongs_to_sessions_is_ignored(header: str) -> None:
    message = PEER.call(1, "find")
    assert (await post(message, {**headers_of(PEER, message), header: "guess"})).status == 200


# --- the headers themselves ---


def test_headers_are_found_in_any_case() -> None:
    headers = Headers([(b"x-user", b"ada"), (b"accept", b"*/*")])
    assert (headers["X-User"], headers.get("nope"), len(headers)) == ("ada", None, 2)
    assert list(headers) == ["x-user", "accept"]


def test_headers_that_came_twice_have_both_values() -> None:
    headers = Headers([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])
    assert dict(headers) == {"a": "1, 3", "b": "2"}


def test_the_values_of_headers_are_not_shown() -> None:
    assert "secret" not in repr(Headers([(b"authorization", b"Bearer secret")]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(b"a", "a"), (b"=?base64?YQ==?=", "a"), (b"=?base64?YQ=?=", None), (b"\xff", None)],
)
def test_a_value_stands_for_a_text(value: bytes, text: str | None) -> None:
    assert decoded_value(value) == text
