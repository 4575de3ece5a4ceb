"""A server that is started anew when its code changes: uvicorn's processes, and our own look."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import TypeAlias

import uvicorn
from uvicorn.supervisors.basereload import BaseReload

__all__ = ["serve_reloaded"]

LOOK_S = 0.25
"""How long after a look at the files the next one follows."""
GRACE_S = 2
"""How long requests may still take in a process that makes room for the next."""

Seen: TypeAlias = dict[Path, tuple[int, int]]


class Reloader(BaseReload):
    """Any other time or size of a Python file counts, a new file and a lost one too.

    uvicorn's own look asks for a later time only, and takes what it finds at its first look for
    what its process has read: a file that an older copy replaced, or that was saved while the
    process started, went unseen.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        target: Callable[[list[socket] | None], None],
        bound: socket,
        folder: Path,
    ) -> None:
        super().__init__(config, target, [bound])
        self.reloader_name = "mcp-gen"
        self._folder = folder
        self._seen: Seen = {}
        self._seen = self._look()

    def should_restart(self) -> list[Path] | None:
        # A signal is heard at once, and looked at when this is over.
        time.sleep(LOOK_S)
        if self.should_exit.is_set():
            raise StopIteration
        before, self._seen = self._seen, self._look()
        changed = {path for path, _ in before.items() ^ self._seen.items()}
        return sorted(changed) or None

    def _look(self) -> Seen:
        seen: Seen = {}
        try:
            for path in self._folder.rglob("*.py"):
                with suppress(FileNotFoundError):
                    found = path.stat()
                    seen[path] = found.st_mtime_ns, found.st_size
        except OSError:  # a folder that went while it was read: the next look will tell
            return self._seen
        return seen


def serve_reloaded(app: str, folder: Path, host: str, port: int) -> None:
    """Serve what the function `app` (`module:name`) returns until a signal comes."""
    config = uvicorn.Config(
        app,
        factory=True,
        host=host,
        port=port,
        log_level="warning",
        reload=True,
        reload_dirs=[str(folder)],
        timeout_graceful_shutdown=GRACE_S,
    )
    Reloader(config, uvicorn.Server(config).run, config.bind_socket(), folder).run()
