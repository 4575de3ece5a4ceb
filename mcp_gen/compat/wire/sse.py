"""Server-sent events with every field that they came with: ids, retry times, types.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mcp_gen.compat.transcript import SSE_FIELDS

__all__ = ["SseEvent", "SseReader"]

EXCERPT_BYTES = 1024
"""Bytes of the beginning of an event that are kept if it is too large."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event of a stream: the lines up to an empty one, comments left out.

    Args:
        fields: Values of `event`, `id` and `retry`, of those that it has.
        data: The `data` lines, joined with newlines; None if it has none.
        is_cut: True if the data is only the beginning of what came.
    """

    fields: Mapping[str, str]
    data: bytes | None
    is_cut: bool = False

    @property
    def is_message(self) -> bool:
        """True if it is a message: it has data, and is of no other type."""
        return bool(self.data) and self.fields.get("event", "message") == "message"


class SseReader:
    """Parser of one stream, fed in chunks of any size.

    Args:
        max_event_bytes: Maximum size of the data of an event, in bytes; the rest is left out.
    """

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._head: bytes | None = b""
        """The first bytes, while they may be a byte order mark; None once that is decided."""
        self._rest = bytearray()
        self._after_cr = False
        self._fields: dict[str, str] = {}
        self._data: bytearray | None = None
        self._is_cut = False

    @property
    def unfinished(self) -> bytes:
        """Bytes since the last event: at the end of a stream, an event that was broken off."""
        return b"".join((self._data or b"", self._rest))

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that end in a chunk."""
        found: list[SseEvent] = []
        for line in self._lines(chunk):
            if line:
                self._read(line)
                continue
            if self._fields or self._data is not None:
                data = None if self._data is None else bytes(self._data)
                found.append(SseEvent(self._fields, data, self._is_cut))
            self._fields, self._data, self._is_cut = {}, None, False
        return found

    def _lines(self, chunk: bytes) -> list[bytes]:
        if self._head is not None:
            chunk = self._head + chunk
            if len(chunk) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(chunk):
                self._head = chunk
                return []
            self._head = None
            chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if lines:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        # What does not fit into an event is not kept either while its line has no end.
        self._rest += rest[: max(0, self._max + EXCERPT_BYTES - len(self._rest))]
        return lines

    def _read(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data = value_of(self._data, value)
            if len(self._data) > self._max:
                del self._data[EXCERPT_BYTES:]
                self._is_cut = True
        elif name.decode("latin-1") in SSE_FIELDS:
            self._fields[name.decode()] = value[:EXCERPT_BYTES].decode("utf-8", "backslashreplace")


def value_of(before: bytearray | None, line: bytes) -> bytearray:
    """Return the data of an event with one more line."""
    if before is None:
        return bytearray(line)
    before += b"\n"
    before += line
    return before
