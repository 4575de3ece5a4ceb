"""Transcript of one connection: all that came and went, in order, with times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct

from mcp_gen.compat.json_values import Json, entries, is_same_id

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender

__all__ = [
    "SSE_FIELDS",
    "Kind",
    "Transcript",
    "Transport",
    "WireEvent",
    "WireFrame",
    "about_of",
    "answer_in",
    "cut_at",
    "fields_of",
]

Kind: TypeAlias = Literal["message", "request", "response", "sse", "ended", "closed"]
Transport: TypeAlias = Literal["memory", "stdio", "http"]

T = TypeVar("T")

_CUT = "a message of more than "

MAX_EVENTS = 100_000
"""Maximum number of events that a transcript keeps; a peer that sends more is cut off here."""
TURNS = 50
"""Turns of the event loop that a wait takes once it has run out.

What is on its way through this process arrives, also if the process had no time for it until then.
"""
SLICE_S = 0.05
"""Part of a wait, in seconds: where one takes longer, this process was late.

Time in which it could not run, because of the machine's load or of work of its own, is not the
peer's. It counts half, so that a wait takes no more than twice as long.
"""
PROMPT_S = 0.002
"""A wait that is not longer than this past its end was on time: the process had time for all."""
SSE_FIELDS = ("event", "id", "retry")
"""Fields beside the data, in the order in which they are shown."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class WireEvent(Struct, frozen=True, kw_only=True):
    """One thing that came or went.

    Args:
        number: Its place in the transcript.
        at_s: Seconds since the connection was opened.
        sender: The side it came from.
        kind: `message`: a text where a JSON-RPC message belongs: a line, a body, the data of an
            SSE event. `request` and `response`: the head of an HTTP request or response. `sse`: an
            SSE event without a message, such as one that has an id alone. `ended`: the end of an
            HTTP response. `closed`: the end of the connection, or of the process.
        data: The bytes of a message.
        message: The JSON value of a message; UNSET if it is not JSON, or none.
        exchange: Number of the HTTP exchange, from 1 on; 0 for none.
        status: HTTP status of a response.
        headers: HTTP headers, with names in lower case.
        about: Method and path of a request; fields of an SSE event; why something ended.
    """

    number: int
    at_s: float
    sender: Sender
    kind: Kind
    data: bytes = b""
    message: Any = UNSET
    exchange: int = 0
    status: int = 0
    headers: Mapping[str, str] = NO_HEADERS
    about: str = ""

    @property
    def is_cut(self) -> bool:
        """True for a message of which only the beginning was kept."""
        return self.about.rpartition("\n")[2].startswith(_CUT)


class WireFrame(NamedTuple):
    """One JSON object of a message: the message itself, or an entry of a batch."""

    event: WireEvent
    members: Json


class Transcript:
    """All events of one connection.

    Args:
        revision: The revision that the connection is to have.
        transport: What carries it.
    """

    def __init__(self, revision: str, transport: Transport) -> None:
        self.revision = revision
        self.transport: Transport = transport
        self.events: list[WireEvent] = []
        self.is_full = False
        """True if something was left out, because there was too much."""
        self.is_closed = False
        """True if the connection has ended."""
        self._began_s = time.monotonic()
        self._listeners: list[Callable[[WireEvent], None]] = []
        self._news = asyncio.Event()
        self._resuming: set[int] = set()
        """HTTP exchanges that ask for the rest of a stream."""
        self._came: dict[tuple[str, bytes], bool] = {}
        """Messages that came with the id of an event; True for those of a resumed stream."""
        self._repeated: set[int] = set()
        """Numbers of the messages that a resumed stream has brought once more."""
        self._heads: dict[int, WireEvent] = {}
        """Heads of the responses, by HTTP exchange."""
        self._derived: dict[tuple[Any, ...], tuple[int, Any]] = {}
        """Values by their function and arguments, with the number of events they were made of."""

    def add(
        self,
        sender: Sender,
        kind: Kind,
        data: bytes = b"",
        *,
        exchange: int = 0,
        status: int = 0,
        headers: Mapping[str, str] = NO_HEADERS,
        about: str = "",
        at_s: float | None = None,
    ) -> WireEvent:
        """Append an event, and tell the listeners; for the arguments see `WireEvent`.

        An event without `at_s` is one of this moment.
        """
        event = WireEvent(
            number=len(self.events),
            at_s=time.monotonic() - self._began_s if at_s is None else at_s,
            sender=sender,
            kind=kind,
            data=data,
            message=_decoded(data) if kind == "message" else UNSET,
            exchange=exchange,
            status=status,
            headers=headers,
            about=about,
        )
        if len(self.events) >= MAX_EVENTS:
            self.is_full = True
            return event
        self.events.append(event)
        if kind == "closed":
            self.is_closed = True
        if exchange:
            if kind == "response":
                self._heads.setdefault(exchange, event)
            self._note_repeated(event)
        for act in self._listeners:
            act(event)
        self._news.set()
        return event

    def listen(self, act: Callable[[WireEvent], None]) -> None:
        """Call a function with each event from now on."""
        self._listeners.append(act)

    def messages(self, sender: Sender | None = None) -> Iterator[WireEvent]:
        """Yield the messages of one side, or of both; what is repeated is one message."""
        for event in self.events:
            is_new = event.kind == "message" and event.number not in self._repeated
            if is_new and sender in (None, event.sender):
                yield event

    def _note_repeated(self, event: WireEvent) -> None:
        """Note a message with an event's id that came before, where one of both was resumed."""
        if event.kind == "request" and "last-event-id" in event.headers:
            self._resuming.add(event.exchange)
        elif event.kind == "message" and event.sender == "server":
            lines = event.about.split("\n")
            id = next((one.removeprefix("id: ") for one in lines if one.startswith("id: ")), "")
            if id:
                key, resumed = (id, event.data), event.exchange in self._resuming
                if key in self._came and (resumed or self._came[key]):
                    self._repeated.add(event.number)
                self._came.setdefault(key, resumed)

    def frames(self, sender: Sender | None = None) -> list[WireFrame]:
        """Return the JSON objects of the messages of one side, or of both."""
        return self.derived(_frames, sender)

    def derived(self, make: Callable[..., T], *args: Hashable) -> T:
        """Return what a function makes of the transcript: made once, until an event is added.

        Args:
            make: The function. What it returns is shared: nobody may change it.
            args: Its arguments beside the transcript; they must be hashable.
        """
        key = (make, *args)
        made = self._derived.get(key)
        if made is None or made[0] != len(self.events):
            made = self._derived[key] = (len(self.events), make(self, *args))
        value: T = made[1]
        return value

    def head(self, exchange: int) -> WireEvent | None:
        """Return the head of the response in an HTTP exchange; None if there is none yet."""
        return self._heads.get(exchange)

    async def first(
        self, wanted: Callable[[WireEvent], bool], within_s: float, *, start: int = 0
    ) -> WireEvent | None:
        """Return the first event that is wanted; None if it does not come in time.

        Args:
            wanted: Tells whether an event is the wanted one.
            within_s: Longest wait, in seconds in which this process could hear of it.
            start: Number of the first event to look at.
        """
        place = _Place(self.events, wanted, start)
        left_s, late_s = within_s, 0.0
        while place.found() is None and left_s > 0:
            self._news.clear()
            slice_s, began_s = min(left_s, SLICE_S), time.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(slice_s):
                    await self._news.wait()
            took_s = time.monotonic() - began_s
            left_s -= max(min(slice_s, took_s), took_s / 2)
            late_s = took_s - slice_s
        # What was woken in time has had its turns.
        if 0 < late_s < PROMPT_S <= within_s / 2:
            return place.found()
        for _ in range(TURNS):
            if place.found() is not None:
                break
            await asyncio.sleep(0)
        return place.found()


class _Place:
    """Place up to which the events of a transcript were searched for a wanted one."""

    def __init__(
        self, events: list[WireEvent], wanted: Callable[[WireEvent], bool], start: int
    ) -> None:
        self._events = events
        self._wanted = wanted
        self._next = start
        self._found: WireEvent | None = None

    def found(self) -> WireEvent | None:
        """Return the wanted event; None if it is not there yet."""
        events = self._events
        while self._found is None and self._next < len(events):
            event = events[self._next]
            self._next += 1
            if self._wanted(event):
                self._found = event
        return self._found


def _frames(transcript: Transcript, sender: Sender | None) -> list[WireFrame]:
    return [
        WireFrame(event, entry)
        for event in transcript.messages(sender)
        for entry in entries(event.message)
    ]


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNSET


def answer_in(event: WireEvent, id: Any) -> Json | None:
    """Return the answer to a request id in a message; None if it is not in it."""
    if event.kind != "message":
        return None
    for entry in entries(event.message):
        if "method" not in entry and "id" in entry and is_same_id(entry["id"], id):
            return entry
    return None


def cut_at(limit_bytes: int) -> str:
    """Return what a transcript says of a message that is cut off, on the last line of `about`.

    Args:
        limit_bytes: The most bytes that are kept of it.
    """
    return f"{_CUT}{limit_bytes} bytes"


def about_of(fields: Mapping[str, str]) -> str:
    """Return the fields of an SSE event as the text that a transcript has of them."""
    return "\n".join(f"{name}: {fields[name]}" for name in SSE_FIELDS if name in fields)


def fields_of(about: str) -> dict[str, str]:
    """Return the fields of an event of a transcript, by name; see `about_of`.

    Args:
        about: The text that the transcript has of them.
    """
    pairs = (line.partition(": ") for line in about.split("\n"))
    return {name: value for name, _, value in pairs if name in SSE_FIELDS}
