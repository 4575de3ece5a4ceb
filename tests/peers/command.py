"""A server script as a command, and what it left behind when it had ended."""

from __future__ import annotations

import sys
from pathlib import Path

# The official client tells nobody how its child ended. This shell does; but if it is signalled with
# its group, because the server did not end by itself, it writes no status.
_SHELL = '"$@" 2>"$0/stderr"; echo $? >"$0/status"'


class Command:
    """One run of a server script. `words` start it."""

    transport = "stdio"

    def __init__(self, folder: Path, script: Path, *arguments: str) -> None:
        self._folder = folder
        server = [sys.executable, str(script), *arguments]
        self.words = ["/bin/sh", "-c", _SHELL, str(folder), *server]

    @property
    def target(self) -> list[str]:
        """What a client needs to reach it."""
        return self.words

    def end(self) -> int | None:
        """How it ended when its client had closed its stdin; None if it had to be made to."""
        return self.exit_status

    @property
    def exit_status(self) -> int | None:
        """How the server ended; None if it is running, or had to be made to end."""
        status = self._folder / "status"
        return int(status.read_text()) if status.exists() else None

    @property
    def stderr(self) -> str:
        """What the server has written to stderr."""
        return (self._folder / "stderr").read_text()
