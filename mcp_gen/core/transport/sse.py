"""Server-sent events as bytes.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

from typing import NamedTuple

from mcp_gen.core.errors import TransportError

__all__ = ["COMMENT", "Event", "EventReader", "Place", "event", "named", "primer", "retry"]

COMMENT = b":\n\n"
"""What a reader skips: it keeps the connection alive."""


def event(data: bytes, id: str = "") -> bytes:
    """One message, JSON in UTF-8; with `id` a client can ask for what comes behind it."""
    if b"\n" in data or b"\r" in data:
        # In JSON a line ends between tokens only, where a space means the same.
        data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    if id:
        return b"id: %b\ndata: %b\n\n" % (id.encode(), data)
    return b"data: %b\n\n" % data


def named(name: str, data: bytes) -> bytes:
    """An event of a type of its own."""
    return b"event: %b\n%b" % (name.encode(), event(data))


def primer(id: str) -> bytes:
    """An event without data: from now on a client knows where to go on."""
    return f"id: {id}\ndata:\n\n".encode()


def retry(after_ms: int) -> bytes:
    """How long a client is to wait before it connects again."""
    return f"retry: {after_ms}\n\n".encode()


class Event(NamedTuple):
    """One event with data, as a reader gives it."""

    name: str
    data: bytes


class EventReader:
    """Cuts one stream into events. Memory is bounded by one of them."""

    __slots__ = ("_begun", "_data", "_max", "_name", "_next_id", "_parts", "_size", "_skip_lf")

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._begun = False
        self._skip_lf = False
        self._parts: list[bytes] = []
        """The line that has no end yet."""
        self._size = 0
        self._data: list[bytes] = []
        self._name = ""
        self._next_id: bytes | None = None

    def feed(self, chunk: bytes, place: Place) -> list[Event]:
        """The events that end in this piece of the stream; `place` keeps where that is.

        Raises:
            TransportError: an event is too long.
        """
        if not self._begun and chunk:
            self._begun = True
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            # A line ends in any of three ways, and the pair may be in two pieces.
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *others = chunk.split(b"\n")
        self._hold(first)
        if not others:
            return []
        found: list[Event] = []
        last = others.pop()
        self._line(b"".join(self._parts) if len(self._parts) != 1 else self._parts[0], place, found)
        for line in others:
            self._line(line, place, found)
        self._parts.clear()
        self._size = sum(map(len, self._data))
        self._hold(last)
        return found

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max:
            raise TransportError(f"expected an event of at most {self._max} bytes, got more")
        self._parts.append(part)

    def _line(self, line: bytes, place: Place, found: list[Event]) -> None:
        if not line:
            self._end_event(place, found)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._next_id = value
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            place.retry_ms = int(value)

    def _end_event(self, place: Place, found: list[Event]) -> None:
        if self._next_id is not None or self._data:
            place.events += 1
        if self._next_id is not None:
            place.id, self._next_id = self._next_id, None
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        if data:
            found.append(Event(self._name or "message", data))
        self._data.clear()
        self._name = ""


class Place:
    """How far a stream has been read: kept when it breaks, to go on behind it."""

    __slots__ = ("events", "id", "retry_ms")

    def __init__(self) -> None:
        self.id = b""
        """The last id that came; empty where the server gives none."""
        self.retry_ms: int | None = None
        """How long the server wants a client to wait before it connects again."""
        self.events = 0
        """How many have come, with data or without."""
