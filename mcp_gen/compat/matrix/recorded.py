"""Recordings of a cell as transcripts, which the checks read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

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
        for line in recording.lines:
            _add(self.transcript, line)


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


def _add(transcript: Transcript, line: RecordedLine) -> None:
    if line.kind == "full":
        return
    if line.message is not UNSET:
        data = msgspec.json.encode(line.message)
    else:
        data = line.text.encode("utf-8", "surrogatepass")
    about = line.about
    if line.kind == "request":
        about = f"{line.method} {line.path}"
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
