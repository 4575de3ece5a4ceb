"""Three HTTP clients: in a session, per request, and with the HTTP+SSE endpoints."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any

import msgspec

import mcp_wire
from tests.soak.traffic.peers import ACCEPT, Peer, Said, expect
from tests.soak.traffic.wire import WAIT_S, WAYS_TO_HANG_UP, Answer, Connection, Way, request
from tests.support.checks.watch import Watch
from tests.support.http.asgi import Event, headers_of

__all__ = ["InSession", "Lone", "Paired", "Web", "peer"]

PATH, SSE_PATH = "/mcp", "/sse"


class Web(Peer):
    """Client of the Streamable HTTP endpoint."""

    @property
    def path(self) -> str:
        """Path of the POSTs."""
        return PATH

    def headers(self, frame: bytes) -> dict[str, str]:
        """Return the headers that mirror the message, if it can be decoded."""
        try:
            return headers_of(self.speaker, frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError):
            version = self.profile.version_header
            return {version: self.speaker.revision} if version else {}

    async def ask(self, frame: bytes, id: Any, **headers: str) -> Said:
        """Post a request, and return all messages up to its response."""
        self.watch.saw("client", frame)
        async with self.posted(frame, **headers) as answer:
            return await self.hear(answer, id)

    async def tell(self, frame: bytes) -> None:
        """Post a notification or a response."""
        self.watch.saw("client", frame)
        await self.take(frame)

    @asynccontextmanager
    async def listening(
        self, raw: bytes, *, slow: bool = False
    ) -> AsyncIterator[tuple[Connection, Answer]]:
        """Open a stream on a connection of its own."""
        connection = await Connection.open(self.port, slow=slow)
        way: Way = self.rng.choice(("reset", "close"))
        try:
            sent_s = self.now_s()
            await connection.send(raw)
            answer = await connection.answer()
            self.note(answer, sent_s)
            expect(answer.is_stream, f"expected a stream, got {answer.status}")
            yield connection, answer
        finally:
            await connection.hang_up(way)


class Lone(Web):
    """Client at revisions without sessions."""

    async def begin(self) -> None:
        """Send `server/discover`."""
        found = await self.result("server/discover")
        expect(self.speaker.revision in found["supportedVersions"], f"not supported: {found}")

    async def end(self, *, politely: bool) -> None:
        """End without a message."""
        await self.aclose()


class InSession(Web):
    """Client in a session, after a handshake."""

    session: dict[str, str]
    left_a_stream = False
    """True after a disconnect from the session's stream: the server may still send to it."""

    def headers(self, frame: bytes) -> dict[str, str]:
        """Return the headers that mirror the message, and the session header."""
        return {**super().headers(frame), **self.session}

    async def begin(self) -> None:
        """Do the handshake."""
        self.session = {}
        frame = self.speaker.initialize(0)
        self.watch.saw("client", frame)
        async with self.posted(frame) as answer:
            name = str(self.profile.session_header)
            said = await self.hear(answer, 0)
            expect(said.result["protocolVersion"] == self.speaker.revision, f"{said.result}")
            self.session = {name: answer.headers[name.lower()]}
        await self.tell(self.speaker.initialized)

    async def end(self, *, politely: bool) -> None:
        """End the session, or leave it to the idle timeout."""
        if politely:
            async with self.sent(self.without_body("DELETE")) as answer:
                await answer.body()
                expect(answer.status == 204, f"DELETE: {answer.status}")
            async with self.posted(self.speaker.request(1, "ping")) as answer:
                await answer.body()
                expect(answer.status == 404, f"the session has ended, and yet {answer.status}")
        await self.aclose()

    def without_body(self, method: str, **headers: str) -> bytes:
        """Return a GET or a DELETE in the session."""
        sent = {"accept": "text/event-stream", **self.session, **headers}
        if self.profile.version_header:
            sent[self.profile.version_header] = self.speaker.revision
        return request(method, PATH, sent)

    def get(self, last_event_id: str | None = None) -> bytes:
        """Return a GET for the session's stream, or to resume a stream."""
        self.left_a_stream = True
        more = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        return self.without_body("GET", **more)


class Paired(Peer):
    """Client of the HTTP+SSE endpoints: one stream for all server messages, and POSTs."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._stream: Connection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._address = ""
        self._came: dict[Any, asyncio.Queue[bytes]] = {}
        self.news: asyncio.Queue[Any] = asyncio.Queue()
        """Messages that belong to no request."""
        self.over = False
        """True if the stream has ended."""

    @property
    def path(self) -> str:
        """Path of the POSTs."""
        return self._address

    async def begin(self) -> None:
        """Open the stream and do the handshake."""
        self._stream = await Connection.open(self.port)
        await self._stream.send(request("GET", SSE_PATH, ACCEPT))
        answer = await self._stream.answer()
        expect(answer.is_stream, f"expected a stream, got {answer.status}")
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(answer, found))
        async with asyncio.timeout(WAIT_S):
            self._address = await found
        said = await self.ask(self.speaker.initialize(0), 0)
        expect(said.result["protocolVersion"] == self.speaker.revision, f"{said.result}")
        await self.tell(self.speaker.initialized)

    async def end(self, *, politely: bool) -> None:
        """Disconnect."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if self._stream is not None:
            await self._stream.hang_up("close" if politely else self.rng.choice(WAYS_TO_HANG_UP))
        await self.aclose()
        if self._reading is not None and not self._reading.cancelled():
            self._reading.result()

    async def ended(self) -> None:
        """Wait until the server has ended the stream."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    async def ask(self, frame: bytes, id: Any, **headers: str) -> Said:
        """Post a request, and return all messages up to its response."""
        said = Said()
        with self.expecting(id) as came:
            await self.tell(frame, **headers)
            while said.answer is None:
                async with asyncio.timeout(WAIT_S):
                    data = await came.get()
                expect(data, "the stream ended before the answer")
                await self.heard(data, said)
        return self.checked(said, id)

    async def tell(self, frame: bytes, **headers: str) -> None:
        """Post a message."""
        self.watch.saw("client", frame)
        await self.take(frame, **headers)

    @contextmanager
    def expecting(self, id: Any) -> Iterator[asyncio.Queue[bytes]]:
        """Yield the messages for a request, its progress included; empty if the stream ends."""
        queue = self._came[id] = asyncio.Queue()
        try:
            yield queue
        finally:
            del self._came[id]

    async def _read(self, answer: Answer, found: asyncio.Future[str]) -> None:
        with suppress(ConnectionError, EOFError, TimeoutError):
            async with aclosing(answer.events()) as events:
                async for event in events:
                    if event.name == "endpoint":
                        found.set_result(event.data.decode())
                    elif event.data:
                        await self._sort(event)
        self.over = True
        for queue in self._came.values():
            queue.put_nowait(b"")

    async def _sort(self, event: Event) -> None:
        """Route an event to its request."""
        frame = msgspec.json.decode(event.data)
        asks = "method" in frame and "id" in frame
        id = frame.get("params", {}).get("progressToken", frame.get("id"))
        if asks:
            self.saw(event.data)
            await self.reply(frame)
        elif id in self._came:
            self._came[id].put_nowait(event.data)
        else:
            self.saw(event.data)
            self.news.put_nowait(frame)


def peer(port: int, revision: str, rng: random.Random, watch: Watch) -> Peer:
    """Return a client of that revision."""
    profile = mcp_wire.profile(revision)
    if profile.http_transport == "sse_pair":
        return Paired(port, revision, rng, watch)
    kind = InSession if profile.session_header else Lone
    return kind(port, revision, rng, watch)
