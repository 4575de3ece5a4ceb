"""Server-sent events (SSE): encoder and incremental parser.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from mcp_gen.core.errors import MessageTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "COMMENT",
    "Event",
    "EventReader",
    "StreamPosition",
    "event",
    "resume_point",
    "retry",
    "typed_event",
]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DATA = b"data: "
"""Longest beginning of a line that is no part of the data."""

EXCERPT_BYTES = 1024
"""Bytes of the beginning, and of the end, of an oversized event that are reported."""

COMMENT = b":\n\n"
"""An empty SSE comment, used as heartbeat. Parsers skip it."""


def event(data: bytes, id: str = "") -> bytes:
    """Return the bytes of one message event.

    Args:
        data: JSON in UTF-8.
        id: The event id, from which a client can resume; empty for none.
    """
    if b"\n" in data or b"\r" in data:
        # In JSON a line break stands between tokens only, where a space means the same.
        data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    if id:
        return b"id: %b\ndata: %b\n\n" % (id.encode(), data)
    return b"data: %b\n\n" % data


def typed_event(name: str, data: bytes) -> bytes:
    """Return the bytes of an event of another type than `message`."""
    return b"event: %b\n%b" % (name.encode(), event(data))


def resume_point(id: str) -> bytes:
    """Return the bytes of an event with an id but no data: the client can resume from there."""
    return f"id: {id}\ndata:\n\n".encode()


def retry(after_ms: int) -> bytes:
    """Return the bytes that set the client's reconnect delay, in milliseconds."""
    return f"retry: {after_ms}\n\n".encode()


class Event(Struct, frozen=True):
    """A parsed event that has data.

    Args:
        name: The event type; `message` if the stream names none.
        data: The data; several `data` lines are joined with newlines.
    """

    name: str
    data: bytes


class EventReader:
    """Incremental parser of one SSE stream.

    Its time is linear in the bytes of the stream, and its memory is bounded by the size of one
    event, however the stream is split into chunks.

    Args:
        max_event_bytes: Maximum size of the data of an event, and of every other line, in bytes.
        oversized: Called with the limit, the first and the last bytes of the data of a larger
            message, which is skipped; see `Receiver.oversized`. None: a larger one is an error.
    """

    __slots__ = (
        "_data",
        "_end",
        "_head",
        "_line",
        "_max",
        "_more",
        "_name",
        "_next_id",
        "_oversized",
        "_skip_lf",
        "_wants_end",
    )

    def __init__(
        self,
        max_event_bytes: int,
        oversized: Callable[[int, bytes, bytes], bool | None] | None = None,
    ) -> None:
        self._max = max_event_bytes
        self._oversized = oversized
        self._end: bytearray | None = None
        """The last bytes of an event that is skipped; None if none is."""
        self._wants_end: bool | None = False
        self._head: bytes | None = b""
        """The first bytes, while they may still be a byte order mark; None once that is decided."""
        self._skip_lf = False
        self._line = bytearray()
        """The beginning of a line, without its end."""
        self._data: bytes | None = None
        """The first `data` line of the event; None before it."""
        self._more: bytearray | None = None
        """All `data` lines, joined with newlines, if there are several; None before the second."""
        self._name = ""
        self._next_id: bytes | None = None

    def feed(self, chunk: bytes, place: StreamPosition) -> list[Event]:
        """Parse one chunk of the stream and return the events that end in it.

        Args:
            chunk: The next bytes of the stream.
            place: The position in the stream; updated.

        Raises:
            MessageTooLarge: An event is too large.
        """
        found: list[Event] = []
        for line in self._lines_of(chunk):
            self._read_line(line, place, found)
        return found

    def parts(
        self, chunk: bytes, place: StreamPosition, most_lines: int
    ) -> Iterator[tuple[int, list[Event]]]:
        """Parse one chunk of the stream in parts, so that other work can be done in between.

        Args:
            chunk: The next bytes of the stream.
            place: The position in the stream; updated.
            most_lines: The most lines of a part.

        Yields:
            Of each part the number of its lines, and the events that end in it.

        Raises:
            MessageTooLarge: An event is too large.
        """
        lines = self._lines_of(chunk)
        for at in range(0, len(lines), most_lines):
            part, found = lines[at : at + most_lines], list[Event]()
            for line in part:
                self._read_line(line, place, found)
            yield len(part), found

    def _lines_of(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in a chunk, and keep what follows the last one."""
        if self._head is not None:
            chunk = self._head + chunk
            if len(chunk) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(chunk):
                self._head = chunk  # The mark may be split between chunks.
                return []
            self._head = None
            chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            # Lines end with CR, LF or CRLF, and CRLF may be split between two chunks.
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines and self._line:
            # The first line began in an earlier chunk.
            self._line += lines[0]
            lines[0] = bytes(self._line)
            self._line.clear()
        if rest:
            self._line += rest
            if len(self._line) > self._max + len(_DATA):
                self._shorten_line()
        return lines

    def _read_line(self, line: bytes, place: StreamPosition, found: list[Event]) -> None:
        if not line:
            self._end_event(place, found)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            whole: bytes | bytearray = value
            if self._end is not None:
                self._end += value[-EXCERPT_BYTES:]
                del self._end[:-EXCERPT_BYTES]
                return
            if self._data is None:
                self._data = value
            else:
                # One buffer instead of a list: an event may have millions of empty lines, and
                # joining them at its end would take long.
                if self._more is None:
                    self._more = bytearray(self._data)
                whole = self._more
                whole += b"\n"
                whole += value
            if len(whole) > self._max:
                self._skip(bytes(whole[:EXCERPT_BYTES]))
                self._end = bytearray(whole[-EXCERPT_BYTES:])
        elif len(line) > self._max:
            raise self._too_large()
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._next_id = value
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            place.retry_ms = int(value)

    def _end_event(self, place: StreamPosition, found: list[Event]) -> None:
        data = self._data
        if self._next_id is not None or data is not None or self._end is not None:
            place.events += 1
        if self._next_id is not None:
            place.id, self._next_id = self._next_id, None
        if self._more is not None:
            data, self._more = bytes(self._more), None
        if data:
            found.append(Event(self._name or "message", data))
        self._data = None
        self._name = ""
        if self._end is not None:
            if self._wants_end and self._oversized is not None:
                self._oversized(self._max, b"", bytes(self._end))
            self._end = None

    def _shorten_line(self) -> None:
        """Keep only the end of a line that is too long, if its event may be skipped."""
        name, _, value = bytes(self._line).partition(b":")
        if name != b"data":
            raise self._too_large()
        if self._end is None:
            before = self._data if self._more is None else bytes(self._more)
            self._skip((before or value.removeprefix(b" "))[:EXCERPT_BYTES])
            self._end = bytearray()
        self._line[:] = _DATA + value[-EXCERPT_BYTES:]

    def _skip(self, beginning: bytes) -> None:
        """Skip the event, and report it if it is a message."""
        if self._oversized is None:
            raise self._too_large()
        self._data = self._more = None
        is_message = self._name in ("", "message")
        self._wants_end = is_message and self._oversized(self._max, beginning, b"")

    def _too_large(self) -> MessageTooLarge:
        return MessageTooLarge(
            f"expected an event of at most {self._max} bytes, got more "
            "(`max_message_bytes` of the client)"
        )


class StreamPosition:
    """Position in an SSE stream, kept after a disconnect to resume the stream."""

    __slots__ = ("events", "id", "retry_ms")

    def __init__(self) -> None:
        self.id = b""
        """Id of the last event; empty if the server sends none."""
        self.retry_ms: int | None = None
        """Reconnect delay in milliseconds that the server asks for; None if it sends none."""
        self.events = 0
        """Number of events received, with or without data."""
