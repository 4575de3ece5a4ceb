"""Limits on HTTP sessions, and on what each of them keeps of its client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from mcp_gen import PeerLimits, Server
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.session.duplex.server import MAX_HELD
from mcp_gen.session.http_server.sessions import ENDING_BESIDE
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_gen.transports.http_server.legacy_sse import MAX_EARLY
from tests.hostile.work.limits.limit import TAKEN, Limit
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import Open, open_request, request
from tests.support.loop import until
from tests.support.peers.raw import talking

__all__ = ["LIMITS", "SlowServers"]

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)
INVALID_REQUEST, INVALID_PARAMS = "-32600", "-32602"
AT = 5
"""Sessions that the servers of this module allow."""


class SlowServers:
    """Servers of one connection each, whose lifespan begins when it is told to.

    The first begins at once: it serves the requests without a session.
    """

    def __init__(self) -> None:
        self.begin = asyncio.Event()
        self.open = self.most = self._started = 0

    def app(self, **options: Any) -> AsgiApp:
        """Return an app of servers with a slow lifespan."""
        return Server.per_connection(self._server).asgi(max_sessions=AT, **options)

    def _server(self) -> Server:
        return Server("slow", lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, server: Server) -> AsyncGenerator[None]:
        self._started += 1
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            if self._started > 1:
                await self.begin.wait()
            yield
        finally:
            self.open -= 1


async def _statuses(app: AsgiApp, number: int, begin: asyncio.Event | None = None) -> list[int]:
    opened = [open_request(app, OLD.initialize(id)) for id in range(number)]
    if begin is not None:
        await until(lambda: sum(not one.task.done() for one in opened) <= AT)
        begin.set()
    statuses = [(await one.whole()).status for one in opened]
    await app.aclose()
    return statuses


def _outcome(statuses: list[int]) -> str:
    """Return `TAKEN` if all are 200; else the refusal, if as many as allowed were taken."""
    taken = statuses.count(200)
    if taken == len(statuses):
        return TAKEN
    return str(max(statuses)) if taken == AT else f"{taken} were taken"


async def sessions_at_once(number: int) -> str:
    return _outcome(await _statuses(Server("s").asgi(max_sessions=AT), number))


async def sessions_at_once_with_a_store(number: int) -> str:
    app = Server("s").asgi(max_sessions=AT, session_store=MemorySessionStore())
    return _outcome(await _statuses(app, number))


async def sessions_at_once_with_slow_servers(number: int) -> str:
    slow = SlowServers()
    return _outcome(await _statuses(slow.app(), number, slow.begin))


async def stored_sessions_at_once(number: int) -> str:
    """Continue stored sessions in another process, all at once."""
    store = MemorySessionStore()
    first = Server("s").asgi(session_store=store)
    name = str(OLD.profile.session_header)
    ids = [(await request(first, OLD.initialize(id))).headers[name.lower()] for id in range(number)]
    second = Server("s").asgi(session_store=store, max_sessions=AT)
    opened = [open_request(second, OLD.request(1, "ping"), {name: id}) for id in ids]
    statuses = [(await one.whole()).status for one in opened]
    await first.aclose()
    await second.aclose()
    return _outcome(statuses)


class SlowStore(MemorySessionStore):
    """Store that forgets a session when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def forget(self, id: str) -> None:
        await self.go_on.wait()
        await super().forget(id)


async def sessions_that_end_slowly(number: int) -> str:
    """Begin sessions one after another, and end each at once."""
    store, last = SlowStore(), 0
    app = Server("s").asgi(max_sessions=AT, session_store=store)
    for _ in range(number):
        begun = await request(app, OLD.initialize(0))
        last = begun.status
        if last != 200:
            break
        name = str(OLD.profile.session_header)
        await request(app, headers={name: begun.headers[name.lower()]}, method="DELETE")
    store.go_on.set()
    await app.aclose()
    return TAKEN if last == 200 else str(last)


async def legacy_streams_at_once(number: int) -> str:
    slow = SlowServers()
    app = slow.app(legacy_sse_path="/sse")
    opened = [open_request(app, method="GET", path="/sse") for _ in range(number)]
    statuses = [(await one.head()).status for one in opened]
    await _end(app, slow, opened)
    return _outcome(statuses)


async def legacy_streams_that_were_left(number: int) -> str:
    slow, statuses = SlowServers(), list[int]()
    app = slow.app(legacy_sse_path="/sse")
    opened: list[Open] = []
    for _ in range(number):
        opened.append(open_request(app, method="GET", path="/sse"))
        statuses.append((await opened[-1].head()).status)
        opened[-1].hang_up()
        await opened[-1].ended()
    await _end(app, slow, opened)
    return _outcome(statuses)


async def messages_before_a_legacy_server_has_started(number: int) -> str:
    slow = SlowServers()
    app = slow.app(legacy_sse_path="/sse")
    stream = open_request(app, method="GET", path="/sse")
    path, _, query = (await stream.event()).data.decode().partition("?")
    last = 202
    for id in range(number):
        reply = await request(app, OLD.initialize(id), path=path, query_string=query.encode())
        last = reply.status
    await _end(app, slow, [stream])
    return TAKEN if last == 202 else str(last)


async def _end(app: AsgiApp, slow: SlowServers, opened: list[Open]) -> None:
    slow.begin.set()
    for one in opened:
        one.hang_up()
        await one.ended()
    await app.aclose()


# --- what a client declares ---


def _declaring(number: int) -> Server:
    return Server("s", peer_limits=PeerLimits(max_declared_bytes=number))


def _code(frame: Any) -> str:
    return str(frame["error"]["code"]) if "error" in frame else TAKEN


def _handshake(size: int) -> bytes:
    """Return a handshake whose params have this size in bytes."""
    params: dict[str, Any] = {
        "protocolVersion": HANDSHAKE,
        "capabilities": {},
        "clientInfo": {"name": "", "version": "1"},
    }
    params["clientInfo"]["name"] = "n" * (size - len(msgspec.json.encode(params)))
    return msgspec.json.encode(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    )


async def bytes_of_a_handshake(size: int) -> str:
    async with talking(_declaring(1000), HANDSHAKE, opened=False) as client:
        return _code(await client.ask(_handshake(size)))


async def bytes_of_a_handshake_over_http(size: int) -> str:
    app = _declaring(1000).asgi()
    reply = await request(app, _handshake(size))
    await app.aclose()
    return _code(reply.json)


def _request(size: int) -> bytes:
    """Return a request whose `_meta` declares capabilities and info of this size in bytes."""
    info = {"name": "", "version": "1"}
    capabilities: dict[str, Any] = {"experimental": {"x": {}}}
    known = len(msgspec.json.encode(info)) + len(msgspec.json.encode(capabilities))
    capabilities["experimental"]["x"] = {"y": "n" * (size - known - len('"y":""'))}
    meta = {
        str(NEW.profile.client_info_key): info,
        str(NEW.profile.client_capabilities_key): capabilities,
    }
    return NEW.request(1, "tools/list", {"_meta": meta})


async def bytes_that_a_request_declares(size: int) -> str:
    server = _declaring(1000)
    server.add_tool(lambda: "x", name="x")
    async with talking(server, PER_REQUEST) as client:
        return _code(await client.ask(_request(size)))


async def bytes_of_the_meta_of_a_listen(size: int) -> str:
    server = _declaring(1000)
    known = len(msgspec.json.encode({**NEW.meta, "com.example/x": ""}))
    params = {"notifications": {}, "_meta": {"com.example/x": "n" * (size - known)}}
    async with talking(server, PER_REQUEST) as client:
        client.send(NEW.request(1, "subscriptions/listen", params))
        return _code(await client.next())


async def messages_during_a_handshake(number: int) -> str:
    """Send pings while the handshake is being answered."""
    server, began, go_on = Server("s"), asyncio.Event(), asyncio.Event()

    @server.hooks.before_initialize
    async def wait(ctx: Any, params: Any) -> None:
        began.set()
        await go_on.wait()

    async with talking(server, HANDSHAKE, opened=False) as client:
        client.send(OLD.initialize(0))
        client.send(*(OLD.request(id, "ping") for id in range(1, number + 1)))
        # Those too many are refused before the handshake is answered.
        await until(lambda: began.is_set() and (number <= MAX_HELD or bool(client.came)))
        go_on.set()
        codes = [_code(await client.answer(id)) for id in range(1, number + 1)]
    return next((code for code in codes if code != TAKEN), TAKEN)


LIMITS = [
    Limit("sessions at once", AT, 200, "503", sessions_at_once),
    Limit("sessions at once with a store", AT, 200, "503", sessions_at_once_with_a_store),
    Limit("sessions at once of slow servers", AT, 200, "503", sessions_at_once_with_slow_servers),
    Limit("stored sessions at once", AT, 200, "404", stored_sessions_at_once),
    Limit("sessions that end slowly", AT + ENDING_BESIDE, 200, "503", sessions_that_end_slowly),
    Limit("legacy streams at once", AT, 100, "503", legacy_streams_at_once),
    Limit("legacy streams that were left", AT, 100, "503", legacy_streams_that_were_left),
    Limit(
        "messages before a legacy server has started",
        MAX_EARLY,
        100,
        "503",
        messages_before_a_legacy_server_has_started,
    ),
    Limit("bytes of a handshake", 1000, 10**6, INVALID_PARAMS, bytes_of_a_handshake),
    Limit(
        "bytes of a handshake over HTTP",
        1000,
        10**6,
        INVALID_PARAMS,
        bytes_of_a_handshake_over_http,
    ),
    Limit(
        "bytes that a request declares", 1000, 10**6, INVALID_PARAMS, bytes_that_a_request_declares
    ),
    Limit(
        "bytes of `_meta` of a listen", 1000, 10**6, INVALID_PARAMS, bytes_of_the_meta_of_a_listen
    ),
    Limit(
        "messages during a handshake", MAX_HELD, 5000, INVALID_REQUEST, messages_during_a_handshake
    ),
]
