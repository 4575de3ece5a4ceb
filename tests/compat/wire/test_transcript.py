"""Transcript: repeated messages, values that are derived from it, and waits."""

from __future__ import annotations

import asyncio
import time

import mcp_wire
from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.checks.judging import judge
from mcp_gen.compat.transcript import SLICE_S, Transcript, cut_at

REVISION = mcp_wire.REVISIONS[3]
RESUMES = {"last-event-id": "stream-1"}


def came_twice(*, resumed: bool, id: str = "stream-2", again: bytes = b"{}") -> int:
    """Return the number of messages of a transcript in which one came in two HTTP exchanges."""
    transcript = Transcript(REVISION, "http")
    transcript.add("client", "request", exchange=1)
    transcript.add("server", "message", b"{}", exchange=1, about="id: stream-2")
    transcript.add("client", "request", exchange=2, headers=RESUMES if resumed else {})
    transcript.add("server", "message", again, exchange=2, about=f"id: {id}")
    return len(list(transcript.messages("server")))


def test_a_message_that_a_resumed_stream_brings_again_is_one() -> None:
    assert came_twice(resumed=True) == 1


def test_a_message_that_another_stream_brings_again_are_two() -> None:
    assert came_twice(resumed=False) == 2


def test_another_message_of_a_resumed_stream_is_one_of_its_own() -> None:
    assert came_twice(resumed=True, id="stream-3") == 2
    assert came_twice(resumed=True, again=b"[]") == 2


def test_what_is_derived_is_made_once_until_something_comes() -> None:
    transcript = Transcript(REVISION, "memory")
    made: list[int] = []

    def count(one: Transcript) -> int:
        made.append(len(one.events))
        return len(one.events)

    assert (transcript.derived(count), transcript.derived(count)) == (0, 0)
    transcript.add("server", "message", b"{}")
    assert transcript.derived(count) == 1
    assert made == [0, 1]


async def test_a_wait_that_has_run_out_takes_what_is_on_its_way_in_this_process() -> None:
    transcript = Transcript(REVISION, "memory")

    async def several_turns() -> None:
        for _ in range(10):
            await asyncio.sleep(0)
        transcript.add("server", "message", b"{}")

    on_its_way = asyncio.create_task(several_turns())
    event = await transcript.first(lambda one: True, 0.0)
    await on_its_way
    assert event is not None


async def test_a_wait_ends_without_an_event() -> None:
    assert await Transcript(REVISION, "memory").first(lambda one: True, 0.001) is None


def keep_busy(seconds: float) -> None:
    """Keep the event loop from turning, as work of this process does, or a busy machine."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        pass


async def test_time_that_this_process_did_not_have_is_not_waited() -> None:
    transcript = Transcript(REVISION, "memory")

    async def late() -> None:
        keep_busy(3 * SLICE_S)
        await asyncio.sleep(SLICE_S)
        transcript.add("server", "message", b"{}")

    on_its_way = asyncio.create_task(late())
    event = await transcript.first(lambda one: True, 3 * SLICE_S)
    await on_its_way
    assert event is not None


# --- messages that are judged ---


def judged(about: str, data: bytes) -> set[str]:
    """Return the requirements that one message of a server over HTTP breaks."""
    transcript = Transcript(REVISION, "http")
    transcript.add("server", "message", data, exchange=1, about=about)
    rules = [checks()["base:json-rpc"], checks()["base:utf-8"]]
    return {check.requirement.id for check, found in judge(rules, [transcript]) if found.findings}


def test_a_message_that_came_with_the_id_of_an_event_is_judged() -> None:
    assert judged("event: message\nid: 7", b'{"id": 1, "result": {}}') == {"base:json-rpc"}
    assert judged("id: 7", b'"\xff"') == {"base:utf-8"}


def test_a_message_that_was_cut_off_here_is_not_judged() -> None:
    assert judged(f"id: 7\n{cut_at(10)}", b'{"jsonrpc": "2.0"') == set()
