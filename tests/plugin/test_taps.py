"""Transcripts of a client's connections: over memory and HTTP, and of one revision alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from typing import Any

import msgspec
import pytest

from mcp_gen import Client, Context, Server
from mcp_gen.client.connecting.targets import resolve_target
from mcp_gen.compat.plugin.listening import listening
from mcp_gen.compat.plugin.recorder import Recorder, spoken_at
from mcp_gen.compat.plugin.taps import TappedRequests
from mcp_gen.compat.transcript import Transcript
from mcp_gen.core.transport.protocols import Lines
from tests.support.frames import every_revision

NEWEST, OLDER = "2026-07-28", "2025-11-25"


def frame(**members: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})


def server() -> Server:
    made = Server("steps")

    @made.tool
    async def step(ctx: Context) -> str:
        """Report progress."""
        await ctx.report_progress(1, 2)
        return "done"

    return made


def in_background(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(work)


def ignored(progress: float, total: float | None, message: str | None) -> None:
    """Do nothing with a report of progress."""


async def recorded_over_http(revision: str) -> Transcript:
    """Return the transcript of one call over HTTP."""
    recorder = Recorder("http")
    async with listening(server().asgi()) as url, Client("test") as client:
        target = recorder.recorded(resolve_target(url, in_background, bearer_token="secret"))
        session = await client.connect(target, revision=revision)
        await session.call_tool("step", {}, progress=ignored)
    (transcript,) = recorder.transcripts(revision)
    return transcript


@every_revision
async def test_every_http_exchange_is_written_down(revision: str) -> None:
    transcript = await recorded_over_http(revision)
    exchanges = {event.exchange for event in transcript.events if event.exchange}
    kinds = {
        number: [event.kind for event in transcript.events if event.exchange == number]
        for number in sorted(exchanges)
    }
    for number in exchanges:
        assert kinds[number][0] == "request"
        assert "response" in kinds[number]
        assert kinds[number][-1] == "ended"
    results = [frame for _, frame in transcript.frames("server") if "result" in frame]
    assert results[-1]["result"]["content"] == [{"type": "text", "text": "done"}]
    assert [
        frame["params"]["progress"]
        for _, frame in transcript.frames("server")
        if frame.get("method") == "notifications/progress"
    ] == [1]
    assert transcript.events[-1].kind == "closed"


@pytest.mark.parametrize(
    ("revision", "path", "transport"),
    [
        ("2024-11-05", "/mcp", "memory"),
        ("2024-11-05", "/sse", "http"),
        ("2025-03-26", "/mcp", "http"),
        ("2025-03-26", "/sse", "memory"),
    ],
)
async def test_rules_of_http_are_for_the_transport_of_the_revision(
    revision: str, path: str, transport: str
) -> None:
    recorder = Recorder("http")
    app = server().asgi(legacy_sse_path="/sse")
    async with listening(app, path) as url, Client("test") as client:
        target = recorder.recorded(resolve_target(url, in_background))
        await client.connect(target, revision=revision)
    assert recorder.transcripts(revision)[-1].transport == transport


class Streamed:
    """Response whose body is a stream of events, and the source of it."""

    status = 200
    headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def send(self, method: str, url: str, headers: Lines, body: bytes | None) -> Streamed:
        """Return itself as the response."""
        return self

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body."""
        for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        """Do nothing."""


async def written_down(*chunks: bytes) -> list[tuple[str, bytes, str]]:
    """Return the kind, the data and the fields of what a stream has left in the transcript."""
    transcript = Transcript(NEWEST, "http")
    tapped = TappedRequests(Streamed(*chunks), transcript)
    response = await tapped.send("GET", "http://127.0.0.1/mcp", [], None)
    assert [chunk async for chunk in response.chunks()] == list(chunks)
    return [
        (event.kind, event.data, event.about)
        for event in transcript.events
        if event.kind not in ("request", "response")
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_events_of_a_stream_are_written_down_whatever_their_lines_end_with(
    end: bytes,
) -> None:
    lines = [b"\xef\xbb\xbfid: 7", b'data: {"a":', b"data: 1}", b"", b": comment", b"", b"data: no"]
    stream = end.join(lines)
    expected = [("message", b'{"a":\n1}', "id: 7"), ("ended", b"data: no", "")]
    assert await written_down(stream) == expected
    assert await written_down(*(bytes([byte]) for byte in stream)) == expected


async def test_events_that_are_no_messages_are_written_down_as_such() -> None:
    assert await written_down(b"event: endpoint\ndata: /messages\n\n", b"id: 1\ndata:\n\n") == [
        ("sse", b"/messages", "event: endpoint"),
        ("sse", b"", "id: 1"),
        ("ended", b"", ""),
    ]


async def test_credentials_are_not_written_down() -> None:
    transcript = await recorded_over_http(NEWEST)
    headers = [event.headers for event in transcript.events if event.kind == "request"]
    assert {one["authorization"] for one in headers} == {"(hidden)"}


async def test_the_question_for_the_newest_revision_is_left_out_of_an_older_one() -> None:
    recorder = Recorder("memory")
    async with Client("test") as client:
        older = Server("older", revisions=[OLDER])
        target = recorder.recorded(resolve_target(older, in_background))
        session = await client.connect(target)
        assert session.revision == OLDER
    (transcript,) = recorder.transcripts(OLDER)
    first = next(iter(transcript.frames()))
    assert first.members["method"] == "initialize"
    assert [event.number for event in transcript.events] == list(range(len(transcript.events)))


def test_an_answer_to_what_was_left_out_is_left_out_when_it_comes_late() -> None:
    transcript = Transcript("", "memory")
    transcript.add("client", "message", frame(id=1, method="server/discover"))
    transcript.add("client", "message", frame(id=2, method="initialize"))
    transcript.add("server", "message", frame(id=1, error={"code": -32601, "message": "no"}))
    transcript.add("server", "message", frame(id=2, result={}))
    ids = [members["id"] for _, members in spoken_at(OLDER, transcript).frames()]
    assert ids == [2, 2]


def test_an_id_may_be_used_again_after_the_question() -> None:
    transcript = Transcript("", "stdio")
    transcript.add("client", "message", frame(id=1, method="server/discover"))
    transcript.add("server", "message", frame(id=1, error={"code": -32601, "message": "no"}))
    transcript.add("client", "message", frame(id=1, method="initialize"))
    transcript.add("server", "message", frame(id=1, result={}))
    kept = [members for _, members in spoken_at(OLDER, transcript).frames()]
    assert [one.get("method", "answer") for one in kept] == ["initialize", "answer"]


async def test_over_http_the_whole_exchange_of_the_question_is_left_out() -> None:
    recorder = Recorder("http")
    older = Server("older", revisions=[OLDER])
    async with listening(older.asgi()) as url, Client("test") as client:
        session = await client.connect(recorder.recorded(resolve_target(url, in_background)))
        assert session.revision == OLDER
    (transcript,) = recorder.transcripts(OLDER)
    assert [event.kind for event in transcript.events[:2]] == ["request", "message"]
    assert next(iter(transcript.frames())).members["method"] == "initialize"


def test_a_connection_for_the_question_alone_is_nothing_to_judge() -> None:
    transcript = Transcript("", "memory")
    transcript.add("client", "message", frame(id=1, method="server/discover"))
    assert spoken_at(OLDER, transcript).events == []
    assert len(spoken_at(NEWEST, transcript).events) == 1
