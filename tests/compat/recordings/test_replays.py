"""Recordings of every revision: equal against the same server, and the change against another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import mcp_wire
from mcp_gen import Server
from mcp_gen.compat.recordings.lines import read_recording
from mcp_gen.compat.recordings.replaying.replay import ReplayReport, replay
from mcp_gen.compat.wire.openers import MemoryOpener
from mcp_gen.core.errors import UsageError
from tests.compat.recordings import talking
from tests.support.frames import HANDSHAKE, PER_REQUEST

REVISIONS = mcp_wire.REVISIONS
MANY = 13
"""Messages of the server in the conversation, at least."""


def changes(report: ReplayReport) -> set[tuple[str, str, str]]:
    return {(one.about, one.expected, one.came) for one in report.differences}


def the_change(revision: str) -> set[tuple[str, str, str]]:
    """Return what another version of the server does otherwise."""
    found = {
        ("answer to tools/list", '"Count them."', '"Count them all."'),
        ("answer to tools/call", '"4"', '"5"'),
    }
    if mcp_wire.profile(revision).structured_content != "none":
        found.add(("answer to tools/call", "4", "5"))
    return found


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_recording_over_stdio_replays_equal_and_shows_exactly_the_change(
    revision: str, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"

    async def run() -> tuple[ReplayReport, ReplayReport]:
        assert await talking.record_stdio(path, revision) == 0
        same = await talking.replay_command(path)
        return same, await talking.replay_memory(path, is_changed=True)

    same, changed = asyncio.run(run())
    assert (str(same).count("\n"), same.is_equal, same.at) == (0, True, revision)
    assert same.compared >= MANY
    assert changes(changed) == the_change(revision)
    assert not changed.is_equal


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_recording_over_http_replays_equal_and_shows_exactly_the_change(
    revision: str, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"

    async def run() -> tuple[ReplayReport, ReplayReport]:
        async with talking.shelf_url(revision) as url:
            await talking.record_http(path, revision, url)
            same = await talking.replay_url(path, url)
        async with talking.shelf_url(revision, is_changed=True) as url:
            return same, await talking.replay_url(path, url)

    same, changed = asyncio.run(run())
    assert (str(same).count("\n"), same.is_equal, same.at) == (0, True, revision)
    assert same.compared >= MANY
    assert changes(changed) == the_change(revision)


def test_the_stream_of_a_server_is_found_beside_its_other_endpoint(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    revision = REVISIONS[0]

    async def run() -> ReplayReport:
        async with talking.shelf_url(revision) as url:
            await talking.record_http(path, revision, url, talking.open_alone)
            return await talking.replay_url(path, url.replace("/sse", "/mcp"))

    report = asyncio.run(run())
    assert (report.is_equal, report.compared) == (True, 1), str(report)


def test_of_a_server_that_does_not_speak_the_revision_it_is_told_what_it_said(
    tmp_path: Path,
) -> None:
    path = tmp_path / "talk.jsonl"

    async def run() -> ReplayReport:
        async with talking.shelf_url(HANDSHAKE) as url:
            await talking.record_http(path, HANDSHAKE, url, talking.open_alone)
        opens = MemoryOpener(lambda revision: Server("old", revisions=[HANDSHAKE]))
        try:
            return await replay(path, opens, revision=PER_REQUEST, timeout_s=talking.WAIT_S)
        finally:
            await opens.aclose()

    (found,) = asyncio.run(run()).differences
    assert (found.about, found.expected) == ("opening", f"revision {PER_REQUEST}")
    assert '"code":' in found.came


def test_a_line_of_a_recording_tells_the_time_the_side_and_the_revision(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    revision = mcp_wire.LATEST

    async def run() -> None:
        async with talking.shelf_url(revision) as url:
            await talking.record_http(path, revision, url, talking.open_alone)

    asyncio.run(run())
    recording = read_recording(path)
    kinds = [(line.sender, line.kind, line.exchange) for line in recording.lines]
    assert kinds == [
        ("client", "request", 1),
        ("client", "message", 1),
        ("server", "response", 1),
        ("server", "message", 1),
        ("server", "ended", 1),
    ]
    request, sent, response, came, _ = recording.lines
    assert (request.method, request.path.partition("?")[0]) == ("POST", "/mcp")
    assert request.headers["mcp-method"] == "server/discover"
    assert (sent.revision, came.revision, recording.revision) == (revision,) * 3
    assert response.status == 200
    assert 0 <= sent.at_s <= came.at_s


def test_a_recording_over_http_replays_over_memory_and_one_over_stdio_over_http(
    tmp_path: Path,
) -> None:
    over_http, over_stdio = tmp_path / "http.jsonl", tmp_path / "stdio.jsonl"
    revision = mcp_wire.REVISIONS[-2]

    async def run() -> tuple[ReplayReport, ReplayReport]:
        await talking.record_stdio(over_stdio, revision)
        async with talking.shelf_url(revision) as url:
            await talking.record_http(over_http, revision, url)
            crossed = await talking.replay_url(over_stdio, url)
        return crossed, await talking.replay_memory(over_http)

    for report in asyncio.run(run()):
        assert report.is_equal, str(report)
        assert report.compared >= MANY


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recordings over stdio of the first and the last revision, and the one before it."""
    folder = tmp_path_factory.mktemp("recorded")
    paths = {one: folder / f"{one}.jsonl" for one in (REVISIONS[0], *REVISIONS[-2:])}

    async def run() -> None:
        for revision, path in paths.items():
            await talking.record_stdio(path, revision)

    asyncio.run(run())
    return paths


@pytest.mark.parametrize(
    ("recorded_at", "restated_at"),
    [
        (REVISIONS[-2], REVISIONS[-1]),
        (REVISIONS[-1], REVISIONS[-2]),
        (REVISIONS[-1], REVISIONS[0]),
        (REVISIONS[0], REVISIONS[-1]),
    ],
)
def test_a_conversation_that_is_restated_is_equal_and_shows_exactly_the_change(
    recorded: dict[str, Path], recorded_at: str, restated_at: str
) -> None:
    path = recorded[recorded_at]
    same = asyncio.run(talking.replay_memory(path, as_=restated_at))
    changed = asyncio.run(talking.replay_memory(path, is_changed=True, as_=restated_at))
    assert (changes(same), same.at, same.revision) == (set(), restated_at, recorded_at)
    assert same.compared > MANY / 2
    both = min(recorded_at, restated_at, key=REVISIONS.index)
    assert changes(changed) == the_change(both)


def test_what_a_revision_cannot_say_is_told_as_a_loss(recorded: dict[str, Path]) -> None:
    report = asyncio.run(talking.replay_memory(recorded[REVISIONS[-2]], as_=REVISIONS[-1]))
    assert f"line 38: {REVISIONS[-1]} has no ping" in [
        f"line 38: {one.partition(': ')[2]}" for one in report.losses
    ]


def test_what_may_differ_is_ignored_by_its_pointer(recorded: dict[str, Path]) -> None:
    pointers = ("/result/tools/*/description", "/result/content", "/result/structuredContent")
    path = recorded[REVISIONS[-1]]
    report = asyncio.run(talking.replay_memory(path, is_changed=True, ignored=pointers))
    assert report.is_equal, str(report)


def test_a_server_that_ends_early_differs_in_every_message_and_is_not_waited_for(
    recorded: dict[str, Path],
) -> None:
    report = asyncio.run(talking.replay_with(recorded[REVISIONS[-1]], ["true"]))
    assert report.compared == 0
    assert {one.path for one in report.differences} == {"$"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no recording: line 1"),
        ('{"recording":9,"started":"","transport":"stdio","server":""}\n', "reads format 1"),
        (
            '{"recording":1,"started":"","transport":"stdio","server":""}\n{"x":1}\n{"y":1}\n',
            "line 2",
        ),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_line(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_recording(path)
