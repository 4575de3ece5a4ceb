"""Checks that each frame has the form of its revision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.frame_check import FrameChecker
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.frame_check import ClosedViolation, Sender
    from mcp_gen.compat.transcript import Transcript, WireEvent

NOTHING = "no message came"
_PART = re.compile(r"\$(\[\d+\])?\.(params|result|error)\b")
"""Path of a part that a type describes: the members around it have rules of their own."""


def violations(transcript: Transcript, side: Sender) -> Iterator[tuple[WireEvent, ClosedViolation]]:
    """Yield what params, results and errors of one side have and their revision does not."""
    checker = FrameChecker(profile_of(transcript.revision))
    for event in transcript.messages():
        for violation in checker.check(event.data, event.sender):
            if event.sender == side and _PART.match(violation.path):
                yield event, violation


def judge(transcript: Transcript, found: Found, side: Sender, *, unnamed: bool) -> None:
    """Report the violations of one side: keys that the revision does not name, or all others."""
    if any(True for _ in transcript.messages(side)):
        found.saw()
    for event, violation in violations(transcript, side):
        if violation.is_unnamed_key == unnamed:
            expected = "no members but those of the revision" if unnamed else "a valid message"
            found.broken(expected, violation.what, event, where=violation.path)


@rule("base:frames:valid", unseen=NOTHING, is_general=True, is_last=True)
def the_server_sends_valid_frames(transcript: Transcript, found: Found) -> None:
    judge(transcript, found, "server", unnamed=False)


@rule("base:frames:named", unseen=NOTHING, is_general=True, is_last=True)
def the_server_sends_no_other_members(transcript: Transcript, found: Found) -> None:
    judge(transcript, found, "server", unnamed=True)
