"""System calls of a server per `tools/call`, beside those of a program without an SDK."""

from __future__ import annotations

import os
import select
import sys

import pytest

from tests.budgets.system_calls import (
    Calls,
    Counted,
    HttpPeer,
    StdioPeer,
    http_peer,
    per_answer,
    stdio_peer,
)
from tests.support.frames import Speaker, each_lifecycle
from tests.support.http.asgi import headers_of

WARM_CALLS = 10
CALLS = 100
IN_FLIGHT = 64
BURSTS = 20

STDIO = Calls(reads=1, writes=1, waits=1, others=0)
"""The least there can be: wait until there is a request, read it, write its answer."""

HTTP = {
    # Of uvicorn: a task per request, which begins and ends in turns of their own; head and body are
    # two writes, which uvloop joins.
    "bare": Calls(reads=1, writes=2, waits=3, others=0),
    # Two turns more, which wait for nothing: all requests that have come are handled before one is
    # answered. With many in flight they share the turns.
    "ours": Calls(reads=1, writes=2, waits=5, others=0),
}


def opened_over_stdio(peer: StdioPeer, speaker: Speaker, program: str) -> None:
    """Do the opening of the revision, as far as the program has one."""
    if speaker.opening:
        peer.ask(speaker.initialize(0))
        if program == "ours":
            peer.tell(speaker.initialized)


def over_stdio(program: str, revision: str, bursts: int, in_flight: int) -> Calls:
    """Return the system calls per burst of requests that are written at once."""
    speaker = Speaker(revision)
    messages = [speaker.call(number, "add", a=1, b=2) for number in range(1, in_flight + 1)]
    with stdio_peer(program, revision) as peer:
        opened_over_stdio(peer, speaker, program)
        for _ in range(WARM_CALLS):
            peer.ask(*messages)
        before = peer.counted.so_far
        answers = [answer for _ in range(bursts) for answer in peer.ask(*messages)]
        found = per_answer(before, peer.counted.so_far, bursts)
    assert all(b'"text":"3"' in one for one in answers)
    return found


def opened_over_http(peer: HttpPeer, speaker: Speaker, program: str) -> dict[str, str]:
    """Do the opening of the revision, and return the headers of later requests."""
    name = speaker.profile.session_header
    if program == "bare" or name is None:
        return {}
    asked = speaker.initialize(0)
    _, answered = peer.ask(asked, headers_of(speaker, asked))
    session = {name: answered[name.lower()]}
    told = speaker.initialized
    status, _ = peer.ask(told, {**session, **headers_of(speaker, told)})
    assert status == 202
    return session


def over_http(program: str, revision: str) -> Calls:
    """Return the system calls per request on a connection that is kept."""
    speaker = Speaker(revision)
    message = speaker.call(1, "add", a=1, b=2)
    with http_peer(program, revision) as peer:
        session = opened_over_http(peer, speaker, program)
        headers = {**session, **headers_of(speaker, message)}
        for _ in range(WARM_CALLS):
            peer.ask(message, headers)
        before = peer.counted.so_far
        statuses = {peer.ask(message, headers)[0] for _ in range(CALLS)}
        found = per_answer(before, peer.counted.so_far, CALLS)
    assert statuses == {200}
    return found


@each_lifecycle
@pytest.mark.parametrize("program", ["ours", "bare"])
def test_a_call_over_stdio_is_one_wait_one_read_and_one_write(program: str, revision: str) -> None:
    assert over_stdio(program, revision, CALLS, in_flight=1) == STDIO


@each_lifecycle
@pytest.mark.parametrize("program", ["ours", "bare"])
def test_calls_that_come_at_once_are_read_and_answered_at_once(program: str, revision: str) -> None:
    assert over_stdio(program, revision, BURSTS, IN_FLIGHT) == STDIO


@each_lifecycle
@pytest.mark.parametrize("program", HTTP)
def test_a_call_over_http_reads_and_writes_as_often_as_the_web_server_alone(
    program: str, revision: str
) -> None:
    assert over_http(program, revision) == HTTP[program]


# --- The counter itself: it must be able to fail ---


def test_each_system_call_is_counted_by_its_kind() -> None:
    counted, (reading, writing) = Counted(), os.pipe()
    polled = select.poll()
    polled.register(reading, select.POLLIN)
    counted.start()
    try:
        os.write(writing, b"one")
        os.write(writing, b"two")
        polled.poll(0)
        os.read(reading, 6)
        os.fspath("no system call")
        os.close(reading)
        os.close(writing)
    finally:
        sys.setprofile(None)
    assert counted.so_far == Calls(reads=1, writes=2, waits=1, others=2)


def test_one_call_in_ten_that_writes_once_more_is_seen() -> None:
    before, after = Calls(30, 30, 31, 0), Calls(230, 250, 234, 0)
    assert per_answer(before, after, 200) == Calls(reads=1, writes=1.1, waits=1, others=0)
