"""Files with transcripts: a server process writes its events, and who started it reads them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from mcp_gen.compat.frame_check import Sender
from mcp_gen.compat.transcript import Kind, Transcript

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transport, WireEvent

__all__ = ["have_ended", "read_transcripts", "write_transcript"]


END_BYTES = 2048
"""Number of bytes at the end of a file in which its last event stands."""


class _EventLine(Struct, omit_defaults=True):
    """One event; its number, and the JSON value of its bytes, follow from the rest."""

    at_s: float
    sender: Sender
    kind: Kind
    data: bytes = b""
    exchange: int = 0
    status: int = 0
    headers: dict[str, str] = {}
    about: str = ""


def write_transcript(transcript: Transcript, folder: Path) -> None:
    """Write each event of a transcript from now on to a new file, as soon as it is there.

    Args:
        transcript: The transcript.
        folder: The folder of the files. Their names sort by the time at which they were begun.
    """
    number = len(list(folder.iterdir()))
    name = folder / f"{number:06}-{os.getpid()}.jsonl"
    # Unbuffered, one write per line: the process may be killed.
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    def write(event: WireEvent) -> None:
        line = _EventLine(
            at_s=event.at_s,
            sender=event.sender,
            kind=event.kind,
            data=event.data,
            exchange=event.exchange,
            status=event.status,
            headers=dict(event.headers),
            about=event.about,
        )
        os.write(descriptor, msgspec.json.encode(line) + b"\n")

    transcript.listen(write)


def read_transcripts(folder: Path, revision: str, transport: Transport) -> list[Transcript]:
    """Return the transcripts of a folder, in the order in which they were begun.

    Args:
        folder: The folder.
        revision: Their revision.
        transport: What carried the messages.
    """
    found: list[Transcript] = []
    for path in sorted(folder.glob("*.jsonl")):
        transcript = Transcript(revision, transport)
        for line in path.read_bytes().splitlines():
            # The last line of a process that was killed may be cut off.
            try:
                event = msgspec.json.decode(line, type=_EventLine)
            except msgspec.DecodeError:
                break
            transcript.add(
                event.sender,
                event.kind,
                event.data,
                exchange=event.exchange,
                status=event.status,
                headers=event.headers,
                about=event.about,
                at_s=event.at_s,
            )
        found.append(transcript)
    return found


def have_ended(folder: Path) -> bool:
    """Return True if each transcript of a folder tells of the end of its connection."""
    return all(b'"closed"' in path.read_bytes()[-END_BYTES:] for path in folder.glob("*.jsonl"))
