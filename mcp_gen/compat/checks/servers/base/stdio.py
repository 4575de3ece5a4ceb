"""Checks of a server over stdio: its lines, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.trial import shown
from mcp_gen.compat.json_values import is_array, is_object
from mcp_gen.compat.views.lines import is_utf_8
from mcp_gen.compat.wire.process import NO_TIME, STDIN_CLOSED, TERMINATED

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript, WireEvent

NOTHING = "nothing came on stdout"


def noise(transcript: Transcript) -> Iterator[list[WireEvent]]:
    """Yield the lines of stdout that are no messages, those that follow each other together."""
    lines: list[WireEvent] = []
    for event in transcript.messages("server"):
        is_message = is_object(event.message) or is_array(event.message)
        if is_message or event.is_cut or not is_utf_8(event.data):
            if lines:
                yield lines
            lines = []
        else:
            lines.append(event)
    if lines:
        yield lines


def is_broken_message(lines: list[WireEvent]) -> bool:
    """Return True if lines are one message with line breaks in it."""
    try:
        value: Any = msgspec.json.decode(b"\n".join(line.data for line in lines))
    except (msgspec.DecodeError, RecursionError):
        return False
    return len(lines) > 1 and (is_object(value) or is_array(value))


@rule("stdio:lines", unseen=NOTHING)
def messages_are_lines(transcript: Transcript, found: Found) -> None:
    if any(True for _ in transcript.messages("server")):
        found.saw()
    for lines in noise(transcript):
        if is_broken_message(lines):
            found.broken("a message is one line", f"one of {len(lines)} lines", *lines)


@rule("stdio:stdout-clean", unseen=NOTHING)
def nothing_but_messages_is_on_stdout(transcript: Transcript, found: Found) -> None:
    if any(True for _ in transcript.messages("server")):
        found.saw()
    for lines in noise(transcript):
        if not is_broken_message(lines):
            for line in lines:
                found.broken("nothing but messages on stdout", shown(line), line)


@rule("stdio:exit", unseen="no process was waited for")
def the_process_exits_when_stdin_ends(transcript: Transcript, found: Found) -> None:
    ends = [event for event in transcript.events if event.kind == "closed"]
    abouts = {end.about for end in ends}
    if STDIN_CLOSED not in abouts or NO_TIME in abouts:
        return
    found.saw()
    if TERMINATED in abouts:
        expected = "the server exits promptly when its stdin is closed"
        found.broken(expected, "it had to be terminated", *ends)
