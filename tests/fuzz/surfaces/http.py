"""Surface: the ASGI app in this process, with handmade requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from mcp_gen import Server
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_gen.transports.http_server.asgi import Scope
from tests.fuzz.findings import Block, Findings
from tests.fuzz.making.requests import HttpRequest, Place, as_text, plain, request_for
from tests.fuzz.reading import OPEN_ENDED, Reading
from tests.fuzz.surfaces.duplex import Line, opening
from tests.fuzz.surfaces.exchange import USER, Exchange
from tests.fuzz.surfaces.surface import ANSWER_S
from tests.fuzz.target import make_server
from tests.soak.figures import live_kb
from tests.support.frames import Speaker

__all__ = ["Http", "WebLine", "make_app"]

SSE_PATH = "/sse"
MAX_BODY_BYTES = 200_000
LOOK_S = 0.05
"""Seconds between two looks for requests that would stay open."""
VERSION = b"mcp-protocol-version"
_DECIDING = (b"mcp-session-id", VERSION, USER)
"""Headers that decide whose session a request is in."""


def _principal(scope: Scope) -> str | None:
    """Return the principal that a header names."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == USER), None)


class WebLine(Line):
    """Session over HTTP: each message is a request of its own."""

    def __init__(self, revision: str, exchange: Callable[..., Any]) -> None:
        super().__init__(revision, self._post)
        self._exchange = exchange
        self._foreign = b""
        self._place = Place()
        self._open_exchanges: dict[Exchange, tuple[Reading | None, int | None]] = {}
        self._stream: Exchange | None = None
        self._endpoint = asyncio.Event()
        self._noted: tuple[Reading | None, int | None] = (None, None)

    # --- the session ---

    async def open(self) -> None:
        """Open a session, where the revision has one."""
        self.ledger.begin()
        profile = self.speaker.profile
        if profile.http_transport == "sse_pair":
            await self._open_stream()
            for message in opening(self.speaker):
                self.say(message)
        elif profile.session_header:
            self._place.session = []
            first, second = opening(self.speaker)
            self._note(first, None)
            exchange = self._start(HttpRequest("POST", "/mcp", b"", self._plain(first), [first]))
            await self._wait(exchange)
            key = profile.session_header.lower().encode()
            if key in exchange.headers:
                self._place.session = [(key, exchange.headers[key])]
            self.say(second)

    @property
    def session_id(self) -> bytes:
        """Id of the session; empty without one."""
        return self._place.session[0][1] if self._place.session else b""

    def knows(self, foreign: bytes) -> None:
        """Take the id of a session that belongs to someone else; empty if there is none."""
        self._foreign = foreign
        self._place.other_sessions = (b"ended", b"", *([foreign] * 3 if foreign else []))

    def _is_in_foreign_session(self, request: HttpRequest) -> bool:
        """Return True if a request names a session of someone else, and no other."""
        profile = self.speaker.profile
        named = {(name, value) for name, value in request.headers if name in _DECIDING}
        versions = {(VERSION, profile.revision.encode())}
        key = str(profile.session_header).lower().encode()
        return bool(self._foreign) and named - versions == {(key, self._foreign)}

    def _is_elsewhere(self, request: HttpRequest) -> bool:
        """Return True if a request names another session: what it hears has that one's ids."""
        key = str(self.speaker.profile.session_header).lower().encode()
        named = {value for name, value in request.headers if name == key}
        # While a session is opened anew, the one before may still be heard.
        return bool(named - {self.session_id})

    async def _open_stream(self) -> None:
        lines = [(b"host", b"127.0.0.1"), (b"accept", b"text/event-stream")]
        self._noted = (None, None)
        self._stream = self._start(HttpRequest("GET", SSE_PATH, b"", lines, [b""]))
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                await self._endpoint.wait()

    def _plain(self, message: bytes) -> list[tuple[bytes, bytes]]:
        return plain(self.speaker.profile, self._place, message)

    # --- sending ---

    def _note(self, data: bytes, index: int | None) -> None:
        reading = self.ledger.sent(data, index)
        self.remember(data)
        self._noted = (reading, index)

    def _post(self, data: bytes) -> None:
        place = self._place
        self._start(HttpRequest("POST", place.path, place.query, self._plain(data), [data]))

    def put(self, data: bytes, index: int, random: Any) -> None:
        """Send an input as a request that is mostly right."""
        request = request_for(self.speaker.profile, self._place, data, random)
        self._findings.inputs[index] = as_text(request)
        self._noted = (None, index)
        if request.method == "POST":
            self._note(request.body, index)
        exchange = self._start(request)
        if request.leaves == "answer":
            asyncio.get_running_loop().call_later(0.001, exchange.leave)
        elif request.method != "POST":
            asyncio.get_running_loop().call_later(0.005, exchange.leave)

    def _start(self, request: HttpRequest) -> Exchange:
        exchange: Exchange = self._exchange(request, self._heard)
        self._open_exchanges[exchange] = self._noted
        exchange.task.add_done_callback(lambda _: self._ended(exchange))
        return exchange

    # --- receiving ---

    def _heard(self, exchange: Exchange, data: bytes) -> None:
        if exchange is self._stream and data.startswith(b"/"):
            path, _, query = data.partition(b"?")
            self._place.path, self._place.query = path.decode(), query
            self._endpoint.set()
            return
        if exchange.status < 400 and self._is_elsewhere(exchange.request):
            return
        if exchange.status < 400 or b'"id"' in data:
            self.came(data)
        else:
            self.ledger.refused(data)

    def _ended(self, exchange: Exchange) -> None:
        reading, index = self._open_exchanges.pop(exchange)
        status, request = exchange.status, exchange.request
        for fault in exchange.faults:
            self._findings.add("wrong", fault, index)
        if status >= 500 and status != 501:
            self._findings.add("internal", f"HTTP status {status}", index)
        if 200 <= status < 300 and self._is_in_foreign_session(request):
            self._findings.add("wrong", f"{status} in a session of someone else", index)
        values = [value for _, value in request.headers]
        is_own = request.method == "DELETE" and self.session_id in values
        # An HTTP server may refuse a request of which the app has heard the head already.
        by_parser = status == 400 and exchange.headers.get(b"content-type", b"")[:5] == b"text/"
        if is_own and self.session_id and (status < 300 or by_parser):
            # The session has ended by its own client's wish, if that was heard to the end or not.
            self.ledger.excuse_all()
            self.lost = True
        is_excused = request.leaves or exchange.gave_up or self.lost or self._is_elsewhere(request)
        if reading is not None and (status >= 400 or is_excused):
            self.ledger.excuse(reading)
        elif reading is not None and not exchange.is_stream and self._stream is None:
            missing = [key for key in reading.must if not self.ledger.is_settled(key)]
            if missing and exchange.answers == 0:
                what = f"HTTP status {status} without an answer to {missing[:3]}"
                self._findings.add("unanswered", what, index)
                self.ledger.excuse(reading)
        self.wake()

    async def _wait(self, exchange: Exchange) -> None:
        await asyncio.wait([exchange.task], timeout=ANSWER_S)

    # --- the end ---

    async def _calm_down(self) -> None:
        """Disconnect from requests that would stay open, and wait for all others."""
        end_s = asyncio.get_running_loop().time() + ANSWER_S
        # Again and again: an answer may be sent once more with what it asked for.
        while tasks := self._leave_open_ended():
            if asyncio.get_running_loop().time() > end_s:
                break
            await asyncio.wait(tasks, timeout=LOOK_S)
        await self._all_ended(tasks)

    def _leave_open_ended(self) -> list[asyncio.Task[None]]:
        """Disconnect from requests that would stay open; return the tasks of all that are open."""
        exchanges = [one for one in self._open_exchanges if one is not self._stream]
        for exchange in exchanges:
            body = exchange.request.body
            if exchange.request.method != "POST" or any(m.encode() in body for m in OPEN_ENDED):
                exchange.leave()
        return [exchange.task for exchange in exchanges]

    async def _all_ended(self, tasks: list[asyncio.Task[None]]) -> None:
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=ANSWER_S)
            if left:
                what = f"{len(left)} requests do not end after their client disconnected"
                self._findings.add("stalled", what)

    async def close(self) -> None:
        """Disconnect from everything, and end the session."""
        if self._place.session and not self.lost:
            self._noted = (None, None)
            lines = [(b"host", b"127.0.0.1"), *self._place.session]
            await self._wait(self._start(HttpRequest("DELETE", "/mcp", b"", lines, [b""])))
        tasks = [exchange.task for exchange in self._open_exchanges]
        for exchange in [*self._open_exchanges]:
            exchange.leave()
        await self._all_ended(tasks)


def make_app(server: Server) -> AsgiApp:
    """Return the app that is fuzzed."""
    return server.asgi(
        legacy_sse_path=SSE_PATH,
        max_body_bytes=MAX_BODY_BYTES,
        sse_after_s=0.05,
        keep_alive_s=1.0,
        principal=_principal,
    )


async def foreign_session(revision: str, app: Any) -> bytes:
    """Open a session of another user, and return its id; empty at revisions without sessions."""
    speaker = Speaker(revision)
    name = speaker.profile.session_header
    if name is None or speaker.profile.http_transport != "streamable":
        return b""
    message = speaker.initialize(0)
    lines = [*plain(speaker.profile, Place(), message), (USER, b"owner")]
    heard: list[bytes] = []
    request = HttpRequest("POST", "/mcp", b"", lines, [message])
    exchange = Exchange(app, request, lambda _, data: heard.append(data))
    await asyncio.wait([exchange.task], timeout=ANSWER_S)
    return exchange.headers.get(name.lower().encode(), b"")


class Http:
    """The app; each block is a session with it."""

    def __init__(self, server: Server | None = None) -> None:
        self._server = server or make_server()
        self.app: Any = make_app(self._server)
        """The app; tests replace it."""
        self._foreign: dict[str, bytes] = {}
        """Ids of sessions of someone else, by revision."""

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(self, *exc: object) -> None:
        if isinstance(self.app, AsgiApp):
            await self.app.aclose()

    def live_kb(self) -> int | None:
        return live_kb()

    async def run(self, block: Block, findings: Findings) -> None:
        line = WebLine(block.revision, partial(Exchange, self.app))
        if block.revision not in self._foreign:
            self._foreign[block.revision] = await foreign_session(block.revision, self.app)
        line.knows(self._foreign[block.revision])
        try:
            await line.talk(block, findings, lambda: asyncio.sleep(0))
        finally:
            await line.close()
