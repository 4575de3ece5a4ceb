"""A server script as a command, with its exit status and stderr."""

from __future__ import annotations

import sys
from pathlib import Path

# The official client does not report its child's exit status. This shell does; but if it is
# signalled with its group, because the server did not exit by itself, it writes no status.
_SHELL = '"$@" 2>"$0/stderr"; echo $? >"$0/status"'


class Command:
    """One run of a server script; `words` is its command line."""

    transport = "stdio"

    def __init__(self, folder: Path, script: Path, *arguments: str) -> None:
        self._folder = folder
        server = [sys.executable, str(script), *arguments]
        self.words = ["/bin/sh", "-c", _SHELL, str(folder), *server]

    @property
    def target(self) -> list[str]:
        """Target for `Client.connect`."""
        return self.words

    def end(self) -> int | None:
        """Exit status after the client closed stdin; None if the server was killed."""
        return self.exit_status

    @property
    def exit_status(self) -> int | None:
        """Exit status; None if the server still runs or was killed."""
        status = self._folder / "status"
        return int(status.read_text()) if status.exists() else None

    @property
    def stderr(self) -> str:
        """Text that the server has written to stderr."""
        return (self._folder / "stderr").read_text()
