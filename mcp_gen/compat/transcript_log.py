"""Files of transcripts: what a process hears and says, one event per line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from mcp_gen.compat.frame_check import Sender
from mcp_gen.compat.transcript import Kind, Transcript

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import WireEvent

__all__ = ["log_to", "read_log"]

SUFFIX = ".jsonl"


class _LogLine(Struct, array_like=True):
    """One event of a file."""

    sender: Sender
    kind: Kind
    data: bytes
    about: str


def log_to(folder: Path) -> Callable[[WireEvent], None]:
    """Return a function that writes each event that it is called with to a file of this process.

    Args:
        folder: The folder of the file. It need not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / f"{os.getpid()}{SUFFIX}").open("ab", buffering=0)

    def write(event: WireEvent) -> None:
        line = _LogLine(event.sender, event.kind, event.data, event.about)
        file.write(msgspec.json.encode(line) + b"\n")

    return write


def read_log(folder: Path, revision: str) -> list[Transcript]:
    """Return the transcripts of a folder, one per process, in the order of their beginnings.

    Args:
        folder: The folder. If there is none, nothing was written yet.
        revision: The revision of the transcripts.
    """
    files = sorted(folder.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_ctime_ns)
    return [_read(file, revision) for file in files]


def _read(file: Path, revision: str) -> Transcript:
    transcript = Transcript(revision, "stdio")
    # A line without its end is still being written.
    for line in file.read_bytes().split(b"\n")[:-1]:
        event = msgspec.json.decode(line, type=_LogLine)
        transcript.add(event.sender, event.kind, event.data, about=event.about)
    return transcript
