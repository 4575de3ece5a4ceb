"""Hooks of every request and notification of every revision, on both sides, both directions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import McpError
from mcp_gen.core import envelope
from mcp_gen.session.duplex.client import ClientConnection
from mcp_gen.session.duplex.client_parts import ClientParts
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_gen.session.messages.sender import RequestSender
from mcp_gen.transports.memory import MemoryTransport, memory_pair
from mcp_wire.handlers import ClientHandlers, ServerHandlers
from mcp_wire.hook_machinery import HookSet
from mcp_wire.hooks import ClientHooks, ServerHooks
from mcp_wire.method import Method
from tests.support.frames import Speaker, encoded, every_revision
from tests.support.peers.minimal_peers import (
    Everything,
    answering,
    client_handlers,
    minimal_params,
    notice_names,
    request_names,
    rows,
)
from tests.support.peers.raw import WAIT_S, talking

ALL = mcp_wire.REVISIONS
AROUND = ["before_any", "before", "handler", "after", "on_success"]


def each(kind: str, to: str) -> Any:
    """Return every method of every revision that the peer may receive."""
    found = [(revision, row) for revision in ALL for row in rows(revision, kind=kind, to=to)]
    ids = [f"{revision} {row.name}" for revision, row in found]
    return pytest.mark.parametrize(("revision", "method"), found, ids=ids)


def listen(hooks: HookSet, wire: str, said: list[str]) -> None:
    """Add one hook of each kind to a request; each records its kind."""
    name = request_names(hooks)[wire]

    def says(what: str) -> Callable[..., None]:
        return lambda *_: said.append(what)

    getattr(hooks, f"before_{name}")(says("before"))
    getattr(hooks, f"after_{name}")(says("after"))
    getattr(hooks, f"error_{name}")(says("error"))
    # Other hooks are not recorded: a conversation has more requests than the tested one.
    for kind in ("before_any", "on_success", "on_error"):
        getattr(hooks, kind)(
            lambda ctx, method, *_, kind=kind: said.append(kind) if method == wire else None
        )


def refuse(ctx: Any, params: Any) -> None:
    raise McpError(-31000, "no")


# --- inbound, on the server ---


@each("request", "server")
async def test_a_server_runs_hooks_around_every_request(
    revision: str, method: Method[Any, Any]
) -> None:
    server = Everything(revision)
    listen(server.hooks, method.name, server.said)
    async with talking(server, revision, opened=method.name != "initialize") as client:
        server.said.clear()
        params = minimal_params(revision, method)
        answer = await client.ask(client.speaker.request(1, method.name, params))
    assert "result" in answer, answer
    assert server.said == AROUND


@each("request", "server")
async def test_a_server_tells_error_hooks_of_every_request_that_is_refused(
    revision: str, method: Method[Any, Any]
) -> None:
    server = Everything(revision)
    listen(server.hooks, method.name, server.said)
    getattr(server.hooks, f"before_{request_names(server.hooks)[method.name]}")(refuse)
    async with talking(server, revision, opened=method.name != "initialize") as client:
        server.said.clear()
        params = minimal_params(revision, method)
        answer = await client.ask(client.speaker.request(1, method.name, params))
    assert answer["error"] == {"code": -31000, "message": "no"}
    assert server.said == ["before_any", "before", "error", "on_error"]


# --- inbound, on the client ---


class OpenClient:
    """Client connection at one revision, and the raw server at its other end."""

    def __init__(
        self, revision: str, connection: ClientConnection, theirs: MemoryTransport, said: list[str]
    ) -> None:
        self.revision = revision
        self.connection = connection
        self.theirs = theirs
        self.said = said
        self.hooks = connection.hooks
        self.came: asyncio.Queue[bytes] = asyncio.Queue()

    async def ask(self, method: str, params: Any) -> Any:
        self.theirs.send(encoded({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        return envelope.read(await asyncio.wait_for(self.came.get(), WAIT_S))

    def receive(self, message: bytes) -> None:
        self.came.put_nowait(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None: ...
    def closed(self, error: BaseException | None) -> None: ...


@asynccontextmanager
async def open_client(revision: str, server: Everything | None = None) -> AsyncIterator[OpenClient]:
    """Open a client, with this server or the test itself at the other end."""
    ours, theirs = memory_pair()
    said: list[str] = []
    hooks = ClientHooks(lambda: connection.changed())
    connection = ClientConnection(ours, ClientParts(hooks))
    profile = mcp_wire.profile(revision)
    dispatch = import_module(f"{profile.module}.dispatch")
    handlers = client_handlers(revision, hooks, said)
    connection.agree(profile, dispatch.ClientDispatcher(handlers, hooks).routes)
    client = OpenClient(revision, connection, theirs, said)
    await connection.open()
    serving = None
    if server:
        serving = asyncio.get_running_loop().create_task(server.serve(theirs))
        await asyncio.sleep(0)
    else:
        await theirs.start(client)
    try:
        yield client
    finally:
        await connection.aclose()
        if serving:
            await asyncio.wait_for(serving, WAIT_S)


@each("request", "client")
async def test_a_client_runs_hooks_around_every_request(
    revision: str, method: Method[Any, Any]
) -> None:
    async with open_client(revision) as client:
        listen(client.hooks, method.name, client.said)
        answer = await client.ask(method.name, minimal_params(revision, method))
    assert answer.result, answer
    assert client.said == AROUND


@each("request", "client")
async def test_a_client_tells_error_hooks_of_every_request_that_is_refused(
    revision: str, method: Method[Any, Any]
) -> None:
    async with open_client(revision) as client:
        listen(client.hooks, method.name, client.said)
        getattr(client.hooks, f"before_{request_names(client.hooks)[method.name]}")(refuse)
        answer = await client.ask(method.name, minimal_params(revision, method))
    assert envelope.read_error(answer.error).code == -31000
    assert client.said == ["before_any", "before", "error", "on_error"]


# --- outbound, on both ---


class Pair:
    """Both ends of one connection; each answers every request of the other."""

    def __init__(self, client: OpenClient, server: Everything) -> None:
        self.client = client
        self.server = server

    def asking(self, side: str) -> tuple[RequestSender, HookSet]:
        """Return the sender of a side, and its outbound hooks."""
        connection: DuplexConnection = (
            self.client.connection if side == "client" else self.server.sessions[0]
        )
        hooks = self.hooks(side).outbound
        return RequestSender(connection, mcp_wire.profile(self.client.revision), hooks, side), hooks

    def hooks(self, side: str) -> Any:
        return self.client.hooks if side == "client" else self.server.hooks


@asynccontextmanager
async def pair(revision: str, *, opened: bool = True) -> AsyncIterator[Pair]:
    server = Everything(revision)
    async with open_client(revision, server) as client:
        both = Pair(client, server)
        if opened:
            profile = mcp_wire.profile(revision)
            first = profile.handshake or profile.methods["tools/list"]
            await both.asking("client")[0].request(first, params_of(revision, first))
        yield both


def params_of(revision: str, method: Method[Any, Any]) -> Any:
    """Return the smallest params as a value, with the required `_meta` of the revision."""
    params = method.decode_params(encoded(minimal_params(revision, method)))
    meta = Speaker(revision).meta
    return msgspec.structs.replace(params, meta=meta) if meta and method.results else params


@pytest.mark.parametrize(("asked", "asks"), [("server", "client"), ("client", "server")])
@every_revision
async def test_hooks_run_around_every_request_that_is_sent(
    revision: str, asked: str, asks: str
) -> None:
    for method in rows(revision, kind="request", to=asked):
        async with pair(revision, opened=method.name != "initialize") as both:
            asking, hooks = both.asking(asks)
            said: list[str] = []
            listen(hooks, method.name, said)
            await asking.request(method, params_of(revision, method), timeout_s=WAIT_S)
        assert said == [kind for kind in AROUND if kind != "handler"], method


@pytest.mark.parametrize(("asked", "asks"), [("server", "client"), ("client", "server")])
@every_revision
async def test_error_hooks_hear_of_every_request_that_the_peer_refuses(
    revision: str, asked: str, asks: str
) -> None:
    for method in rows(revision, kind="request", to=asked):
        async with pair(revision, opened=method.name != "initialize") as both:
            asking, hooks = both.asking(asks)
            said: list[str] = []
            listen(hooks, method.name, said)
            theirs = both.hooks(asked)
            getattr(theirs, f"before_{request_names(theirs)[method.name]}")(refuse)
            with pytest.raises(McpError) as caught:
                await asking.request(method, params_of(revision, method), timeout_s=WAIT_S)
        assert caught.value.code == -31000
        assert said == ["before_any", "before", "error", "on_error"], method


# --- notifications ---


@each("notification", "server")
async def test_both_sides_have_hooks_for_every_notification_to_a_server(
    revision: str, method: Method[Any, Any]
) -> None:
    await check_notification(revision, method, told="server", tells="client")


@each("notification", "client")
async def test_both_sides_have_hooks_for_every_notification_to_a_client(
    revision: str, method: Method[Any, Any]
) -> None:
    await check_notification(revision, method, told="client", tells="server")


async def check_notification(
    revision: str, method: Method[Any, Any], *, told: str, tells: str
) -> None:
    said: list[tuple[str, Any]] = []
    heard = asyncio.Event()

    async def hear(ctx: Any, params: Any) -> None:
        said.append(("inbound", params))
        heard.set()

    async with pair(revision) as both:
        asking, outbound = both.asking(tells)
        inbound = both.hooks(told)
        on = f"on_{notice_names(inbound)[method.name]}"
        getattr(outbound, on)(lambda ctx, params: said.append(("outbound", params)))
        getattr(inbound, on)(hear)
        params = params_of(revision, method)
        await asking.notify(method, params)
        await asyncio.wait_for(heard.wait(), WAIT_S)
    assert said == [("outbound", params), ("inbound", params)]


@every_revision
async def test_a_hook_of_a_notification_that_fails_is_logged_and_the_next_one_runs(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard = asyncio.Event()
    async with pair(revision) as both:
        both.server.hooks.on_cancelled(lambda ctx, params: [][0])
        both.server.hooks.on_cancelled(lambda ctx, params: heard.set())
        cancelled = mcp_wire.profile(revision).cancelled
        assert cancelled
        await both.asking("client")[0].notify(cancelled, params_of(revision, cancelled))
        await asyncio.wait_for(heard.wait(), WAIT_S)
    assert "a hook failed" in caplog.text


@every_revision
async def test_a_hook_of_a_notification_sees_it_at_the_revision_that_is_spoken(
    revision: str,
) -> None:
    seen: list[Any] = []
    heard = asyncio.Event()
    server = Everything(revision)

    def see(ctx: Any, params: Any) -> None:
        seen.append((ctx.revision, ctx.request_id, type(params)))
        heard.set()

    server.hooks.on_cancelled(see)
    async with talking(server, revision) as client:
        params = minimal_params(revision, mcp_wire.profile(revision).methods["tools/list"])
        await client.ask(client.speaker.request(1, "tools/list", params))
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(heard.wait(), WAIT_S)
    types = mcp_wire.types(revision)
    assert seen == [(revision, None, types.CancelledNotificationParams)]


# --- routes with hooks ---


@every_revision
def test_a_route_without_hooks_leads_straight_to_the_handler(revision: str) -> None:
    profile = mcp_wire.profile(revision)
    dispatch = import_module(f"{profile.module}.dispatch")
    for hooks, dispatcher, base in (
        (ServerHooks(), dispatch.ServerDispatcher, ServerHandlers),
        (ClientHooks(), dispatch.ClientDispatcher, ClientHandlers),
    ):
        handlers = answering(base, revision, hooks, [])
        routes = dispatcher(handlers, hooks).routes()
        for wire, route in routes.items():
            assert route.call == getattr(handlers, request_names(hooks)[wire])


@every_revision
def test_a_hook_changes_the_route_of_its_own_request_only(revision: str) -> None:
    server = Everything(revision)
    straight = server.kernel.bindings[revision].routes
    server.hooks.before_list_tools(lambda ctx, params: None)
    hooked = server.kernel.bindings[revision].routes
    changed = {wire for wire, route in hooked.items() if route.call != straight[wire].call}
    assert changed == {"tools/list"}


@every_revision
def test_a_hook_for_any_request_changes_every_route(revision: str) -> None:
    server = Everything(revision)
    straight = server.kernel.bindings[revision].routes
    server.hooks.on_error(lambda ctx, method, params, error: None)
    hooked = server.kernel.bindings[revision].routes
    assert all(route.call != straight[wire].call for wire, route in hooked.items())


@each("request", "client")
async def test_a_client_honours_a_hook_that_is_added_after_the_first_request(
    revision: str, method: Method[Any, Any]
) -> None:
    async with open_client(revision) as client:
        await client.ask(method.name, minimal_params(revision, method))
        name = request_names(client.hooks)[method.name]
        getattr(client.hooks, f"before_{name}")(lambda ctx, params: client.said.append("late"))
        await client.ask(method.name, minimal_params(revision, method))
    assert client.said == ["handler", "late", "handler"]
