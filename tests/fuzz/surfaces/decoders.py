"""Surface: everything that reads bytes of a peer, called directly.

Each decoder may refuse what it gets, with the errors that it documents. What it takes, it must be
able to say again; and it must not matter how a stream is cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import msgspec
from msgspec import Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    ParseError,
    ProjectionError,
    TransportError,
)
from mcp_gen.core.loose_json import read_members, read_meta
from mcp_gen.core.projection.project import restate
from mcp_gen.core.protocol_state import MessageRejected, ProtocolState, RequestReceived
from mcp_gen.core.transport.header_values import decoded_value, encoded_value
from mcp_gen.core.transport.sse import Event, EventReader, StreamPosition
from mcp_gen.server.input_requests.request_state import RequestState, RequestStateSealer
from mcp_gen.server.listing import cursors
from mcp_gen.server.resources.uri_templates import UriTemplate
from tests.fuzz.findings import Block, Findings
from tests.fuzz.making.messages import Maker
from tests.fuzz.making.shapes import Shapes, shapes_of
from tests.fuzz.making.streams import Answers
from tests.fuzz.making.texts import as_json, bent
from tests.fuzz.reading import id_key, read
from tests.soak.figures import live_kb

__all__ = ["Decoders"]

LARGEST_EVENT = 20_000
TEMPLATES = ("user://{id}/{part}", "path://{+rest}", "q://x{?a,b}", "f://x{/a*}", "n://{a}{?b}")


class Wrong(Exception):
    """A decoder has done what it must not do."""


class Tried:
    """One input, and what it is decoded with."""

    def __init__(self, block: Block, index: int) -> None:
        self.revision = block.revision
        self.shapes: Shapes = shapes_of(block.revision)
        self.random: Random = block.random(index)
        self.index = index
        self.data = b""

    def message(self) -> bytes:
        """Return the bytes of a message of a client, kept for the report."""
        self.data = Maker.of(self.revision, self.random, self.index).input()
        return self.data

    def type(self) -> tuple[str, Any, bytes]:
        """Return a type, and the JSON of an instance that was changed, mostly."""
        random, name = self.random, self.random.choice(_types(self.revision))
        value = self.shapes.instance(name, random)
        self.valid = random.random() < 0.3
        if not self.valid:
            value = self.shapes.changed(value, random)
        self.data = as_json(value, random)
        if not self.valid and random.random() < 0.15:
            self.data = bent(self.data, random)
        return name, getattr(mcp_wire.types(self.revision), name), self.data


@cache
def _types(revision: str) -> list[str]:
    """Return the names of the types that have a schema and are decoded."""
    module, found = mcp_wire.types(revision), list[str]()
    for name in shapes_of(revision).document["$defs"]:
        kind: Any = getattr(module, name, None)
        try:
            mcp_wire.decoder(kind)
        except TypeError:
            continue
        found.append(name)
    return found


def expect(holds: bool, what: object) -> None:
    """Raise `Wrong` unless this holds."""
    if not holds:
        raise Wrong(what)


# --- frames ---


def try_frame(tried: Tried) -> None:
    data = tried.message()
    asks = read(data, batches=False)
    try:
        frame = envelope.read(data)
    except (ParseError, InvalidRequest) as error:
        id = error.request_id
        meant = isinstance(error, envelope.NoResponse) and error.is_response
        if id is not None and not meant:
            expect(id_key(id) in [*asks.must, *asks.may], f"an id that it has not: {id!r}")
        return
    is_request = frame.method is not msgspec.UNSET and frame.id is not msgspec.UNSET
    if is_request:
        expect(id_key(frame.id) in [*asks.must, *asks.may], f"an id that it has not: {frame.id!r}")
    elif frame.method is not msgspec.UNSET:
        expect(not asks.must, "a request is read as a notification")


def try_batch(tried: Tried) -> None:
    data = tried.message()
    try:
        entries = envelope.read_batch(data)
    except (ParseError, InvalidRequest):
        return
    found = read(data, batches=True)
    if not found.may:
        asked = len(found.must) + found.anonymous
        expect(len(entries) >= asked, f"{len(entries)} entries, of which {asked} ask for an answer")


def try_state(tried: Tried) -> None:
    data = tried.message()
    profile = mcp_wire.profile(tried.revision)
    asks = read(data, batches=profile.allows_batches)
    state: ProtocolState[int] = ProtocolState(profile)
    waits = tried.random.random() < 0.3
    for number in range(5 if waits else 0):
        state.open_request(number)
    events = state.receive(data)
    answers = [e for e in events if type(e) is RequestReceived or _is_answered(e)]
    # What answers one of the five open requests is no request, however it looks.
    if not asks.may and not waits:
        least, most = len(asks.must), len(asks.must) + asks.anonymous
        expect(least <= len(answers) <= most, f"{len(answers)} answers, not {least} to {most}")


def _is_answered(event: Any) -> bool:
    return type(event) is MessageRejected and event.answer is not None


def try_members(tried: Tried) -> None:
    data = tried.message()
    read_meta(Raw(data))
    read_members(Raw(data), ("id", "method", "params"))


# --- types ---


def try_type(tried: Tried) -> None:
    name, kind, data = tried.type()
    try:
        value = mcp_wire.decode(kind, data)
    except msgspec.DecodeError as error:
        expect(not tried.valid, f"{name} refuses what its schema allows: {error}")
        return
    again = mcp_wire.encode(value)
    expect(mcp_wire.encode(mcp_wire.decode(kind, again)) == again, f"{name} is not what it was")


def try_projection(tried: Tried) -> None:
    _, kind, data = tried.type()
    to = tried.random.choice(mcp_wire.REVISIONS)
    try:
        value = mcp_wire.decode(kind, data)
    except msgspec.DecodeError:
        return
    if not isinstance(value, msgspec.Struct):
        return
    restated: Any
    try:
        restated = restate(value, to).value
    except ProjectionError:
        return
    text, other = mcp_wire.encode(restated), restated.__class__
    expect(mcp_wire.encode(mcp_wire.decode(other, text)) == text, f"it is not as at {to}")


# --- streams ---


def try_events(tried: Tried) -> None:
    random = tried.random
    answers = Answers(tried.shapes, random)
    stream = answers.stream([answers.message({"id": 1, "method": "ping"}) for _ in range(2)])
    tried.data = stream = bent(stream, random) if random.random() < 0.5 else stream
    whole = _parsed([stream])
    cuts = sorted(random.randrange(len(stream) + 1) for _ in range(random.randrange(1, 8)))
    parts = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    expect(_parsed(parts) == whole, "the events depend on how the stream is cut")
    single = [stream[at : at + 1] for at in range(len(stream))] if len(stream) < 2000 else [stream]
    expect(_parsed(single) == whole, "the events depend on how the stream is cut")


def _parsed(chunks: list[bytes]) -> tuple[list[Event], bytes, int | None] | str:
    reader, place, found = EventReader(LARGEST_EVENT), StreamPosition(), list[Event]()
    try:
        for chunk in chunks:
            found += reader.feed(chunk, place)
    except TransportError:
        return "too large"
    return found, place.id, place.retry_ms


# --- texts ---

WORDS = (
    "a",
    "%2f",
    "%",
    "%zz",
    "..",
    "/",
    "?",
    "&",
    "=",
    "#",
    "{",
    "é",
    "\x00",
    "\\",
    ";",
    " ",
    ":",
)


def _text(random: Random, *words: str) -> str:
    return "".join(random.choice((*WORDS, *words)) for _ in range(random.randrange(12)))


def try_header(tried: Tried) -> None:
    random = tried.random
    text = _text(random, "=?base64?", "?=", "Zg==")
    tried.data = value = encoded_value(text)
    expect(decoded_value(value) == text, f"{text!r} is read as {decoded_value(value)!r}")
    tried.data = bent(value, random)
    decoded_value(tried.data)


def try_template(tried: Tried) -> None:
    random = tried.random
    template = _templates()[random.randrange(len(TEMPLATES))]
    start = random.choice(TEMPLATES).partition("{")[0]
    uri = start + _text(random, "a=1", "b=", "x")
    tried.data = uri.encode("utf-8", "surrogatepass")
    template.match(uri)


@cache
def _templates() -> tuple[UriTemplate, ...]:
    return tuple(UriTemplate(text, frozenset({"a"} if "*" in text else ())) for text in TEMPLATES)


def try_cursor(tried: Tried) -> None:
    random = tried.random
    good = cursors.encode(["name", random.randrange(9), _text(random)])
    tried.data = bent(good.encode(), random)
    cursors.decode(tried.data.decode("latin-1"), list[Any])
    cursors.decode(good, dict[str, int])


def try_request_state(tried: Tried) -> None:
    random, states = tried.random, _states()
    state = RequestState(round=1, expires=states.expiry(), asked=["k"], answers={})
    good = states.seal(state, b"bound")
    tried.data = bent(good.encode(), random)
    text = tried.data.decode("latin-1")
    try:
        states.open(text, b"bound")
    except InvalidParams:
        return
    expect(text == good, "a state that was changed is taken")


@cache
def _states() -> RequestStateSealer:
    return RequestStateSealer(["sixteen bytes or more"], 600.0)


TRIES: dict[Callable[[Tried], None], int] = {
    try_frame: 20,
    try_batch: 4,
    try_state: 20,
    try_members: 6,
    try_type: 24,
    try_projection: 10,
    try_events: 8,
    try_header: 2,
    try_template: 2,
    try_cursor: 2,
    try_request_state: 2,
}
"""Attempts, and how often each is made among a hundred."""


class Decoders:
    """The decoders; there is no session."""

    async def __aenter__(self) -> Decoders:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    def live_kb(self) -> int | None:
        return live_kb()

    async def run(self, block: Block, findings: Findings) -> None:
        for index in block.indexes:
            tried = Tried(block, index)
            (attempt,) = tried.random.choices([*TRIES], [*TRIES.values()])
            try:
                attempt(tried)
            except Exception as error:
                findings.inputs[index] = tried.data
                findings.add("wrong", f"{attempt.__name__}: {type(error).__name__}: {error}", index)
        await asyncio.sleep(0)
