"""Recordings of a cell as transcripts, which the checks read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from mcp_gen.compat.json_values import member
from mcp_gen.compat.method_names import openings
from mcp_gen.compat.recordings.lines import read_recording
from mcp_gen.compat.transcript import Transcript, about_of, cut_at
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.recordings.lines import RecordedLine, Recording

__all__ = ["Talk", "read_talks"]


class Talk:
    """One connection of a cell.

    Args:
        recording: What was recorded of it.
        revision: The revision that was wanted.
    """

    def __init__(self, recording: Recording, revision: str) -> None:
        self.agreed = recording.revision
        self.transcript = Transcript(revision, recording.transport)
        self.refused = Transcript(revision, recording.transport)
        """HTTP exchanges with which a client asked for another transport first."""
        refused = _refused_openings(recording)
        for line in recording.lines:
            _add(self.refused if line.exchange in refused else self.transcript, line)


def read_talks(folder: Path, revision: str) -> list[Talk]:
    """Return the connections that were recorded in a folder, in the order of their beginnings.

    Args:
        folder: The folder.
        revision: The revision that was wanted.
    """
    talks: list[Talk] = []
    for path in sorted(folder.glob("*.jsonl"), key=lambda one: one.stat().st_ctime_ns):
        try:
            talks.append(Talk(read_recording(path), revision))
        except UsageError:
            # The tap was ended before it had written its first line.
            continue
    return talks


def _refused_openings(recording: Recording) -> set[int]:
    """Return the numbers of the HTTP exchanges that open a connection, and are refused."""
    opening = {
        line.exchange
        for line in recording.lines
        if line.kind == "message"
        and line.sender == "client"
        and line.exchange
        and member(line.message, "method") in openings()
    }
    return {
        line.exchange
        for line in recording.lines
        if line.kind == "response" and line.status >= 400 and line.exchange in opening
    }


def _add(transcript: Transcript, line: RecordedLine) -> None:
    if line.kind == "full":
        return
    if line.message is not UNSET:
        data = msgspec.json.encode(line.message)
    else:
        data = line.text.encode("utf-8", "surrogatepass")
    about = line.about
    if line.kind == "sse":
        # The address of the endpoint stays a URI where its secrets are replaced.
        data = data.replace(b"<", b"%3C").replace(b">", b"%3E")
    if line.kind == "request":
        about = f"{line.method} {line.path.partition('?')[0]}"
    elif line.fields:
        about = about_of(line.fields)
    if line.size_bytes:
        about = f"{about}\n{cut_at(len(data))}".lstrip("\n")
    transcript.add(
        line.sender,
        line.kind,
        data,
        exchange=line.exchange,
        status=line.status,
        headers=line.headers,
        about=about,
        at_s=line.at_s,
    )
