"""Tools whose arguments are marked with `x-mcp-header` as no conforming client accepts it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, Any, Optional, TypeAlias

import msgspec
import pydantic
import pytest

import mcp_wire
from mcp_gen import Argument, Client, Server, UsageError, transformed
from mcp_gen.core.transport.header_params import MARK, marked_params
from mcp_wire import latest
from tests.client.scripted import CannedServer
from tests.client.using import using
from tests.support.frames import ALL, HANDSHAKE, PER_REQUEST
from tests.support.peers.connect import talk

Schema: TypeAlias = dict[str, Any]


def tool_of(properties: Schema) -> latest.Tool:
    """Return a tool with an argument of each schema."""
    return latest.Tool(name="t", input_schema={"type": "object", "properties": properties})


WRONG: dict[str, tuple[Schema, str]] = {
    "a number": ({"a": {"type": "number", MARK: "A"}}, "property `a`: .*expected its type"),
    "an object": ({"a": {"type": "object", MARK: "A"}}, "property `a`: .*expected its type"),
    "no type": ({"a": {MARK: "A"}}, "property `a`: .*expected its type"),
    "two types": ({"a": {"type": ["string", "null"], MARK: "A"}}, "expected its type"),
    "no name": ({"a": {"type": "string", MARK: ""}}, "expected the end of a header's name"),
    "no text": ({"a": {"type": "string", MARK: 7}}, "expected the end of a header's name"),
    "a space": ({"a": {"type": "string", MARK: "A b"}}, "expected the end of a header's name"),
    "a line end": ({"a": {"type": "string", MARK: "A\r\nX: b"}}, "the end of a header's name"),
    "a colon": ({"a": {"type": "string", MARK: "A:"}}, "the end of a header's name"),
    "outside ASCII": ({"a": {"type": "string", MARK: "Größe"}}, "the end of a header's name"),
    "twice": (
        {"a": {"type": "string", MARK: "A"}, "b": {"type": "string", MARK: "A"}},
        "property `b`: .*another property",
    ),
    "twice in other letters": (
        {"a": {"type": "string", MARK: "Reg"}, "b": {"type": "string", MARK: "rEG"}},
        "property `b`: .*another property",
    ),
    "in items": (
        {"a": {"type": "array", "items": {"type": "string", MARK: "A"}}},
        "reached through `properties` alone",
    ),
    "in a choice": (
        {"a": {"anyOf": [{"type": "string", MARK: "A"}, {"type": "null"}]}},
        "reached through `properties` alone",
    ),
    "in a definition": (
        {"a": {"$defs": {"x": {"type": "string", MARK: "A"}}}},
        "reached through `properties` alone",
    ),
}
wrong = pytest.mark.parametrize(("properties", "why"), WRONG.values(), ids=WRONG)


async def nothing(ctx: Any, arguments: Any) -> str:
    return "done"


async def two(a: Any = None, b: Any = None) -> str:
    return "done"


def as_described(server: Server, properties: Schema) -> None:
    server.add_tool(tool_of(properties), nothing)


def as_input_schema(server: Server, properties: Schema) -> None:
    server.add_tool(two, input_schema=tool_of(properties).input_schema)


def as_changed_argument(server: Server, properties: Schema) -> None:
    other = Server("other")
    plain: Schema = {name: {} for name in properties}
    other.add_tool(tool_of(plain), nothing)
    changes = {name: Argument(schema=schema) for name, schema in properties.items()}
    server.add_tool(transformed(other.tools["t"], arguments=changes))


@wrong
@pytest.mark.parametrize("define", [as_described, as_input_schema, as_changed_argument])
def test_a_mark_that_no_client_accepts_is_refused_with_its_reason(
    define: Callable[[Server, Schema], None], properties: Schema, why: str
) -> None:
    server = Server("marked")
    with pytest.raises(UsageError, match=f"^tool (t|two): .*{why}"):
        define(server, properties)
    assert server.tools.names == []


def test_a_tool_is_not_replaced_by_one_that_is_marked_wrongly() -> None:
    server = Server("marked")
    as_described(server, {"a": {"type": "string", MARK: "A"}})
    worse = transformed(server.tools["t"], arguments={"a": Argument(schema={MARK: ""})})
    with pytest.raises(UsageError, match="the end of a header's name"):
        server.tools.replace("t", worse)
    assert server.tools["t"].tool.input_schema["properties"] == {"a": {"type": "string", MARK: "A"}}


def marked(mark: str) -> Any:
    """Return what marks a type of msgspec."""
    return msgspec.Meta(extra_json_schema={MARK: mark})


class Inner(msgspec.Struct):
    """A Struct with a field that is marked wrongly."""

    a: Annotated[float, marked("A")]


class Model(pydantic.BaseModel):
    """A pydantic model with a field that is marked wrongly."""

    a: float = pydantic.Field(json_schema_extra={MARK: "A"})


class Whole(pydantic.BaseModel):
    """A pydantic model that is marked wrongly itself."""

    model_config = pydantic.ConfigDict(json_schema_extra={MARK: "A"})


HINTS: list[Any] = [
    Annotated[float, marked("A")],
    Annotated[str, marked("")],
    Annotated[str, marked("a\r\nb")],
    Optional[Annotated[str, marked("A")]],  # noqa: UP045  # the other spelling
    list[Annotated[str, marked("A")]],
    dict[str, Annotated[str, marked("A")]],
    Inner,
    Annotated[float, pydantic.Field(json_schema_extra={MARK: "A"})],
    Model,
    list[Model],
    Whole,
]


@pytest.mark.parametrize("hint", HINTS, ids=str)
def test_a_mark_in_an_annotation_that_no_client_accepts_is_refused(hint: Any) -> None:
    server = Server("marked")

    async def find(it: Any) -> str:
        return "done"

    find.__annotations__["it"] = hint
    with pytest.raises(UsageError, match=f"^tool find: .*{MARK}"):
        server.tool(find)
    assert server.tools.names == []


def test_two_parameters_cannot_have_one_header() -> None:
    server = Server("marked")

    async def find(
        one: Annotated[str, marked("Region")], other: Annotated[str, marked("REGION")]
    ) -> str:
        return "done"

    with pytest.raises(UsageError, match=r"property `other`: .*another property"):
        server.tool(find)


def test_what_clients_accept_is_taken() -> None:
    server = Server("marked")

    async def find(
        region: Annotated[str, marked("Region")],
        limit: Annotated[int, marked("Limit")] = 1,
        loud: Annotated[bool, pydantic.Field(json_schema_extra={MARK: "Loud"})] = False,
    ) -> str:
        return "done"

    server.tool(find)
    assert set(server.tools["find"].header_params) == {b"region", b"limit", b"loud"}


def test_a_schema_may_be_nested_deeper_than_python_calls() -> None:
    schema: Schema = {"type": "string", MARK: "A"}
    for _ in range(10_000):
        schema = {"properties": {"a": schema}}
    assert len(marked_params(schema)["A"]) == 10_000


# --- mounted remote tools ---

GOOD = {"name": "good", "inputSchema": {"type": "object"}}


def far(inside: str, properties: Schema) -> CannedServer:
    """Return a remote server with a tool that is marked wrongly, and another one."""
    bad = {"name": "bad", "inputSchema": {"type": "object", "properties": properties}}
    hints = {"ttlMs": 0, "cacheScope": "public"} if mcp_wire.profile(inside).cache_hints else {}
    server = CannedServer(inside)
    server.on("tools/list", server.complete({"tools": [bad, GOOD], **hints}))
    called = {"content": [{"type": "text", "text": "far"}]}
    return server.on("tools/call", server.complete(called))


@pytest.mark.parametrize("over", ["memory", "http"])
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("fault", ["a number", "a line end", "twice", "in items"])
async def test_a_remote_tool_is_left_out_where_clients_would_drop_it(
    revision: str, over: str, fault: str
) -> None:
    server = Server("gateway")
    remote = far(HANDSHAKE, WRONG[fault][0])
    async with using(Client("between"), remote, HANDSHAKE) as session:
        server.mount("far", session)
        async with talk(lambda: server, revision, over=over) as client:
            names = await client.names("tools/list", "tools")
            again = await client.names("tools/list", "tools")
        server.unmount("far")
    drops = over == "http" and mcp_wire.profile(revision).param_header_prefix is not None
    assert names == again == (["far_good"] if drops else ["far_bad", "far_good"])


async def test_the_reason_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("gateway")
    remote = far(HANDSHAKE, {"a": {"type": "number", MARK: "A"}})
    caplog.set_level(logging.WARNING)
    async with using(Client("between"), remote, HANDSHAKE) as session:
        server.mount("far", session)
        async with talk(lambda: server, PER_REQUEST, over="http") as client:
            for _ in range(3):
                await client.names("tools/list", "tools")
            await client.text("far_bad", a=1)
        server.unmount("far")
    (warning,) = caplog.messages
    assert warning.startswith("mount 'far': 'far_bad' is left out over HTTP: property `a`: ")


@pytest.mark.parametrize("over", ["memory", "http"])
@pytest.mark.parametrize("revision", ALL)
async def test_a_remote_tool_that_is_left_out_is_still_called_by_its_name(
    revision: str, over: str
) -> None:
    server = Server("gateway")
    remote = far(HANDSHAKE, {"a": {"type": "number", MARK: "A"}})
    async with using(Client("between"), remote, HANDSHAKE) as session:
        server.mount("far", session)
        async with talk(lambda: server, revision, over=over) as client:
            await client.names("tools/list", "tools")
            assert await client.text("far_bad", a=1) == "far"
        server.unmount("far")


async def test_the_lists_of_one_revision_differ_by_transport_whichever_is_asked_first() -> None:
    server = Server("gateway")
    remote = far(HANDSHAKE, {"a": {"type": "number", MARK: "A"}})
    names: list[list[str]] = []
    async with using(Client("between"), remote, HANDSHAKE) as session:
        server.mount("far", session)
        for over in ("memory", "http", "memory", "http"):
            async with talk(lambda: server, PER_REQUEST, over=over) as client:
                names.append(await client.names("tools/list", "tools"))
        server.unmount("far")
    assert names == 2 * [["far_bad", "far_good"], ["far_good"]]
