"""Playing: sends what the recorded client sent, once what it had waited for has come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

import mcp_wire
from mcp_gen.compat.json_values import entries, is_array, is_object, member, objects
from mcp_gen.compat.recordings.replaying.differences import NOTHING
from mcp_gen.compat.recordings.secret_names import PLACEHOLDER
from mcp_gen.compat.reference.http_client.headers import request_headers
from mcp_gen.compat.wire.http import HttpWire, SsePairWire, endpoint_said, is_endpoint

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.recordings.lines import RecordedLine, Recording
    from mcp_gen.compat.recordings.replaying.expectations import Expectations
    from mcp_gen.compat.transcript import WireEvent
    from mcp_gen.compat.wire.wire import Wire
    from mcp_wire.profile import Profile

__all__ = ["ExchangePlayer", "MessagePlayer"]

NOT_PLAYED = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "transfer-encoding"}
)
"""Headers that each connection has of its own."""


class MessagePlayer:
    """Plays the messages of a recording, whatever had carried them.

    Args:
        recording: The recording.
        wire: The client's end of a connection.
        expectations: What is expected of the server.
        revision: The revision that is spoken over HTTP until the messages name another.
    """

    def __init__(
        self, recording: Recording, wire: Wire, expectations: Expectations, revision: str
    ) -> None:
        self._recording = recording
        self._wire = wire
        self._expectations = expectations
        self._revision = revision
        self._session_id: str | None = None
        self._tools: dict[str, Json] = {}
        wire.transcript.listen(self._heard)
        expectations.repeat = self._repeat

    async def play(self) -> None:
        """Play the recording to its end."""
        await self._wire.open()
        for number, line in enumerate(self._recording.lines, 2):
            if line.kind != "message":
                continue
            if line.sender == "server":
                self._expectations.expect(number, line)
                continue
            await self._expectations.settle()
            message = live_message(line, number, self._expectations)
            if message is not None:
                await self._send(message, line.revision)
        await self._expectations.end()

    async def _send(self, message: Any, revision: str | None) -> None:
        self._revision = revision or self._revision
        self._expectations.sent(message)
        profile = mcp_wire.profile(self._revision)
        headers = request_headers(profile, message, session_id=self._session_id, tools=self._tools)
        data = message if isinstance(message, bytes) else msgspec.json.encode(message)
        exchange = await self._wire.send(data, headers)
        if isinstance(self._wire, HttpWire) and not _asks(message):
            # What is sent next must not overtake it on another connection.
            await self._wire.response(exchange, self._expectations.timeout_s)
        if profile.get_stream and _is_initialized(profile, message):
            await self._listen(profile)

    async def _repeat(self, request: Json, of: Any) -> None:
        await self._send(request, None)

    async def _listen(self, profile: Profile) -> None:
        """Open the stream for what belongs to no request, over HTTP."""
        if isinstance(self._wire, HttpWire) and not isinstance(self._wire, SsePairWire):
            headers = request_headers(profile, b"", session_id=self._session_id, tools=self._tools)
            await self._wire.exchange("GET", headers=headers)

    def _heard(self, event: WireEvent) -> None:
        header = mcp_wire.profile(self._revision).session_header
        if event.kind == "response" and header and self._session_id is None:
            self._session_id = event.headers.get(header.lower())
        for frame in entries(event.message) if event.kind == "message" else ():
            for tool in objects(member(frame, "result", "tools")):
                self._tools[str(tool.get("name"))] = tool


class ExchangePlayer:
    """Plays the HTTP exchanges of a recording, with their methods and headers.

    Args:
        recording: The recording.
        wire: The client's end of the connection.
        expectations: What is expected of the server.
    """

    def __init__(self, recording: Recording, wire: HttpWire, expectations: Expectations) -> None:
        self._recording = recording
        self._wire = wire
        self._expectations = expectations
        self._exchanges: dict[int, int] = {}
        """Numbers of live exchanges by the recorded ones."""
        self._heads: list[tuple[int, RecordedLine]] = []
        """Heads of responses that are to come."""
        requests = [line for line in recording.lines if line.kind == "request"]
        self._path = _path(requests[0]) if requests else ""
        posted = [line for line in recording.lines if _is_endpoint(line)]
        self._streams = {_target_of(line.text): line.exchange for line in posted}
        """Recorded exchanges with a stream, by the target for messages that it told."""
        self._paths = {self._path, *(one.partition("?")[0] for one in self._streams)}
        self.left_out: list[str] = []
        """Requests that are not played."""
        self._senders: dict[bytes, Callable[[Json], Awaitable[int]]] = {}
        """Functions that send a message like a request, by the id of the request."""
        expectations.repeat = self._repeat

    async def play(self) -> None:
        """Play the recording to its end."""
        lines = self._recording.lines
        if self._streams and isinstance(self._wire, SsePairWire):
            await self._wire.locate()
        for number, line in enumerate(lines, 2):
            if line.exchange and line.exchange not in self._exchanges and line.kind != "request":
                continue
            if line.kind == "request":
                follows = lines[number - 1] if number <= len(lines) - 1 else None
                body = follows if follows is not None and _is_body(line, follows) else None
                await self._request(number, line, body)
            elif line.kind == "ended" and line.sender == "client":
                await self._settle()
                self._wire.hang_up(self._exchanges[line.exchange])
            elif line.sender == "server" and line.kind == "response":
                self._heads.append((number, line))
            elif line.sender == "server" and line.kind == "message":
                self._expectations.expect(number, line)
        await self._settle()
        await self._expectations.end()

    async def _request(self, number: int, line: RecordedLine, body: RecordedLine | None) -> None:
        if _path(line) not in self._paths:
            self.left_out.append(f"line {number}: {line.method} {_path(line)}")
            return
        await self._settle()
        message: Any = None
        if body is not None:
            message = live_message(body, number + 1, self._expectations)
            if message is None:
                return
            self._expectations.sent(message)
        data = None if message is None else msgspec.json.encode(message)
        if isinstance(message, bytes):
            data = message
        headers, target = self._headers(line.headers), await self._target(line)
        self._exchanges[line.exchange] = await self._wire.exchange(
            line.method, data, headers, target
        )
        if is_object(message):

            def send(again: Json) -> Awaitable[int]:
                return self._wire.exchange(line.method, msgspec.json.encode(again), headers, target)

            self._senders[msgspec.json.encode(message.get("id"))] = send

    async def _repeat(self, request: Json, of: Any) -> None:
        await self._senders[msgspec.json.encode(of)](request)

    async def _target(self, line: RecordedLine) -> str | None:
        """Return where a request goes; None for the endpoint."""
        if not self._streams or line.method != "POST":
            return None
        # A client may have opened other streams before, and left them.
        stream = self._exchanges.get(self._streams.get(line.path, 0))

        def tells(event: WireEvent) -> bool:
            return is_endpoint(event) and stream in (None, event.exchange)

        found = await self._wire.transcript.first(tells, self._expectations.timeout_s)
        return None if found is None else endpoint_said(found)

    def _headers(self, recorded: Mapping[str, str]) -> dict[str, str]:
        made: dict[str, str] = {}
        for name, value in recorded.items():
            live = self._expectations.bindings.live_text(value)
            if name == "last-event-id":
                live = self._expectations.event_ids.get(value, value)
            # A secret that is not known: the target has credentials of its own.
            if name not in NOT_PLAYED and not PLACEHOLDER.search(live):
                made[name] = live
        return made

    async def _settle(self) -> None:
        heads, self._heads = self._heads, []
        for number, line in heads:
            live = await self._wire.response(
                self._exchanges[line.exchange], self._expectations.timeout_s
            )
            about = f"response to exchange {line.exchange}"
            if live is None or live.kind != "response":
                came = NOTHING if live is None else live.about or "the end"
                self._expectations.differs(number, about, "status", str(line.status), came)
                continue
            if live.status != line.status:
                self._expectations.differs(
                    number, about, "status", str(line.status), str(live.status)
                )
            for name, value in line.headers.items():
                if PLACEHOLDER.fullmatch(value) and name in live.headers:
                    self._expectations.bindings.bind(value, live.headers[name])
        await self._expectations.settle()


def live_message(line: RecordedLine, number: int, expectations: Expectations) -> Any:
    """Return what a line of the client is to send now; None if it cannot be sent.

    Args:
        line: The line.
        number: Its number.
        expectations: Knows the live values.

    Returns:
        A JSON value, or bytes that are none.
    """
    if line.size_bytes:
        came = "a message that was too large for the recording"
        expectations.differs(number, "message", "$", f"{line.size_bytes} bytes", came)
        return None
    if line.message is UNSET:
        return expectations.bindings.live_text(line.text).encode()
    message = line.message
    if is_array(message):
        made = [one for one in (_live_frame(each, expectations) for each in message) if one]
        return made or None
    return _live_frame(message, expectations)


def _live_frame(frame: Any, expectations: Expectations) -> Any:
    if not is_object(frame):
        return frame
    if "method" in frame or "id" not in frame:
        return expectations.bindings.live(frame)
    try:
        id = expectations.bindings.request_id(frame["id"])
    except KeyError:
        # The server has not asked: that is a difference already.
        return None
    return {**expectations.bindings.live(frame), "id": id}


def _is_initialized(profile: Profile, message: Any) -> bool:
    row = profile.initialized
    return row is not None and member(message, "method") == row.name


def _asks(message: Any) -> bool:
    return any("method" in one and "id" in one for one in entries(message))


def _path(line: RecordedLine) -> str:
    return line.path.partition("?")[0]


def _target_of(text: str) -> str:
    """Return path and query of an address for messages."""
    without_origin = "/" + text.partition("://")[2].partition("/")[2] if "://" in text else text
    return without_origin.strip().strip('"')


def _is_endpoint(line: RecordedLine) -> bool:
    return line.kind == "sse" and line.fields.get("event") == "endpoint"


def _is_body(head: RecordedLine, line: RecordedLine) -> bool:
    is_client = line.sender == "client" and line.kind == "message"
    return is_client and line.exchange == head.exchange
