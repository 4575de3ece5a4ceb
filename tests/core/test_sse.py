"""SSE parser: events as in the HTML standard, however the stream is split into chunks."""

from __future__ import annotations

import pytest

from mcp_gen.core.errors import TransportError
from mcp_gen.core.transport import sse
from mcp_gen.core.transport.sse import Event, EventReader, StreamPosition


def read(
    stream: bytes, size: int = 10_000, limit_bytes: int = 1_000
) -> tuple[list[Event], StreamPosition]:
    reader, place, found = EventReader(limit_bytes), StreamPosition(), list[Event]()
    for start in range(0, len(stream), size):
        found += reader.feed(stream[start : start + size], place)
    return found, place


STREAM = (
    "\ufeff: hello\r\n\r\n"
    "id: 1\r\ndata:\r\n\r\n"
    'event: message\ndata: {"a":\ndata: "ü"}\n\n'
    "data:no blank\rid\r\r"
    "event: other\nid: 7\nretry: 250\nmore: x\ndata: [1]\n\n"
    "retry: 9x\nid: a\0b\ndata\n\n"
    "data: no end"
).encode()
EVENTS = [
    Event("message", '{"a":\n"ü"}'.encode()),
    Event("message", b"no blank"),
    Event("other", b"[1]"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 13, 64, 10_000])
def test_events_are_the_same_in_pieces_of_any_size(size: int) -> None:
    found, place = read(STREAM, size)
    assert found == EVENTS
    assert (place.id, place.retry_ms, place.events) == (b"7", 250, 5)


MARK = "\ufeff".encode()


def test_a_byte_order_mark_is_left_out_at_the_beginning_of_a_stream_alone() -> None:
    reader, place = EventReader(1_000), StreamPosition()
    pieces = (b"", MARK + b"data: a\n\n", MARK + b"data: b\n\n")
    found = [reader.feed(piece, place) for piece in pieces]
    # The second one is part of a name, which no field has.
    assert found == [[], [Event("message", b"a")], []]


@pytest.mark.parametrize("size", [1, 2])
def test_a_byte_order_mark_in_pieces_is_left_out_too(size: int) -> None:
    found, _ = read(MARK + b"data: a\n\n", size)
    assert found == [Event("message", b"a")]


@pytest.mark.parametrize("size", [1, 2, 10])
def test_a_stream_that_begins_like_a_byte_order_mark_is_read_whole(size: int) -> None:
    found, _ = read(MARK[:2] + b"\ndata: a\n\n", size)
    assert found == [Event("message", b"a")]


def test_what_is_written_here_is_read_here() -> None:
    stream = b"".join(
        (
            sse.resume_point("p"),
            sse.COMMENT,
            sse.retry(30),
            sse.typed_event("endpoint", b"/a"),
            sse.event(b"{}"),
        )
    )
    found, place = read(stream)
    assert found == [Event("endpoint", b"/a"), Event("message", b"{}")]
    assert (place.id, place.retry_ms) == (b"p", 30)


def test_the_id_of_an_event_that_is_cut_off_does_not_count() -> None:
    _, place = read(b"id: 1\ndata: a\n\nid: 2\ndata: b")
    assert place.id == b"1"


def test_an_empty_id_means_that_there_is_none() -> None:
    _, place = read(b"id: 1\n\nid:\n\n")
    assert place.id == b""


@pytest.mark.parametrize("size", [1, 100, 10_000])
@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 1_001, b"data: x\n" * 2_000, b":" + b"x" * 1_001], ids=len
)
def test_an_event_that_is_too_long_is_refused(stream: bytes, size: int) -> None:
    with pytest.raises(TransportError, match="an event of at most 1000 bytes"):
        read(stream + b"\n\n" + b"data: x\n\n", size)


def test_many_short_events_are_not_too_long() -> None:
    found, _ = read(b"data: x\n\n" * 2_000, 100)
    assert len(found) == 2_000
