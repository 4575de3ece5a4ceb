"""Recordings: the lines of their files, and reading them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct

import mcp_wire
from mcp_gen.compat.frame_check import Sender
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import find_revision

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transport

__all__ = ["FORMAT", "RecordedKind", "RecordedLine", "Recording", "RecordingHead", "read_recording"]

FORMAT = 1
"""Number of the format. Later versions of it only add members."""

RecordedKind: TypeAlias = Literal[
    "message", "request", "response", "sse", "ended", "closed", "full"
]


class RecordingHead(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """First line of a recording.

    Args:
        recording: Number of the format.
        started: Time of its beginning, in ISO 8601, UTC.
        transport: What carried the messages.
        server: The command without its arguments, or the URL without its secrets.
        redacted: JSON pointers to what was replaced on request.
    """

    recording: int
    started: str
    transport: Literal["stdio", "http"]
    server: str
    redacted: tuple[str, ...] = ()


class RecordedLine(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"sender": "from"}
):
    """One line of a recording after the first: something that came or went.

    Args:
        at_s: Seconds since the beginning of the recording.
        sender: The side it came from; `from` in the file.
        kind: As of a `WireEvent`; `full` is the last line of a recording that reached its limit.
        revision: The revision that was spoken, as far as it is known.
        exchange: Number of the HTTP exchange, from 1 on; 0 for none.
        message: The JSON value of a message.
        text: The text of a message that is not JSON, or the data of an event without a message.
        size_bytes: Size of a message of which `text` is only the beginning; 0 for any other.
        method: HTTP method of a request.
        path: Path and query of a request.
        status: HTTP status of a response.
        headers: HTTP headers, with names in lower case.
        fields: The fields `event`, `id` and `retry` of an SSE event.
        about: Further facts: how something ended.
    """

    at_s: float
    sender: Sender
    kind: RecordedKind
    revision: str | None = None
    exchange: int = 0
    message: Any = UNSET
    text: str = ""
    size_bytes: int = 0
    method: str = ""
    path: str = ""
    status: int = 0
    headers: dict[str, str] = {}
    fields: dict[str, str] = {}
    about: str = ""


class Recording(Struct, frozen=True):
    """A recording that was read.

    Args:
        head: Its first line.
        lines: Its other lines.
        is_cut: True if it has no end: it reached its limit, or its last line is incomplete.
    """

    head: RecordingHead
    lines: tuple[RecordedLine, ...]
    is_cut: bool = False

    @property
    def revision(self) -> str | None:
        """The revision that was spoken last; None if none is known."""
        found = [line.revision for line in self.lines if line.revision]
        return find_revision(found[-1], mcp_wire.REVISIONS) if found else None

    @property
    def transport(self) -> Transport:
        """Transport of the messages."""
        return self.head.transport


def read_recording(path: str | Path) -> Recording:
    """Read the file of a recording.

    Args:
        path: The file.

    Raises:
        UsageError: it cannot be read, or is no recording; the message names the line.
    """
    try:
        first, *rest = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    try:
        head = msgspec.json.decode(first, type=RecordingHead)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is no recording: line 1: {error}; `mcp-gen record` makes one"
        ) from None
    if head.recording != FORMAT:
        raise UsageError(f"{path}: format {head.recording}; this version reads format {FORMAT}")
    lines: list[RecordedLine] = []
    decode = msgspec.json.Decoder(RecordedLine).decode
    for number, text in enumerate(rest, 2):
        if not text:
            continue
        try:
            lines.append(decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if number == len(rest) + 1:
                # The process was killed while it wrote.
                return Recording(head, tuple(lines), is_cut=True)
            raise UsageError(f"{path}: line {number}: {error}") from None
    is_full = bool(lines) and lines[-1].kind == "full"
    return Recording(head, tuple(lines[:-1] if is_full else lines), is_cut=is_full)
