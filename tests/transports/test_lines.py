"""LineReader and writing of lines: messages are split correctly, whatever the chunks."""

from __future__ import annotations

import asyncio
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest

from mcp_gen.transports.lines import EXCERPT_BYTES, LineReader, LineWriter
from tests.support.property_tests import given, st

WAIT_S = 30.0
NEVER = 10_000


class Kept:
    """Receiver that keeps its messages."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.reports: list[int] = []

    def receive(self, message: bytes) -> None:
        self.messages.append(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        self.reports.append(limit_bytes)

    def closed(self, error: BaseException | None) -> None:
        raise AssertionError("a reader of lines does not end a connection")


def read(*chunks: bytes, limit: int = NEVER) -> Kept:
    """Return a receiver after these chunks were read."""
    kept = Kept()
    reader = LineReader(kept, limit)
    for chunk in chunks:
        reader.feed(chunk)
    return kept


# --- reading ---


def test_a_message_that_comes_in_pieces_is_handed_on_whole() -> None:
    assert read(b'{"a', b'":', b"1}\n").messages == [b'{"a":1}']


def test_messages_that_come_at_once_are_handed_on_one_by_one() -> None:
    assert read(b"1\n2\n3\n").messages == [b"1", b"2", b"3"]


def test_a_message_is_not_handed_on_before_its_newline_has_come() -> None:
    assert read(b"1\n2").messages == [b"1"]


def test_lines_of_nothing_but_white_space_are_no_messages() -> None:
    assert read(b"\n1\n\r\n  \t\n2\n").messages == [b"1", b"2"]


def test_a_last_line_without_a_newline_is_a_message_when_the_stream_ends() -> None:
    kept = Kept()
    reader = LineReader(kept, NEVER)
    reader.feed(b"1\n2")
    reader.end()
    assert kept.messages == [b"1", b"2"]


def test_the_end_of_a_stream_after_a_newline_is_no_message() -> None:
    kept = Kept()
    reader = LineReader(kept, NEVER)
    reader.feed(b"1\n")
    reader.end()
    assert kept.messages == [b"1"]


@given(
    lines=st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line)),
    cuts=st.lists(st.integers(0, 200)),
)
def test_how_a_stream_is_cut_into_chunks_makes_no_difference(
    lines: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[a:b] for a, b in pairwise(places)]
    whole, cut = read(stream, limit=8), read(*chunks, limit=8)
    assert (cut.messages, cut.reports) == (whole.messages, whole.reports)


def test_a_message_as_long_as_the_limit_is_handed_on() -> None:
    assert read(b"12345678\n", limit=8).messages == [b"12345678"]


@pytest.mark.parametrize(
    "chunks",
    [[b"1\n123456789\n2\n"], [b"1\n12345", b"6789", b"0123456789", b"\n2\n"]],
    ids=["at once", "in pieces"],
)
def test_a_message_longer_than_the_limit_is_skipped(chunks: list[bytes]) -> None:
    assert read(*chunks, limit=8).messages == [b"1", b"2"]


@pytest.mark.parametrize(
    "chunks",
    [[b"1\n123456789\n2\n"], [b"1\n12345", b"6789", b"0123456789", b"\n2\n"]],
    ids=["at once", "in pieces"],
)
def test_a_message_longer_than_the_limit_is_reported_once(chunks: list[bytes]) -> None:
    assert read(*chunks, limit=8).reports == [8]


def test_each_message_longer_than_the_limit_is_reported() -> None:
    assert read(b"123456789", b"\n123456789", b"\n1\n", limit=8).reports == [8, 8]


def test_a_message_longer_than_the_limit_that_the_stream_ends_in_is_no_message() -> None:
    kept = Kept()
    reader = LineReader(kept, 8)
    reader.feed(b"123456789")
    reader.end()
    assert kept.messages == []


def test_a_message_that_never_ends_is_not_kept_in_memory() -> None:
    reader = LineReader(Kept(), 1000)
    for _ in range(10_000):
        reader.feed(b"x" * 100)
    assert len(reader._line) <= 1000


def test_a_message_of_pieces_of_one_byte_takes_no_more_memory_than_its_size() -> None:
    reader = LineReader(Kept(), 1_000_000)
    tracemalloc.start()
    try:
        for _ in range(200_000):
            reader.feed(b"x")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1_000_000


# --- writing ---


class Pipe:
    """Recorder of written lines."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.wrote = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        self.wrote.set()


def writer_to(pipe: Pipe) -> LineWriter:
    writer = LineWriter(asyncio.get_running_loop())
    writer.attach(pipe)
    return writer


async def soon(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), WAIT_S)


async def test_what_is_sent_in_one_turn_of_the_loop_goes_out_in_one_write() -> None:
    pipe = Pipe()
    writer = writer_to(pipe)
    for message in (b"1", b"2", b"3"):
        writer.send(message)
    await soon(pipe.wrote)
    assert pipe.writes == [b"1\n2\n3\n"]


async def test_what_is_sent_in_a_later_turn_goes_out_too() -> None:
    pipe = Pipe()
    writer = writer_to(pipe)
    writer.send(b"1")
    await soon(pipe.wrote)
    pipe.wrote.clear()
    writer.send(b"2")
    await soon(pipe.wrote)
    assert pipe.writes == [b"1\n", b"2\n"]


async def test_a_flush_writes_now_what_is_queued() -> None:
    pipe = Pipe()
    writer = writer_to(pipe)
    writer.send(b"1")
    writer.flush()
    assert pipe.writes == [b"1\n"]


async def test_what_was_flushed_is_not_written_again() -> None:
    pipe = Pipe()
    writer = writer_to(pipe)
    writer.send(b"1")
    writer.flush()
    await asyncio.sleep(0)
    assert pipe.writes == [b"1\n"]


async def test_what_is_sent_before_there_is_a_pipe_is_written_when_there_is_one() -> None:
    pipe = Pipe()
    writer = LineWriter(asyncio.get_running_loop())
    writer.send(b"1")
    await asyncio.sleep(0)
    writer.attach(pipe)
    # A wait for an event that is set already lets no other callback run, since Python 3.12.
    pipe.wrote.clear()
    writer.send(b"2")
    await soon(pipe.wrote)
    assert b"".join(pipe.writes) == b"1\n2\n"


async def test_what_is_sent_after_the_pipe_has_broken_is_not_kept() -> None:
    writer = writer_to(Pipe())
    writer.connection_lost(BrokenPipeError())
    for _ in range(100):
        writer.send(b"1")
    await asyncio.sleep(0)
    assert writer._queued == []


async def test_draining_waits_while_writing_is_paused() -> None:
    writer = writer_to(Pipe())
    writer.pause_writing()
    draining = asyncio.create_task(writer.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    writer.resume_writing()
    await asyncio.wait_for(draining, WAIT_S)


async def test_draining_waits_for_nothing_where_writing_is_not_paused() -> None:
    await asyncio.wait_for(writer_to(Pipe()).drain(), WAIT_S)


async def test_draining_ends_when_nobody_reads_any_more() -> None:
    writer = writer_to(Pipe())
    writer.pause_writing()
    writer.connection_lost(None)
    await asyncio.wait_for(writer.drain(), WAIT_S)


async def test_whoever_asks_is_told_of_each_pause_and_each_resumption() -> None:
    told: list[bool] = []
    writer = writer_to(Pipe())
    writer.on_pause = told.append
    writer.pause_writing()
    writer.resume_writing()
    assert told == [True, False]


@pytest.mark.parametrize("size", [1, 7, 5_000, 1_000_000])
@pytest.mark.parametrize("newline", [b"\n", b""])
def test_the_beginning_and_the_end_of_a_line_that_is_too_long_are_told(
    newline: bytes, size: int
) -> None:
    told = [b"", b""]

    class Curious(Kept):
        def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> Any:
            told[0], told[1] = told[0] or beginning, end
            return True

    stream = b"first" + b"x" * 20_000 + b"last" + newline
    reader = LineReader(Curious(), 1_500)
    for at in range(0, len(stream), size):
        reader.feed(stream[at : at + size])
    reader.end()
    assert told == [stream[:EXCERPT_BYTES], stream.removesuffix(newline)[-EXCERPT_BYTES:]]
