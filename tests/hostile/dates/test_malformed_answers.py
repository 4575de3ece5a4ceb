"""Malformed errors and openings of foreign peers: read as far as possible, never a raw error."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, Context, McpError, McpGenError, Server, Violation
from mcp_gen.core.envelope import read_error
from tests.client.using import using
from tests.support.frames import ALL, encoded, every_revision, with_handshake
from tests.support.http.loopback import Got, Line, scripted_web
from tests.support.peers.raw import talking
from tests.support.peers.scripted import MemoryPeer, opening

PER_REQUEST = [one for one in ALL if not mcp_wire.profile(one).handshake]

NO_TEXT = "an error without a message"
NO_CODE = "an error without a code"
ERRORS: dict[str, tuple[Any, tuple[int, str, Any]]] = {
    "a whole one": ({"code": 1, "message": "m", "data": [2]}, (1, "m", [2])),
    "no message": ({"code": -32602}, (-32602, NO_TEXT, None)),
    "no message, with data": ({"code": -32602, "data": {"a": 1}}, (-32602, NO_TEXT, {"a": 1})),
    "a message that is null": ({"code": -32602, "message": None}, (-32602, NO_TEXT, None)),
    "a message that is a number": ({"code": -32602, "message": 5}, (-32602, NO_TEXT, None)),
    "a message that is a list": ({"code": 7, "message": ["m"]}, (7, NO_TEXT, None)),
    "a code that is 7.0": ({"code": 7.0, "message": "m"}, (7, "m", None)),
    "a code that is 7.5": ({"code": 7.5, "message": "m"}, (-32603, "m", None)),
    "a code that is a text": ({"code": "E1", "message": "m"}, (-32603, "m", None)),
    "a code that is true": ({"code": True, "message": "m"}, (-32603, "m", None)),
    "no code": ({"message": "m", "data": 3}, (-32603, "m", 3)),
    "no code and no message": ({"data": 3}, (-32603, NO_CODE, 3)),
    "more members": ({"code": 7, "message": "m", "stack": ["a"]}, (7, "m", None)),
    "data that is null": ({"code": 7, "message": "m", "data": None}, (7, "m", None)),
    "a text": ("boom", (-32603, "an error without a code: boom", None)),
    "a list": ([1], (-32603, "an error without a code and a message", None)),
    "a number": (5, (-32603, "an error without a code and a message", None)),
}
errors = pytest.mark.parametrize(("sent", "kept"), ERRORS.values(), ids=ERRORS)


def parts(error: McpError) -> tuple[int, str, Any]:
    """Return what an error holds."""
    return error.code, error.message, error.data


@every_revision
@errors
async def test_a_client_keeps_what_it_can_of_a_servers_error(
    revision: str, sent: Any, kept: tuple[int, str, Any]
) -> None:
    server = MemoryPeer({**opening(revision), "tools/list": lambda _: {"error": sent}})
    async with using(Client("c"), await server.start(), revision) as session:
        with pytest.raises(McpError) as caught:
            await session.list_tools()
    assert parts(caught.value) == kept


@errors
async def test_a_client_keeps_what_it_can_of_an_error_with_a_status(
    sent: Any, kept: tuple[int, str, Any]
) -> None:
    async def refuse(got: Got, line: Line) -> None:
        frame = {"jsonrpc": "2.0", "id": got.json["id"], "error": sent}
        await line.answer(200, msgspec.json.encode(frame), "application/json")

    async with scripted_web(refuse) as web, Client("test") as client:
        with pytest.raises(McpError) as caught:
            await client.connect(web.url, revision=ALL[-2])
    assert parts(caught.value) == kept


@with_handshake
@errors
async def test_a_server_keeps_what_it_can_of_a_clients_error(
    revision: str, sent: Any, kept: tuple[int, str, Any]
) -> None:
    server, seen = Server("asks"), list[McpError]()

    @server.tool
    async def ask(ctx: Context) -> str:
        try:
            await ctx.list_roots()
        except McpError as error:
            seen.append(error)
        return "done"

    async with talking(server, revision, opened=False) as client:
        speaker = client.speaker
        opened = msgspec.json.decode(speaker.initialize(0))
        opened["params"]["capabilities"] = {"roots": {}}
        await client.ask(encoded(opened))
        client.send(speaker.initialized, speaker.call(1, "ask"))
        asked = await client.take(_asks_for_roots)
        client.send(encoded({"jsonrpc": "2.0", "id": asked["id"], "error": sent}))
        await client.answer(1)
    assert [parts(error) for error in seen] == [kept]


def _asks_for_roots(frame: Any) -> bool:
    return bool(frame.get("method") == "roots/list")


@pytest.mark.parametrize("text", [b"{", b"\xff", b'{"code":' + b"[" * 100_000])
def test_an_error_that_is_no_json_is_an_internal_one(text: bytes) -> None:
    assert read_error(msgspec.Raw(text)).code == -32603


@every_revision
@pytest.mark.parametrize("error", [None, {"code": 7, "message": "m"}])
async def test_an_error_that_is_null_beside_a_result_is_none(revision: str, error: Any) -> None:
    hints = {"ttlMs": 0, "cacheScope": "private"} if mcp_wire.profile(revision).cache_hints else {}
    result: dict[str, Any] = {"tools": [], "resultType": "complete", **hints}
    server = MemoryPeer(
        {**opening(revision), "tools/list": lambda _: {"result": result, "error": error}}
    )
    async with using(Client("c"), await server.start(), revision) as session:
        if error is None:
            assert (await session.list_tools()).tools == []
        else:
            with pytest.raises(McpError):
                await session.list_tools()


# --- openings ---

ODD: list[Any] = [
    None,
    7,
    True,
    "text",
    [],
    [1],
    {},
    {"a": 1},
    {"name": "n"},
    {"name": 5, "version": "1"},
    {"name": "n", "version": 1, "icons": [{"src": 1}]},
    {"tools": True},
    {"experimental": 7},
    {"extensions": {"a": 7}},
]
MEMBERS = [
    ["serverInfo"],
    ["capabilities"],
    ["instructions"],
    ["protocolVersion"],
    ["supportedVersions"],
    ["ttlMs"],
    ["cacheScope"],
    ["resultType"],
    ["_meta"],
    *(["_meta", str(mcp_wire.profile(one).server_info_key)] for one in PER_REQUEST),
]


def opens_with(revision: str, path: list[str], value: Any) -> MemoryPeer:
    """Return a server whose opening has this member."""
    answers = opening(revision)
    (method,) = answers
    opened = answers[method](None)
    inner = opened
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value
    return MemoryPeer({method: lambda _: opened})


@every_revision
@pytest.mark.parametrize("path", MEMBERS, ids=".".join)
async def test_a_malformed_opening_raises_no_error_but_one_of_ours(
    revision: str, path: list[str]
) -> None:
    for value in ODD:
        transport = await opens_with(revision, path, value).start()
        async with Client("c", validation="report") as client:
            try:
                session = await client.connect(transport, revision=revision)
            except McpGenError:
                continue  # named, and of our own family
            seen = (session.server_info, session.server_capabilities, session.instructions)
            assert session.__mcp_relay__().name
            assert len(seen) == 3


@pytest.mark.parametrize("revision", PER_REQUEST)
@pytest.mark.parametrize(
    ("sent", "kept", "faults"),
    [
        ({"name": "n"}, ("n", "", None), [".version"]),
        ({"version": "1"}, ("", "1", None), [".name"]),
        ({"name": 5, "version": "1", "title": "T"}, ("", "1", "T"), [".name"]),
        ({"name": "n", "version": 1, "title": 2}, ("n", "", None), [".title", ".version"]),
        ({"name": "n", "version": "1", "icons": 7}, ("n", "1", None), [".icons"]),
        ({}, ("", "", None), [".name", ".version"]),
        ([1], None, [""]),
        ("me", None, [""]),
        (7, None, [""]),
    ],
)
async def test_a_malformed_server_info_is_a_violation_and_read_as_far_as_it_goes(
    revision: str, sent: Any, kept: tuple[str, str, str | None] | None, faults: list[str]
) -> None:
    key = str(mcp_wire.profile(revision).server_info_key)
    transport = await opens_with(revision, ["_meta", key], sent).start()
    client, reports = Client("c", validation="report"), list[Violation]()
    client.on_violation(reports.append)
    async with using(client, transport, revision) as session:
        info = session.server_info
    assert (info and (info.name, info.version, info.title)) == kept
    assert sorted(report.path for report in reports) == [
        f"$.result._meta.{key}{fault}" for fault in faults
    ]
    assert {report.method for report in reports} == {"server/discover"}


@every_revision
@pytest.mark.parametrize("meta", [7, "a", [], [1], True])
async def test_a_result_with_a_malformed_meta_raises_an_error_of_ours(
    revision: str, meta: Any
) -> None:
    result: dict[str, Any] = {"tools": [], "resultType": "complete", "_meta": meta}
    server = MemoryPeer({**opening(revision), "tools/list": lambda _: result})
    async with using(Client("c"), await server.start(), revision) as session:
        with pytest.raises(McpGenError, match=r"tools/list: .*`\$\._meta`"):
            await session.list_tools()
