"""Files with transcripts: a server process writes its events, and who started it reads them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from mcp_gen.compat.frame_check import Sender
from mcp_gen.compat.transcript import Kind, Transcript

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transport, WireEvent

__all__ = ["count_transcripts", "read_transcripts", "running_files", "write_transcript"]

SUFFIX = ".jsonl"


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

    The file is locked until this process ends, so that others know if it still runs.

    Args:
        transcript: The transcript.
        folder: The folder of the files; it need not exist. Their names sort by the time at which
            they were begun.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = folder / f"{count_transcripts(folder):06}-{os.getpid()}{SUFFIX}"
    # Unbuffered, one write per line: the process may be killed.
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX)

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


def read_transcripts(
    folder: Path, revision: str, transport: Transport = "stdio"
) -> list[Transcript]:
    """Return the transcripts of a folder, in the order in which they were begun.

    Args:
        folder: The folder. If there is none, nothing was written yet.
        revision: Their revision.
        transport: What carried the messages.
    """
    return [_read(path, Transcript(revision, transport)) for path in _files(folder)]


def count_transcripts(folder: Path) -> int:
    """Return the number of transcripts of a folder."""
    return len(_files(folder))


def running_files(folder: Path) -> set[int]:
    """Return the places of the transcripts whose processes still run, from 0 on."""
    return {number for number, path in enumerate(_files(folder)) if _is_locked(path)}


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


def _read(path: Path, transcript: Transcript) -> Transcript:
    # The last line may be cut off: the process was killed, or is still writing.
    for line in path.read_bytes().split(b"\n")[:-1]:
        event = msgspec.json.decode(line, type=_EventLine)
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
    return transcript


def _is_locked(path: Path) -> bool:
    if sys.platform == "win32":  # it has no such locks: no process is known to run
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
