"""The watch fails a test whose server sends members that its revision lacks, on any transport."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.server.context.context import origin_of
from mcp_wire import encode
from tests.support.checks.client_watch import ClientWatch
from tests.support.checks.watch import Watch, guarded
from tests.support.frames import Speaker, every_revision, with_handshake
from tests.support.peers.connect import talk

each_transport = pytest.mark.parametrize("over", ["memory", "stdio", "http"])
OLDEST = mcp_wire.REVISIONS[0]


def lying(change: Callable[[dict[str, Any]], Any]) -> Server:
    """Return a server that changes its outbound list of tools."""
    server = Server("lying")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    async def lie(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        if method != "tools/list":
            return result
        said = msgspec.json.decode(encode(result))
        change(said)
        return msgspec.Raw(encode(said))

    server.add_middleware(lie)
    server.runtime.kernel.changed()
    return server


def add_a_key(result: dict[str, Any]) -> None:
    result["tools"][0]["colour"] = "red"


def add_icons(result: dict[str, Any]) -> None:
    result["tools"][0]["icons"] = [{"src": "https://example.org/icon.png"}]


def break_the_schema(result: dict[str, Any]) -> None:
    result["tools"][0]["inputSchema"]["type"] = "array"


def change_nothing(result: dict[str, Any]) -> None:
    """Return the result unchanged."""


async def ask_for_tools(change: Callable[..., None], revision: str, over: str) -> None:
    with guarded():
        async with talk(partial(lying, change), revision, over=over) as client:
            await client.request("tools/list")


@each_transport
@every_revision
async def test_what_is_right_passes(revision: str, over: str) -> None:
    await ask_for_tools(change_nothing, revision, over)


@each_transport
@every_revision
async def test_a_key_that_no_revision_has_fails_the_test(revision: str, over: str) -> None:
    with pytest.raises(AssertionError) as caught:
        await ask_for_tools(add_a_key, revision, over)
    assert caught.value.args[0].splitlines() == [
        "sent what the revision does not have:",
        f"$.result.tools[0].colour: not a key at {revision}",
    ]


@each_transport
async def test_a_key_of_a_later_revision_fails_the_test(over: str) -> None:
    with pytest.raises(AssertionError, match=r"tools\[0\]\.icons: not a key at 2024-11-05"):
        await ask_for_tools(add_icons, OLDEST, over)
    await ask_for_tools(add_icons, mcp_wire.LATEST, over)


@each_transport
@every_revision
async def test_what_the_published_schema_forbids_fails_the_test(revision: str, over: str) -> None:
    with pytest.raises(AssertionError, match='ListToolsResult: "object" was expected'):
        await ask_for_tools(break_the_schema, revision, over)


def chattering() -> Server:
    """Return a server with undefined members, in the response to a call and beside it."""
    server = Server("chattering")
    nonsense: Any = SimpleNamespace(name="notifications/nonsense")

    @server.tool
    async def along(ctx: Context) -> str:
        origin_of(ctx).channel.notify(nonsense)
        return "done"

    @server.tool
    async def beside(ctx: Context) -> str:
        assert ctx.session
        ctx.session.channel.notify(nonsense)
        return "done"

    return server


async def listen_to_chatter(tool: str, revision: str, over: str) -> None:
    with guarded():
        async with talk(chattering, revision, over=over) as client:
            assert await client.text(tool) == "done"
            await client.hears("notifications/nonsense")


@each_transport
@every_revision
async def test_a_notification_that_no_revision_has_fails_the_test(revision: str, over: str) -> None:
    with pytest.raises(AssertionError, match=f"{revision} has no 'notifications/nonsense'"):
        await listen_to_chatter("along", revision, over)


@each_transport
@with_handshake
async def test_what_belongs_to_no_request_is_watched_too(revision: str, over: str) -> None:
    with pytest.raises(AssertionError, match=f"{revision} has no 'notifications/nonsense'"):
        await listen_to_chatter("beside", revision, over)


# --- frames one by one ---


def watched(revision: str) -> Watch:
    seen = Watch()
    for frame in Speaker(revision).opening[:1]:
        seen.saw("client", frame)
        seen.saw("server", encode({"jsonrpc": "2.0", "id": 0, "result": opened(revision)}))
    seen.saw("client", Speaker(revision).request(1, "tools/list"))
    return seen


def opened(revision: str) -> dict[str, Any]:
    return {
        "protocolVersion": revision,
        "capabilities": {},
        "serverInfo": {"name": "s", "version": "1"},
    }


@every_revision
def test_a_watch_finds_out_which_revision_is_spoken(revision: str) -> None:
    seen = watched(revision)
    seen.saw("server", b'{"jsonrpc":"2.0","method":"notifications/nonsense"}')
    assert seen.violations == [f"$.method: {revision} has no 'notifications/nonsense'"]


@every_revision
def test_a_second_answer_to_a_request_is_found(revision: str) -> None:
    seen = watched(revision)
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "broken"}}
    seen.saw("server", encode(error))
    assert seen.violations == []
    seen.saw("server", encode(error))
    assert seen.violations == [f"$.id: answers no request ({revision})"]


def test_a_request_id_that_a_server_uses_again_is_found() -> None:
    revision = mcp_wire.REVISIONS[3]
    seen = watched(revision)
    ping = encode({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    seen.saw("server", ping)
    seen.saw("client", encode({"jsonrpc": "2.0", "id": 7, "result": {}}))
    assert seen.violations == []
    seen.saw("server", ping)
    assert seen.violations == [f"$.id: 7 was used for a request before ({revision})"]


@every_revision
def test_a_request_id_that_a_client_uses_again_is_found_though_it_was_answered(
    revision: str,
) -> None:
    seen = ClientWatch(lambda: revision)
    call = Speaker(revision).call(1, "t")
    seen.saw("client", call)
    seen.saw("server", b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}')
    assert seen.violations == []
    seen.saw("client", call)
    assert seen.violations == [f"tools/call: $.id: 1 was used before ({revision})"]


def test_an_error_whose_data_its_code_forbids_is_found() -> None:
    seen = watched(mcp_wire.LATEST)
    error = {"code": -32022, "message": "no", "data": {"supported": "all"}}
    seen.saw("server", encode({"jsonrpc": "2.0", "id": 1, "error": error}))
    assert '"requested" is a required property' in "".join(seen.violations)


@every_revision
def test_what_a_client_says_is_never_found_wrong(revision: str) -> None:
    seen = watched(revision)
    for said in (b"nonsense", b"[]", b"1", b'{"jsonrpc":"1.0"}', Speaker(revision).request(1, "x")):
        seen.saw("client", said)
    assert seen.violations == []
