"""`on_error` hears of requests that a server refuses before their handler, over every transport."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, InvalidParams, MethodNotFound, Server
from mcp_wire.method import Method
from tests.session.kernel.test_every_hook import each
from tests.session.kernel.test_missing_methods import each_lacked
from tests.support.frames import (
    PER_REQUEST,
    STREAMABLE,
    Speaker,
    encoded,
    every_revision,
    with_batches,
    with_handshake,
)
from tests.support.http import asgi
from tests.support.peers.connect import Connect
from tests.support.peers.minimal_peers import Everything, minimal_params, request_names
from tests.support.peers.raw import WAIT_S, RawClient, talking

REFUSED = {
    "tools/list": (InvalidParams, {"cursor": 5}),
    "acme/unknown": (MethodNotFound, {}),
}
each_refused = pytest.mark.parametrize("method", REFUSED)


def audited() -> Server:
    """Return a server whose tool `heard` tells what `on_error` was called with so far."""
    server = Server("audited")
    heard: list[str] = []

    @server.hooks.on_error
    def failed(ctx: Context, method: str, params: Any, error: BaseException) -> None:
        heard.append(f"{ctx.revision} {method} {params} {type(error).__name__}: {error}")

    @server.tool(name="heard")
    async def tell() -> str:
        return "\n".join(heard)

    return server


@each_refused
async def test_it_hears_over_every_transport_of_what_was_asked_and_why_it_was_refused(
    connect: Connect, method: str
) -> None:
    kind, params = REFUSED[method]
    async with connect(audited) as client:
        refused = await client.refusal(method, params)
        assert refused.code == kind.code
        said = f"{connect.revision} {method} None {kind.__name__}: {refused.error['message']}"
        assert await client.text("heard") == said


class Told:
    """Server that answers every request, and what its hooks were told."""

    def __init__(self, revision: str) -> None:
        self.server = Everything(revision)
        self.told: list[tuple[Any, str, Any, BaseException]] = []
        self.news = asyncio.Event()

    def listen(self) -> None:
        """Add an `on_error` hook, and hooks of all other kinds, which must not run."""
        hooks = self.server.hooks

        @hooks.on_error
        def failed(ctx: Context, method: str, params: Any, error: BaseException) -> None:
            self.told.append((ctx.request_id, method, params, error))
            self.news.set()

        hooks.before_any(lambda ctx, method, params: self.server.said.append("before_any"))
        hooks.on_success(lambda ctx, method, *_: self.server.said.append("on_success"))
        for name in request_names(hooks).values():
            getattr(hooks, f"error_{name}")(lambda *_: self.server.said.append("error"))

    async def once(self) -> tuple[Any, str, Any, BaseException]:
        """Return the one call of the hook."""
        async with asyncio.timeout(WAIT_S):
            await self.news.wait()
        (only,) = self.told
        return only


async def refused_twice(
    revision: str, request: Callable[[RawClient], bytes], *, opened: bool = True
) -> tuple[Any, tuple[Any, str, Any, BaseException]]:
    """Return the answer, after comparing it with that of a server without hooks, and what was told.

    No other hook and no handler may have run.
    """
    bare, told = Told(revision), Told(revision)
    async with talking(bare.server, revision, opened=opened) as client:
        expected = await client.ask(request(client))
    async with talking(told.server, revision, opened=opened) as client:
        told.listen()
        told.server.said.clear()
        answer = await client.ask(request(client))
        heard = await told.once()
    assert answer == expected
    assert told.server.said == []
    return answer, heard


@each_lacked("server")
async def test_it_hears_of_every_method_that_the_revision_lacks(revision: str, method: str) -> None:
    answer, (id, name, params, error) = await refused_twice(
        revision, lambda client: client.speaker.request(7, method)
    )
    assert (id, name, params) == (7, method, None)
    assert type(error) is MethodNotFound
    assert answer["error"] == {"code": MethodNotFound.code, "message": str(error)}


@each("request", "server")
async def test_it_hears_of_undecodable_params_of_every_method(
    revision: str, method: Method[Any, Any]
) -> None:
    frame = {"jsonrpc": "2.0", "id": 7, "method": method.name, "params": broken(revision, method)}
    answer, (id, name, params, error) = await refused_twice(
        revision, lambda client: encoded(frame), opened=method.name != "initialize"
    )
    assert (id, name, params) == (7, method.name, None)
    assert type(error) is InvalidParams
    assert answer["error"] == {"code": InvalidParams.code, "message": str(error)}


def broken(revision: str, method: Method[Any, Any]) -> dict[str, Any]:
    """Return params with one member of the wrong type."""
    meta = Speaker(revision).meta
    names = [field.encode_name for field in msgspec.structs.fields(method.params)]
    others = [name for name in names if name != "_meta"]
    if others:
        return {**minimal_params(revision, method), "_meta": meta, others[0]: [[]]}
    key = mcp_wire.profile(revision).client_capabilities_key
    return {"_meta": {**meta, key: 5} if key else 5}


@with_handshake
async def test_it_hears_nothing_of_what_is_not_admitted(revision: str) -> None:
    told = Told(revision)
    told.listen()
    async with talking(told.server, revision, opened=False) as client:
        early = await client.ask(client.speaker.request(1, "acme/unknown"))
        client.send(*client.speaker.opening)
        await client.answer(0)
    assert "first" in early["error"]["message"]
    assert told.told == []


@with_batches
async def test_it_hears_of_a_message_in_a_batch(revision: str) -> None:
    told = Told(revision)
    async with talking(told.server, revision) as client:
        told.listen()
        requests = [client.speaker.request(1, "acme/unknown"), client.speaker.request(2, "ping")]
        client.send(b"[%b]" % b",".join(requests))
        answers = await client.next()
        assert (await told.once())[:2] == (1, "acme/unknown")
    assert {one["id"]: "error" in one for one in answers} == {1: True, 2: False}


# --- hooks that are slow, or broken ---


@every_revision
@each_refused
async def test_the_answer_does_not_wait_for_a_slow_hook_and_the_end_of_the_server_does(
    revision: str, method: str
) -> None:
    server, answered, ended = Server("slow"), asyncio.Event(), asyncio.Event()

    @server.hooks.on_error
    async def slow(ctx: Context, method: str, params: Any, error: BaseException) -> None:
        await answered.wait()
        await asyncio.sleep(0)
        ended.set()

    server.add_tool(nothing)
    async with talking(server, revision) as client:
        assert "error" in await client.ask(client.speaker.request(1, method, REFUSED[method][1]))
        answered.set()
    assert ended.is_set()


async def nothing() -> None:
    """Do nothing."""


@every_revision
@each_refused
async def test_a_hook_that_fails_is_logged_and_the_next_one_runs(
    revision: str, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, heard = Server("broken"), asyncio.Event()
    server.add_tool(nothing)
    server.hooks.on_error(lambda ctx, method, params, error: [][0])
    server.hooks.on_error(lambda ctx, method, params, error: heard.set())
    async with talking(server, revision) as client:
        assert "error" in await client.ask(client.speaker.request(1, method, REFUSED[method][1]))
        await asyncio.wait_for(heard.wait(), WAIT_S)
    assert "a hook failed" in caplog.text


# --- HTTP ---


def hooked(server: Server, told: list[tuple[str, str]]) -> Server:
    """Return the server with an `on_error` hook that tells the method and the kind of error."""

    @server.hooks.on_error
    def failed(ctx: Context, method: str, params: Any, error: BaseException) -> None:
        assert ctx.headers is not None
        told.append((method, type(error).__name__))

    return server


def listing() -> Server:
    """Return a server with one tool."""
    server = Server("listing")
    server.add_tool(nothing)
    return server


@pytest.mark.parametrize("revision", STREAMABLE)
@pytest.mark.parametrize("stateless", [False, True], ids=["sessions", "stateless"])
@each_refused
async def test_over_http_status_and_body_are_what_they_are_without_a_hook(
    revision: str, stateless: bool, method: str
) -> None:
    kind, params = REFUSED[method]
    told: list[tuple[str, str]] = []

    async def refused(server: Server) -> tuple[int, bytes]:
        app, speaker = server.asgi(stateless=stateless), Speaker(revision)
        message = speaker.request(7, method, params)
        session = {} if stateless else await asgi.begin(app, speaker)
        if session:
            await asgi.request(app, speaker.initialized, session)
        reply = await asgi.request(app, message, {**session, **asgi.headers_of(speaker, message)})
        if session:
            await asgi.end(app, session)
        await server.aclose()
        return reply.status, reply.body

    assert await refused(hooked(listing(), told)) == await refused(listing())
    assert told == [(method, kind.__name__)]


@pytest.mark.parametrize("revision", [one for one in STREAMABLE if one != PER_REQUEST])
async def test_over_http_it_hears_of_a_handshake_that_cannot_be_read(revision: str) -> None:
    told: list[tuple[str, str]] = []
    released = asyncio.Event()
    server = hooked(listing(), told)
    server.hooks.on_error(lambda *_: released.wait())
    app = server.asgi()
    reply = await asgi.request(app, Speaker(revision).request(0, "initialize", {"a": 1}))
    assert (reply.status, told) == (400, [("initialize", "InvalidParams")])
    asyncio.get_running_loop().call_soon(released.set)
    await app.aclose()
    assert len(asyncio.all_tasks()) == 1


async def test_over_http_a_header_that_disagrees_with_the_body_is_another_error() -> None:
    told: list[tuple[str, str]] = []
    app = hooked(listing(), told).asgi()
    async with asgi.surfing(app, PER_REQUEST) as web:
        message = web.speaker.request(7, "acme/unknown")
        reply = await web.ask(message, Mcp_Method="tools/list")
    mismatch = mcp_wire.profile(PER_REQUEST).errors.header_mismatch
    assert (reply.json["error"]["code"], told) == (mismatch, [])
