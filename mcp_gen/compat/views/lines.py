"""Lines that are no messages: bytes that are no UTF-8, and pieces of a message with line breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, WireEvent

__all__ = ["broken_lines", "is_utf_8", "split_messages"]

MAX_LINES = 200
"""Maximum number of lines that are looked at for one message."""


def is_utf_8(data: bytes) -> bool:
    """Return True if bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def split_messages(transcript: Transcript) -> list[list[WireEvent]]:
    """Return the lines of each message of a client that was written in several lines."""
    events = list(transcript.messages("client"))
    found: list[list[WireEvent]] = []
    start = 0
    while start < len(events):
        length = _length(events[start:]) if events[start].message is UNSET else 0
        if length:
            found.append(events[start : start + length])
        start += length or 1
    return found


def broken_lines(transcript: Transcript) -> list[WireEvent]:
    """Return the lines of a client that are no JSON; over other transports there are none."""
    if transcript.transport != "stdio":
        return []
    pieces = [event for message in split_messages(transcript) for event in message]
    others = [one for one in transcript.messages("client") if one.message is UNSET]
    numbered = {event.number: event for event in [*pieces, *others]}
    return [numbered[number] for number in sorted(numbered)]


def _length(events: list[WireEvent]) -> int:
    """Return the number of lines, from the first one on, that are one JSON object; 0 for none."""
    text = b""
    for number, event in enumerate(events[:MAX_LINES], 1):
        text += event.data + b"\n"
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        return number if isinstance(value, dict) else 0
    return 0
