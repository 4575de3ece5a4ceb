"""Requests that fail, in every way that they can: nothing of them is left, on either side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn, TypeAlias

import pytest

from mcp_gen import Client, RequestTimeout, Server, SessionLost, UsageError
from mcp_gen.client.session.session import ClientSession
from mcp_gen.session.duplex import connection
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_wire import latest
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.loopback import serving
from tests.support.peers.raw import WAIT_S

REPEATS = 20
"""Failures of each kind: more than what any place keeps of the last one."""

POLL_S = 0.01
FEW = 4
"""Tasks that serve a connection, however many requests there are."""

Call: TypeAlias = Callable[..., Awaitable[Any]]
"""Sends one request with these arguments and options to a peer that answers at once."""


class Peer:
    """One side of a connection, as the ways to fail use it."""

    def __init__(self, connection: DuplexConnection, call: Call, hold: Call, hooks: Any) -> None:
        self.connection = connection
        self.call = call
        self.hold = hold
        """Like `call`, for a request that the peer does not answer."""
        self.hooks = hooks
        """Hooks around this side's messages."""

    def left(self) -> dict[str, int]:
        """Count what the connection keeps for requests that it has sent."""
        ours = self.connection
        rows = ours._deadlines._rows.values()
        return {
            "waiters": len(ours._connection._waiters),
            "progress callbacks": len(ours._progress_callbacks),
            "sliding timeouts": len(ours._sliding_timeouts),
            "timeouts": sum(not wait[1].done() for row in rows for wait in row.waits),
        }

    async def settled(self, tasks: int) -> bool:
        """Wait until nothing is left, and no more tasks than this; return False if that never is.

        The other side handles what it is told, or notices that nobody waits, in tasks of its own.
        """
        for _ in range(int(WAIT_S / POLL_S)):
            if len(asyncio.all_tasks()) <= tasks and self.left() == NOTHING:
                return True
            await asyncio.sleep(POLL_S)
        return False


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watch for late responses, and wait for open calls at the end, for a moment only."""
    monkeypatch.setattr(connection, "LATE_S", 0.01)
    monkeypatch.setattr("mcp_gen.session.duplex.server.GRACE_S", 0.01)


NOTHING = {"waiters": 0, "progress callbacks": 0, "sliding timeouts": 0, "timeouts": 0}


def report(*given: Any) -> None:
    """Take a report of progress."""


def refuse(*given: Any) -> NoReturn:
    raise ValueError("refused")


async def until(true: Callable[[], bool]) -> None:
    """Let the event loop run until the condition is true."""
    for _ in range(100_000):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never was so")


# --- the ways to fail ---


async def cannot_be_encoded(peer: Peer) -> None:
    await peer.call(value=object())


async def cannot_be_encoded_with_progress(peer: Peer) -> None:
    await peer.call(value=object(), progress=report)


async def text_is_not_unicode(peer: Peer) -> None:
    await peer.call(value="\ud800")


async def nested_too_deeply(peer: Peer) -> None:
    value: Any = 1
    for _ in range(20_000):
        value = [value]
    try:
        await peer.call(value=value)
    finally:
        # Bit by bit: Python frees what is nested so deeply by recursion.
        while isinstance(value, list):
            value = value.pop()


async def meta_is_no_object(peer: Peer) -> None:
    await peer.call(meta=5, progress=report)


async def the_transport_refuses(peer: Peer) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer.connection, "_send_request", refuse)
        await peer.call(progress=report)


async def a_hook_before_it_raises(peer: Peer) -> None:
    peer.hooks.before_any(refuse)
    await peer.call(progress=report)


async def nobody_answers(peer: Peer) -> None:
    await peer.hold(timeout_s=0.01)


async def nobody_answers_with_progress(peer: Peer) -> None:
    await peer.hold(timeout_s=0.01, progress=report)


async def it_is_cancelled(peer: Peer) -> None:
    await cancelled(peer, peer.hold(progress=report))


async def it_is_cancelled_and_a_hook_raises(peer: Peer) -> None:
    peer.hooks.on_cancelled(refuse)
    await cancelled(peer, peer.hold(progress=report))


async def cancelled(peer: Peer, call: Awaitable[Any]) -> None:
    """Cancel a call once it has been sent."""
    before = peer.left()["waiters"]
    calling = asyncio.ensure_future(call)
    await until(lambda: peer.left()["waiters"] > before)
    calling.cancel()
    await calling


WAYS: dict[
    Callable[[Peer], Awaitable[None]], type[BaseException] | tuple[type[BaseException], ...]
] = {
    # A client refuses it before it sends; the encoder of a server raises the other.
    cannot_be_encoded: (UsageError, NotImplementedError),
    cannot_be_encoded_with_progress: (UsageError, NotImplementedError),
    text_is_not_unicode: UnicodeEncodeError,
    nested_too_deeply: RecursionError,
    meta_is_no_object: TypeError,
    the_transport_refuses: ValueError,
    a_hook_before_it_raises: ValueError,
    nobody_answers: RequestTimeout,
    nobody_answers_with_progress: RequestTimeout,
    it_is_cancelled: asyncio.CancelledError,
    it_is_cancelled_and_a_hook_raises: asyncio.CancelledError,
}
"""Ways to fail, with the error that the caller gets: a client checks its arguments first."""
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


async def fails_without_a_trace(peer: Peer, way: Callable[[Peer], Awaitable[None]]) -> None:
    await peer.call()
    before = len(asyncio.all_tasks())
    for _ in range(REPEATS):
        with pytest.raises(WAYS[way]):
            await way(peer)
    # A few tasks serve all requests, and begin with the first that is slow.
    await peer.settled(before + FEW)
    assert len(asyncio.all_tasks()) <= before + FEW
    assert peer.left() == NOTHING


# --- both sides ---


def make_server() -> Server:
    server = Server("left behind")

    @server.tool
    async def echo(value: Any = None) -> str:
        return "done"

    @server.tool
    async def hold() -> str:
        await asyncio.Event().wait()
        return "never"

    return server


async def roots(session: Any) -> list[str]:
    return []


async def elicit(session: Any, params: Any) -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError


@asynccontextmanager
async def connected(way: str, revision: str) -> AsyncIterator[tuple[Server, Client, ClientSession]]:
    """Connect a client to a server in memory, or over HTTP on loopback."""
    server = make_server()
    async with Client("left behind", roots=roots, elicitation=elicit) as client:
        if way == "memory":
            yield server, client, await client.connect(server, revision=revision)
        else:
            async with serving(server.asgi()) as web:
                yield server, client, await client.connect(web.url, revision=revision)
                await client.aclose()


def peer_of_client(client: Client, session: ClientSession) -> Peer:
    async def call(value: Any = None, **options: Any) -> Any:
        return await session.call_tool("echo", {"value": value}, **options)

    async def hold(**options: Any) -> Any:
        return await session.call_tool("hold", **options)

    return Peer(session._connection, call, hold, client.hooks.outbound)


def peer_of_server(server: Server) -> Peer:
    (session,) = server.sessions()
    assert isinstance(session, DuplexConnection)
    client = session.client

    async def call(value: Any = None, meta: Any = None, **options: Any) -> Any:
        return await client.list_roots(meta=meta or {"value": value}, **options)

    async def hold(**options: Any) -> Any:
        schema = latest.ElicitationSchema(properties={})
        params = latest.ElicitRequestFormParams(message="Name?", requested_schema=schema)
        return await client.elicit(params, **options)

    return Peer(session, call, hold, server.hooks.outbound)


@each_way
@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_a_failed_request_of_a_client_leaves_nothing(
    way: Callable[[Peer], Awaitable[None]], transport: str, revision: str
) -> None:
    async with connected(transport, revision) as (_, client, session):
        await fails_without_a_trace(peer_of_client(client, session), way)


@each_way
@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_failed_request_of_a_server_leaves_nothing(
    way: Callable[[Peer], Awaitable[None]], transport: str
) -> None:
    async with connected(transport, HANDSHAKE) as (server, _, session):
        await session.ping()
        await fails_without_a_trace(peer_of_server(server), way)


@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_requests_whose_connection_ends_leave_nothing(transport: str, revision: str) -> None:
    async with connected(transport, revision) as (_, client, session):
        peer = peer_of_client(client, session)
        calls = [asyncio.ensure_future(peer.hold(progress=report)) for _ in range(REPEATS)]
        await until(lambda: peer.left()["waiters"] == REPEATS)
        await session.aclose()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(one) for one in ended} == {SessionLost}
        assert peer.left() == NOTHING


# --- siblings ---


async def test_a_request_that_cannot_be_encoded_leaves_no_timer() -> None:
    async with connected("memory", HANDSHAKE) as (_, client, session):
        peer = peer_of_client(client, session)
        slow = asyncio.ensure_future(peer.hold(timeout_s=99))
        await until(lambda: peer.left()["waiters"] == 1)
        for timeout_s in (77, 99):
            with pytest.raises(UnicodeEncodeError):
                await peer.call(value="\ud800", timeout_s=timeout_s)
        rows = peer.connection._deadlines._rows
        assert {timeout_s: len(row.waits) for timeout_s, row in rows.items()} == {99: 1, 60: 1}
        slow.cancel()
        await asyncio.wait([slow])


async def test_a_watch_that_cannot_be_sent_raises_why() -> None:
    async with connected("memory", PER_REQUEST) as (_, client, session):
        for _ in range(REPEATS):
            with pytest.raises(UnicodeEncodeError):
                async with session.watch("note://\ud800"):
                    raise AssertionError("it was sent")
        peer = peer_of_client(client, session)
        assert await peer.settled(FEW)


async def test_a_task_that_its_caller_no_longer_waits_for_keeps_no_progress() -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(ctx: Any, params: Any) -> None:
        began.set()
        await goes_on.wait()

    async with connected("memory", HANDSHAKE) as (server, client, session):

        @server.tool(task="required")
        async def work() -> str:
            return "done"

        server.hooks.before_call_tool(slow)
        calling = asyncio.ensure_future(session.start_tool("work", progress=report))
        await asyncio.wait_for(began.wait(), WAIT_S)
        calling.cancel()
        await asyncio.wait([calling])
        goes_on.set()
        peer = peer_of_client(client, session)
        await until(lambda: peer.left() == NOTHING)
