"""Well-behaved clients at every revision: they make requests and check the responses."""

from __future__ import annotations

import asyncio
import math
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec

from tests.soak.server import KEPT_S
from tests.soak.traffic.wire import Answer, Connection, request
from tests.support.checks.watch import Watch
from tests.support.frames import encoded
from tests.support.peers.answering import EVERYTHING, Capable

__all__ = ["ACCEPT", "Expired", "Peer", "Said", "Wrong", "expect", "text"]

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
FRESH_S = KEPT_S / 4
"""Time in seconds that a connection may be idle before reuse: the server closes it later."""


class Wrong(Exception):
    """Raised if the server violates a requirement."""


class Expired(Exception):
    """Raised if the session expired because the machine is too busy for this test."""


def expect(is_so: object, what: str) -> None:
    """Raise Wrong if a condition is false."""
    if not is_so:
        raise Wrong(what)


@dataclass
class Said:
    """Messages for one request: notifications, and the response after them if there is one."""

    told: list[Any] = field(default_factory=list)
    answer: Any = None

    @property
    def result(self) -> Any:
        """Return the result.

        Raises:
            Wrong: there is no result.
        """
        expect(self.answer is not None, "no answer came")
        expect("result" in self.answer, f"expected a result, got {self.answer}")
        return self.answer["result"]

    def steps(self, token: Any) -> list[Any]:
        """Return the progress notifications of a token."""
        params = [one["params"] for one in self.told if one["method"] == "notifications/progress"]
        expect(all(one["progressToken"] == token for one in params), f"not {token!r}: {params}")
        return [one["progress"] for one in params]


class Peer(ABC):
    """One client. All its random choices come from `rng`."""

    def __init__(self, port: int, revision: str, rng: random.Random, watch: Watch) -> None:
        self.port = port
        self.rng = rng
        self.speaker = Capable(revision, EVERYTHING)
        self.profile = self.speaker.profile
        self.watch = watch
        self.answers = 0
        """Number of requests that were answered correctly."""
        self.gone = False
        """True if the client makes no more requests."""
        self.idle_s = math.inf
        """Idle timeout of the session, in seconds."""
        self._spoke_s = self.now_s()
        self._ids = count(1000)
        self._idle: list[Connection] = []

    # --- differences between kinds ---

    @abstractmethod
    async def begin(self) -> None:
        """Open the session or the stream of the revision."""

    @abstractmethod
    async def end(self, *, politely: bool) -> None:
        """Close the session, or disconnect without a message."""

    @abstractmethod
    async def ask(self, frame: bytes, id: Any, **headers: str) -> Said:
        """Send a request, and return all messages up to its response."""

    @abstractmethod
    async def tell(self, frame: bytes) -> None:
        """Send a notification or a response."""

    # --- requests ---

    def new_id(self) -> Any:
        """Return an unused id: a number or a string."""
        number = next(self._ids)
        return number if number % 3 else f"id-{number}"

    def call(self, id: Any, tool: str, arguments: dict[str, Any], **more: Any) -> bytes:
        """Return a call with a progress token and a log level."""
        profile = self.profile
        meta = {profile.progress_token_key: id}
        if profile.log_level_key:
            meta[profile.log_level_key] = "debug"
        params = {"name": tool, "arguments": arguments, **more, "_meta": meta}
        return self.speaker.request(id, "tools/call", params)

    async def said(self, tool: str, **arguments: Any) -> tuple[str, Said, Any]:
        """Call a tool; return its text, all its messages, and its id."""
        more: dict[str, Any] = {}
        while True:
            id = self.new_id()
            said = await self.ask(self.call(id, tool, arguments, **more), id)
            if said.result.get("resultType") != "input_required":
                return text(said.result), said, id
            asked: Mapping[str, Any] = said.result["inputRequests"]
            more = {"inputResponses": {key: reply_to(one) for key, one in asked.items()}}
            if "requestState" in said.result:
                more["requestState"] = said.result["requestState"]

    async def text(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return its text."""
        return (await self.said(tool, **arguments))[0]

    async def result(self, method: str, **params: Any) -> Any:
        """Make a request and return its result."""
        id = self.new_id()
        return (await self.ask(self.speaker.request(id, method, params), id)).result

    async def reply(self, asked: Any) -> None:
        """Answer a request of the server."""
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": reply_to(asked)}
        await self.tell(encoded(answer))

    # --- HTTP ---

    def raw(self, frame: bytes, **headers: str) -> bytes:
        """Return the POST of a message as bytes."""
        return request("POST", self.path, {**ACCEPT, **self.headers(frame), **headers}, frame)

    @property
    @abstractmethod
    def path(self) -> str:
        """Path of the POSTs."""

    def headers(self, frame: bytes) -> dict[str, str]:
        """Return the headers that the revision requires beside the message."""
        return {}

    @asynccontextmanager
    async def posted(self, frame: bytes, **headers: str) -> AsyncIterator[Answer]:
        """Post a message. A connection that is not read to the end is closed."""
        async with self.sent(self.raw(frame, **headers)) as answer:
            yield answer

    @asynccontextmanager
    async def sent(self, raw: bytes) -> AsyncIterator[Answer]:
        """Send an HTTP request and return its response."""
        sent_s = self.now_s()
        connection, answer = await self._asked(raw)
        try:
            self.note(answer, sent_s)
            yield answer
        except BaseException:
            await connection.hang_up()
            raise
        if answer.whole:
            connection.used_s = self.now_s()
            self._idle.append(connection)
        else:
            await connection.hang_up()

    async def _asked(self, raw: bytes) -> tuple[Connection, Answer]:
        connection, sent_s = await self._connection(), self.now_s()
        try:
            await connection.send(raw)
            answer = await connection.answer()
        except (ConnectionError, EOFError):
            await connection.hang_up()
            if self.now_s() - connection.asked_s < KEPT_S * 0.9:
                raise
        except BaseException:
            await connection.hang_up()
            raise
        else:
            connection.asked_s = sent_s
            return connection, answer
        # The server closed the idle connection before it read the request.
        return await self._asked(raw)

    @asynccontextmanager
    async def connected(self, *, slow: bool = False) -> AsyncIterator[Connection]:
        """Open a connection, which is closed at the end."""
        connection = await Connection.open(self.port, slow=slow)
        try:
            yield connection
        finally:
            await connection.hang_up()

    def note(self, answer: Answer, sent_s: float) -> None:
        """Record that the server has answered a request of this time.

        Raises:
            Expired: the session may have expired.
        """
        if answer.status < 300:
            self._spoke_s = sent_s
        elif answer.status == 404 and self.now_s() - self._spoke_s > self.idle_s / 2:
            raise Expired

    @staticmethod
    def now_s() -> float:
        """Return the time of the event loop, in seconds."""
        return asyncio.get_running_loop().time()

    async def _connection(self) -> Connection:
        now_s = self.now_s()
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and now_s - connection.used_s < FRESH_S:
                return connection
            await connection.hang_up()
        return await Connection.open(self.port)

    async def take(self, frame: bytes, **headers: str) -> None:
        """Post a notification or a response, which must be accepted."""
        async with self.posted(frame, **headers) as answer:
            body = await answer.body()
            expect((answer.status, body) == (202, b""), f"not accepted: {answer.status} {body!r}")

    async def hear(self, answer: Answer, id: Any, said: Said | None = None) -> Said:
        """Return the messages for one request; nothing may follow the response itself."""
        said = said or Said()
        if not answer.is_stream:
            body = await answer.body()
            self.saw(body)
            expect(answer.status in (200, 202), f"{answer.status} {body!r}")
            said.answer = msgspec.json.decode(body) if body else None
            return self.checked(said, id)
        async with aclosing(answer.events()) as events:
            async for event in events:
                if event.data:
                    await self.heard(event.data, said)
        return self.checked(said, id)

    def checked(self, said: Said, id: Any) -> Said:
        """Return the messages for a request, after a check of the response's id."""
        if said.answer is not None:
            found = said.answer.get("id")
            expect((type(found), found) == (type(id), id), f"the answer to {id!r} has {found!r}")
            self.answers += 1
        return said

    async def heard(self, data: bytes, said: Said) -> Any:
        """Handle one message."""
        self.saw(data)
        frame = msgspec.json.decode(data)
        expect(said.answer is None, f"{frame} came behind the answer")
        if "method" not in frame:
            said.answer = frame
        elif "id" in frame:
            await self.reply(frame)
        else:
            said.told.append(frame)
        return frame

    def saw(self, data: bytes) -> None:
        """Check a server message against its revision."""
        if data:
            self.watch.saw("server", data)

    async def aclose(self) -> None:
        """Close every connection."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.hang_up()


def text(result: Any) -> str:
    """Return the text of a tool result."""
    expect(not result.get("isError"), f"the tool failed: {result}")
    (content,) = result["content"]
    return str(content["text"])


def reply_to(asked: Any) -> dict[str, Any]:
    """Return a client's answer, which identifies the server's request."""
    method = asked["method"]
    if method == "roots/list":
        return {"roots": [{"uri": "file:///here"}]}
    if method == "elicitation/create":
        word: str = asked["params"]["message"]
        action = word.partition("-")[0]
        return {"action": action, **({"content": {"word": word}} if action == "accept" else {})}
    (message,) = asked["params"]["messages"]
    content = {"type": "text", "text": message["content"]["text"]}
    return {"role": "assistant", "model": "none", "content": content}
