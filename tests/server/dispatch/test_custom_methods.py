"""Methods outside the protocol: a server answers them, with types, like those of the protocol."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

import pytest
from msgspec import Struct

import mcp_wire
from mcp_gen import Context, McpError, Server, UsageError
from tests.support.frames import (
    HANDSHAKE,
    PER_REQUEST,
    Speaker,
    encoded,
    every_revision,
)
from tests.support.http import asgi
from tests.support.peers import raw
from tests.support.peers.raw import WAIT_S, RawClient

talking = partial(raw.talking, custom=True)


class Search(Struct, rename="camel"):
    text: str
    at_most: int = 10


@dataclass
class Found:
    items: list[str]


class Nothing(TypedDict):
    pass


def a_server(**options: Any) -> Server:
    server = Server("custom")

    @server.method("acme/search", params=Search, result=Found, **options)
    async def search(ctx: Context, params: Search) -> Found:
        return Found([params.text] * params.at_most)

    return server


def search(client: RawClient, id: int = 1, **params: Any) -> bytes:
    return client.speaker.request(id, "acme/search", params)


def opened(client: RawClient, id: Any) -> bytes:
    """Return a request that any server answers, at any revision."""
    handshake = client.speaker.profile.handshake
    return client.speaker.request(id, "ping" if handshake else "server/discover")


def result_of(answer: Any, speaker: Speaker) -> Any:
    """Return the members of a result, without those that every result of the revision has."""
    result = dict(answer["result"])
    if speaker.profile.server_info_key:
        assert result.pop("resultType") == "complete"
        assert result["_meta"].pop(speaker.profile.server_info_key)["name"] == "custom"
        if not result["_meta"]:
            del result["_meta"]
    return result


@every_revision
async def test_a_request_is_decoded_to_its_params_and_its_result_encoded(revision: str) -> None:
    async with talking(a_server(), revision) as client:
        answer = await client.ask(search(client, text="a", atMost=2))
        assert result_of(answer, client.speaker) == {"items": ["a", "a"]}


@every_revision
@pytest.mark.parametrize(
    ("params", "where"), [({}, "text"), ({"text": 5}, "`$.text`"), ({"text": "", "atMost": ""}, "")]
)
async def test_params_of_another_shape_are_invalid(
    revision: str, params: dict[str, Any], where: str
) -> None:
    async with talking(a_server(), revision) as client:
        error = (await client.ask(search(client, **params)))["error"]
        assert error["code"] == -32602
        assert error["message"].startswith("acme/search: ")
        assert where in error["message"]


@every_revision
async def test_a_request_without_params_is_one_with_none(revision: str) -> None:
    server = Server("custom")

    @server.method("acme/count", params=Nothing, result=dict[str, int])
    async def count(ctx: Context, params: Nothing) -> dict[str, int]:
        return {"n": len(params)}

    async with talking(server, revision) as client:
        message = client.speaker.request(1, "acme/count")
        if client.speaker.profile.handshake:
            message = encoded({"jsonrpc": "2.0", "id": 1, "method": "acme/count"})
        assert result_of(await client.ask(message), client.speaker)["n"] in (0, 1)


@every_revision
async def test_a_result_may_be_empty_and_may_have_a_meta_of_its_own(revision: str) -> None:
    server = Server("custom")

    @server.method("acme/echo", params=dict[str, dict[str, Any]], result=dict[str, Any])
    async def echo(ctx: Context, params: dict[str, dict[str, Any]]) -> dict[str, Any]:
        return params["give"]

    async with talking(server, revision) as client:
        for given in ({}, {"_meta": {"acme/took": 3}}, {"_meta": {"acme/took": 3}, "n": None}):
            answer = await client.ask(client.speaker.request(1, "acme/echo", {"give": given}))
            assert result_of(answer, client.speaker) == given


@every_revision
async def test_its_handler_has_the_context_of_any_request(revision: str) -> None:
    server = Server("custom")

    @server.method("acme/work", params=Nothing, result=Nothing)
    async def work(ctx: Context, params: Nothing) -> Nothing:
        assert (ctx.revision, ctx.request_id) == (revision, "w")
        await ctx.report_progress(1)
        return {}

    async with talking(server, revision) as client:
        params = {"_meta": {"progressToken": "t"}}
        client.send(client.speaker.request("w", "acme/work", params))
        assert (await client.next())["params"] == {"progressToken": "t", "progress": 1}
        assert "result" in await client.answer("w")


@every_revision
async def test_what_its_handler_raises_is_the_error(revision: str) -> None:
    server = Server("custom")

    @server.method("acme/fail", params=Nothing, result=Nothing)
    async def fail(ctx: Context, params: Nothing) -> Nothing:
        raise McpError(-31000, "no", {"why": 1})

    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.request(1, "acme/fail"))
        assert answer["error"] == {"code": -31000, "message": "no", "data": {"why": 1}}


@every_revision
async def test_a_result_that_is_no_object_is_an_internal_error(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("custom")

    @server.method("acme/list", params=Nothing, result=list)
    async def give(ctx: Context, params: Nothing) -> list[Any]:
        return []

    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.request(1, "acme/list"))
        assert answer["error"] == {"code": -32603, "message": "internal error"}
    assert "expected a result that is a JSON object, got list" in caplog.text


@every_revision
async def test_it_is_answered_only_at_the_revisions_it_is_for(revision: str) -> None:
    async with talking(a_server(revisions=[HANDSHAKE]), revision) as client:
        answer = await client.ask(search(client, text="a"))
        if client.speaker == Speaker(HANDSHAKE):
            assert "result" in answer
        else:
            assert answer["error"]["code"] == -32601


async def test_it_comes_after_the_handshake_like_any_request() -> None:
    async with talking(a_server(), HANDSHAKE, opened=False) as client:
        answer = await client.ask(search(client, text="a"))
        assert answer["error"]["code"] == -32600


async def test_it_says_who_asks_where_every_request_does() -> None:
    async with talking(a_server(), PER_REQUEST) as client:
        key = str(client.speaker.profile.protocol_version_key)
        params = {"text": "a", "_meta": {key: PER_REQUEST}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "acme/search", "params": params}
        assert (await client.ask(encoded(message)))["error"]["code"] == -32602


@every_revision
async def test_hooks_and_middleware_for_every_request_are_around_it(revision: str) -> None:
    server, said = a_server(), list[str]()
    server.hooks.before_any(lambda ctx, method, params: said.append(f"before {method}"))
    server.hooks.on_success(lambda ctx, method, params, result: said.append(repr(result)))

    @server.middleware
    async def around(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if method == "acme/search":
            said.append(repr(params))
        return await call_next(params)

    async with talking(server, revision) as client:
        said.clear()
        await client.ask(search(client, text="a", atMost=1))
    assert said == [repr(Search("a", 1)), "before acme/search", repr(Found(["a"]))]


@every_revision
async def test_it_may_be_added_while_clients_are_there(revision: str) -> None:
    server = Server("custom")
    async with talking(server, revision) as client:
        assert "error" in await client.ask(client.speaker.request(1, "acme/late"))

        @server.method("acme/late", params=Nothing, result=Nothing)
        async def late(ctx: Context, params: Nothing) -> Nothing:
            return {}

        assert "result" in await client.ask(client.speaker.request(2, "acme/late"))


async def test_it_is_answered_over_http_too() -> None:
    app, speaker = a_server().asgi(), Speaker(PER_REQUEST)
    message = speaker.request(1, "acme/search", {"text": "a", "atMost": 1})
    reply = await asgi.request(app, message, asgi.headers_of(speaker, message))
    assert result_of(reply.json, speaker) == {"items": ["a"]}


# --- notifications ---


@every_revision
async def test_a_notification_is_decoded_and_heard(revision: str) -> None:
    server, heard, came = Server("custom"), list[Any](), asyncio.Event()

    @server.notification("acme/note", params=Search)
    async def note(ctx: Context, params: Search) -> None:
        heard.append((ctx.revision, params))
        came.set()

    async with talking(server, revision) as client:
        await client.ask(opened(client, 1))
        client.send(encoded({"jsonrpc": "2.0", "method": "acme/note", "params": {"text": "a"}}))
        await asyncio.wait_for(came.wait(), WAIT_S)
    assert heard == [(revision, Search("a"))]


async def test_a_notification_of_another_shape_is_not_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, heard = Server("custom"), list[Any]()

    @server.notification("acme/note", params=Search)
    async def note(ctx: Context, params: Search) -> None:
        heard.append(params)

    async with talking(server, HANDSHAKE) as client:
        client.send(encoded({"jsonrpc": "2.0", "method": "acme/note", "params": {"text": 5}}))
        await client.ask(client.speaker.request(1, "ping"))
    assert heard == []
    assert "acme/note: Expected `str`" in caplog.text


async def test_a_notification_is_heard_only_at_the_revisions_it_is_for() -> None:
    server, heard, came = Server("custom"), list[Any](), asyncio.Event()

    @server.notification("acme/note", params=Search, revisions=[HANDSHAKE])
    async def note(ctx: Context, params: Search) -> None:
        heard.append(ctx.revision)
        came.set()

    message = encoded({"jsonrpc": "2.0", "method": "acme/note", "params": {"text": "a"}})
    async with talking(server, PER_REQUEST) as client:
        await client.ask(opened(client, 1))
        client.send(message)
        await client.ask(opened(client, 2))
    async with talking(server, HANDSHAKE) as client:
        client.send(message)
        await asyncio.wait_for(came.wait(), WAIT_S)
    assert heard == [HANDSHAKE]


# --- declared capabilities, and immediate errors ---


@every_revision
async def test_what_is_experimental_is_declared_as_it_is(revision: str) -> None:
    declared = {"acme/search": {"languages": ["en"]}, "acme/empty": {}}
    server = Server("custom", experimental=declared)
    profile = mcp_wire.profile(revision)
    async with talking(server, revision, opened=False) as client:
        ask = client.speaker.initialize(1) if profile.handshake else None
        answer = await client.ask(ask or client.speaker.request(1, "server/discover"))
        assert answer["result"]["capabilities"]["experimental"] == declared


class Strict(Struct, forbid_unknown_fields=True):
    text: str


@pytest.mark.parametrize(
    ("name", "params", "advice"),
    [
        ("tools/call", Search, "belongs to the protocol; give yours a prefix"),
        ("resources/subscribe", Search, "belongs to the protocol"),
        ("server/discover", Search, "belongs to the protocol"),
        ("rpc.acme", Search, "JSON-RPC keeps this name for itself"),
        ("", Search, "JSON-RPC keeps this name for itself"),
        ("acme/other", complex | bytes | str, "params of "),
        ("acme/other", Strict, "take `forbid_unknown_fields` away"),
    ],
)
@pytest.mark.parametrize("kind", ["method", "notification"])
def test_a_name_or_a_type_that_cannot_be_is_refused_with_advice(
    kind: str, name: str, params: Any, advice: str
) -> None:
    server = Server("refuses")
    result = {"result": Found} if kind == "method" else {}
    with pytest.raises(UsageError, match=advice):
        getattr(server, kind)(name, params=params, **result)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'acme/search' is there already"):
        a_server().method("acme/search", params=Search, result=Found)


def test_a_handler_that_is_not_async_is_refused() -> None:
    def search(ctx: Context, params: Search) -> Any: ...

    with pytest.raises(UsageError, match="its handler is not async; write `async def`"):
        Server("refuses").method("acme/search", params=Search, result=Found)(search)


def test_a_revision_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="no revision '1999-01-01'"):
        a_server(revisions=["1999-01-01"])
