"""Streams of events of the reference server, which outlive their connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

from msgspec import Struct

__all__ = ["EventStream", "SentEvent"]


class SentEvent(Struct, frozen=True):
    """One event of a stream.

    Args:
        data: The data; empty for none, None for an event without the field.
        fields: The other fields, by name.
    """

    data: bytes | None
    fields: Mapping[str, str] = {}

    @property
    def is_message(self) -> bool:
        """True if the data is a message."""
        return bool(self.data) and self.fields.get("event", "message") == "message"

    @property
    def about(self) -> str:
        """The fields beside the data, one a line."""
        return "\n".join(f"{name}: {value}" for name, value in self.fields.items())

    def encoded(self) -> bytes:
        """Return the bytes on the wire."""
        lines = [f"{name}: {value}".encode() for name, value in self.fields.items()]
        if self.data is not None:
            lines.append(b"data: " + self.data)
        return b"\n".join(lines) + b"\n\n"


class EventStream:
    """One stream: all that was sent on it, for a connection or several in turn.

    Args:
        name: Its name, with which the ids of its events begin.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.events: list[SentEvent] = []
        self.is_over = False
        """True if no more events come."""
        self.connections = 0
        """Number of connections that it is sent on."""
        self._cuts: list[int] = []
        self._news = asyncio.Event()

    def add(self, event: SentEvent) -> None:
        """Send one event."""
        self.events.append(event)
        self._news.set()

    def end(self) -> None:
        """End the stream after what was sent."""
        self.is_over = True
        self._news.set()

    def drop(self) -> None:
        """End the connections after what was sent, but not the stream."""
        self._cuts.append(len(self.events))
        self._news.set()

    def place_of(self, id: str) -> int | None:
        """Return the number of the event after the one with an id; None if there is none."""
        for number, event in enumerate(self.events):
            if event.fields.get("id") == id:
                return number + 1
        return None

    async def read(self, start: int) -> AsyncGenerator[SentEvent, None]:
        """Yield the events from one on, until the end of the stream or of the connection."""
        begin = start
        while True:
            while start < len(self.events) and not self._is_cut(begin, start):
                yield self.events[start]
                start += 1
            if self.is_over or self._is_cut(begin, start):
                return
            self._news.clear()
            await self._news.wait()

    def _is_cut(self, begin: int, place: int) -> bool:
        return any(begin < cut <= place for cut in self._cuts)
