"""Streams that broke before their answer, at a revision where none is taken up."""

from __future__ import annotations

import pytest

from mcp_gen.compat.checks.clients.http import no_stream_is_taken_up
from mcp_gen.compat.checks.found import Found
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import PER_REQUEST, Speaker

STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


def has_seen(headers: dict[str, str], *, ends: bool, answer: bytes = b"") -> bool:
    """Return if a call, whose response has these headers, is one whose stream broke."""
    transcript, found = Transcript(PER_REQUEST, "http"), Found()
    transcript.add("client", "request", exchange=1, about="POST /mcp")
    transcript.add("client", "message", Speaker(PER_REQUEST).call(1, "echo"), exchange=1)
    transcript.add("server", "response", exchange=1, status=200, headers=headers)
    if answer:
        transcript.add("server", "message", answer, exchange=1)
    if ends:
        transcript.add("server", "ended", exchange=1)
    no_stream_is_taken_up(transcript, found)
    assert found.findings == []
    return found.has_seen


def test_a_stream_that_ended_without_an_answer_broke() -> None:
    assert has_seen(STREAM, ends=True)


@pytest.mark.parametrize(
    ("headers", "ends", "answer"),
    [
        (STREAM, False, b""),
        (JSON, True, b""),
        (STREAM, True, b'{"jsonrpc": "2.0", "id": 1, "result": {}}'),
    ],
    ids=["it is open", "it is no stream", "it was answered"],
)
def test_another_response_did_not(headers: dict[str, str], ends: bool, answer: bytes) -> None:
    assert not has_seen(headers, ends=ends, answer=answer)
