"""Judging of frames by the types of their revision, for both sides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import UNSET

import mcp_wire
from mcp_gen.compat.frame_check import FrameChecker
from mcp_gen.compat.json_values import member
from mcp_gen.compat.known_extensions import known_extensions
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.frame_check import ClosedViolation, Sender
    from mcp_gen.compat.transcript import Transcript, WireEvent

__all__ = ["NOTHING", "judge_frames", "violations"]

NOTHING = "no message came"
_INNER = re.compile(r"(?:missing required field `(?P<field>\w+)`.*)? - at `\$(?P<path>[^`]*)`$")
"""End of a text that names the place of a value which cannot be decoded, below its part."""
_PART = re.compile(r"\$(\[\d+\])?\.(params|result|error)\b")
"""Path of a part that a type describes: the members around it have rules of their own."""


def violations(transcript: Transcript, side: Sender) -> list[tuple[WireEvent, ClosedViolation]]:
    """Return what params, results and errors of one side have and their revision does not."""
    checker = FrameChecker(profile_of(transcript.revision), known_extensions())
    broken: list[tuple[WireEvent, ClosedViolation]] = []
    for event in transcript.messages():
        is_json = event.message is not UNSET
        found = (
            checker.check_value(event.message, event.sender)
            if is_json
            else checker.check(event.data, event.sender)
        )
        asked = _revision_asked_for(event, transcript.revision)
        if asked is not None:
            # A handshake has the form of the revision that it asks for.
            known = asked in mcp_wire.REVISIONS
            found = (
                FrameChecker(profile_of(asked), known_extensions()).check(event.data, "client")
                if known
                else []
            )
        for violation in found:
            if event.sender == side and _PART.match(violation.path):
                broken.append((event, violation._replace(path=_place(violation))))
    return broken


def _place(violation: ClosedViolation) -> str:
    """Return the path of what is wrong, also where the violation names that of its part."""
    inner = _INNER.search(violation.what)
    if inner is None:
        return violation.path
    field = f".{inner['field']}" if inner["field"] else ""
    return f"{violation.path}{inner['path']}{field}"


def _revision_asked_for(event: WireEvent, revision: str) -> str | None:
    """Return the other revision that a handshake asks for; None for any other message."""
    handshake = profile_of(revision).handshake
    if handshake is None or member(event.message, "method") != handshake.name:
        return None
    asked = member(event.message, "params", "protocolVersion")
    return asked if isinstance(asked, str) and asked != revision else None


def judge_frames(transcript: Transcript, found: Found, side: Sender, *, unnamed: bool) -> None:
    """Report the violations of one side: keys that the revision does not name, or all others."""
    if any(True for _ in transcript.messages(side)):
        found.saw()
    for event, violation in transcript.derived(violations, side):
        if violation.is_unnamed_key == unnamed:
            expected = "no members but those of the revision" if unnamed else "a valid message"
            found.broken(expected, violation.what, event, where=violation.path)
