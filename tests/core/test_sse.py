"""SSE parser: events as in the HTML standard, however the stream is split into chunks."""

from __future__ import annotations

import random
import re
import time
import tracemalloc

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


# --- sizes ---


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("stream", "refused"),
    [
        (b"data: " + b"x" * 1_000, False),
        (b"data:" + b"x" * 1_001, True),
        (b"data:\n" * 1_001, False),  # 1,000 newlines
        (b"data:\n" * 1_002, True),
        (b"data: " + b"x" * 499 + b"\ndata: " + b"x" * 500, False),
        (b"data: " + b"x" * 500 + b"\ndata: " + b"x" * 500, True),
        (b"id: " + b"x" * 996 + b"\ndata: " + b"x" * 1_000, False),
        (b"id: " + b"x" * 997, True),
        (b"event: " + b"x" * 994, True),
        (b"retry: " + b"1" * 994, True),
        (b":" * 1_000, False),
        (b":" * 1_001, True),
        (b":\n" * 100_000, False),
        (b"no field\n" * 100_000, False),
    ],
)
def test_the_size_of_data_and_of_other_lines_is_limited_to_the_byte(
    stream: bytes, refused: bool, size: int
) -> None:
    if refused:
        with pytest.raises(TransportError, match="an event of at most 1000 bytes"):
            read(stream + b"\n\n", size)
    else:
        read(stream + b"\n\n", size)


@pytest.mark.parametrize("line", [b"data: a\n", b"data:\n", b": a\n", b"\n", b"\r\n", b"\r"])
def test_the_time_is_linear_in_the_bytes_of_the_stream(line: bytes) -> None:
    def seconds(lines: int) -> float:
        began_s = time.process_time()
        read(line * lines, 1_000, 10_000_000)
        return time.process_time() - began_s

    seconds(1_000)
    small_s = min(seconds(10_000) for _ in range(3))
    assert seconds(160_000) < 16 * 6 * small_s


def test_a_line_of_pieces_of_one_byte_takes_no_more_memory_than_its_size() -> None:
    reader, place = EventReader(1_000_000), StreamPosition()
    tracemalloc.start()
    try:
        for _ in range(200_000):
            reader.feed(b"x", place)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1_000_000


def test_an_event_of_very_many_empty_lines_takes_no_more_memory_than_its_size() -> None:
    reader, place = EventReader(1_000_000), StreamPosition()
    chunk = b"data:\n" * 1_000
    tracemalloc.start()
    try:
        for _ in range(500):
            reader.feed(chunk, place)
        (event,) = reader.feed(b"\n", place)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert event.data == b"\n" * 499_999
    assert peak_bytes < 2_000_000


# --- against a plain reading of the whole text ---


def read_whole(
    stream: bytes, limit_bytes: int
) -> tuple[list[Event], bytes, int | None, int] | None:
    """Return events, last id, delay and number of events; None if one is too long.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
    """
    *lines, _ = re.split(rb"\r\n|\n|\r", stream.removeprefix(MARK))
    found: list[Event] = []
    last_id, delay_ms, count = b"", None, 0
    data, name, id = list[bytes](), b"", None
    for line in lines:
        if not line:
            count += bool(data) or id is not None
            last_id = last_id if id is None else id
            whole = b"\n".join(data)
            if whole:
                found.append(Event(name.decode("utf-8", "replace") or "message", whole))
            data, name, id = [], b"", None
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif len(line) > limit_bytes:
            return None
        elif field == b"event":
            name = value
        elif field == b"id" and b"\0" not in value:
            id = value
        elif field == b"retry" and re.fullmatch(rb"[0-9]{1,9}", value):
            delay_ms = int(value)
        if len(b"\n".join(data)) > limit_bytes:
            return None
    return found, last_id, delay_ms, count


PIECES = [
    *(b"data", b"event", b"id", b"retry", b"x", b": ", b":", b" ", b"\0", b"7", b"31", b"{}"),
    *(b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\r\r", "ü".encode(), b"\xff", MARK),
    *(b"data: {}\n\n", b"data: ab\r\n", b"id: 5\n", b"event: message\r", b":\n\n", b"retry: 10\n"),
]


@pytest.mark.parametrize("seed", range(20))
def test_any_stream_in_any_pieces_is_read_as_the_standard_says(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        stream = b"".join(rng.choices(PIECES, k=rng.randrange(60)))
        stream = rng.choice([b"", b"", MARK, MARK[:2]]) + stream + b"\n\n"
        limit_bytes = rng.choice([8, 20, 1_000])
        reader, place, found = EventReader(limit_bytes), StreamPosition(), list[Event]()
        at = 0
        try:
            while at < len(stream):
                size = rng.choice([0, 1, 1, 2, 3, 10, 100])
                found += reader.feed(stream[at : at + size], place)
                at += size
            result = found, place.id, place.retry_ms, place.events
        except TransportError:
            result = None
        assert result == read_whole(stream, limit_bytes), stream


@pytest.mark.parametrize("size", [1, 7, 1_024, 5_000, 1_000_000])
@pytest.mark.parametrize(
    "lines", [b"data: %b", b"data: {\ndata: %b"], ids=["in one line", "in two lines"]
)
def test_a_message_that_is_too_large_is_skipped_and_its_ends_are_told(
    lines: bytes, size: int
) -> None:
    told = [b"", b""]
    pad = b"x" * 20_000

    def oversized(limit_bytes: int, beginning: bytes, end: bytes) -> bool:
        told[0] = told[0] or beginning
        told[1] = end
        return True

    stream = b"id: 1\n" + lines % (b"first" + pad + b"last") + b"\n\nid: 2\ndata: next\n\n"
    reader, place, found = EventReader(1_000, oversized), StreamPosition(), list[Event]()
    for at in range(0, len(stream), size):
        found += reader.feed(stream[at : at + size], place)
    assert (found, place.id, place.events) == ([Event("message", b"next")], b"2", 2)
    assert b"first" in told[0] or told[0].startswith(b"{")
    assert told[1].endswith(b"last")
    assert max(map(len, told)) <= sse.EXCERPT_BYTES
