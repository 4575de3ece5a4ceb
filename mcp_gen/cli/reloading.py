"""Restarts a server when its code changes: uvicorn's reloader with its own file check."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import socket
from types import FrameType
from typing import TypeAlias

import uvicorn
from uvicorn.supervisors.basereload import BaseReload

from mcp_gen.cli.reloaded import TARGET, URL, reloaded_app
from mcp_gen.server.serving.http import bound_sockets, url_at
from mcp_gen.transports.http_server import uvicorn_protocol
from mcp_gen.transports.http_server.connection_limits import ConnectionLimits

__all__ = ["serve_reloaded"]

LIMITS = ConnectionLimits()
LOOK_S = 0.25
"""Seconds between two checks of the files."""
GRACE_S = 2
"""Seconds that requests may still take in a process that is being replaced."""

Seen: TypeAlias = dict[Path, tuple[int, int]]


class Reloader(BaseReload):
    """Restarts on any changed time or size of a Python file, new and deleted ones too.

    uvicorn's own check accepts only a later time, and takes its first look at the files for what
    the process has read. It misses a file that an older copy replaced, or that was saved while the
    process started.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        target: Callable[[list[socket] | None], None],
        bound: list[socket],
        folder: Path,
    ) -> None:
        super().__init__(config, target, bound)
        self.reloader_name = "mcp-gen"
        self._folder = folder
        self._seen: Seen = {}
        self._seen = self._file_states()

    def signal_handler(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit.is_set():
            # The second one: nothing is waited for.
            self.process.kill()
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        super().signal_handler(sig, frame)

    def should_restart(self) -> list[Path] | None:
        # A signal sets `should_exit` at once; it is checked after the sleep.
        time.sleep(LOOK_S)
        if self.should_exit.is_set():
            raise StopIteration
        before, self._seen = self._seen, self._file_states()
        changed = {path for path, _ in before.items() ^ self._seen.items()}
        return sorted(changed) or None

    def _file_states(self) -> Seen:
        seen: Seen = {}
        try:
            for path in self._folder.rglob("*.py"):
                with suppress(FileNotFoundError):
                    found = path.stat()
                    seen[path] = found.st_mtime_ns, found.st_size
        except OSError:  # a folder was deleted during the walk: the next check reports it
            return self._seen
        return seen


def serve_reloaded(target: str, folder: Path, host: str, port: int) -> None:
    """Serve the server of a target and restart it on changes, until a signal ends it.

    Args:
        target: The Python code.
        folder: The folder whose Python files are watched, with its subfolders.
        host: The address to listen on.
        port: The port to listen on; 0 takes a free one.

    Raises:
        UsageError: the port is in use.
    """
    bound = bound_sockets(host, port)
    os.environ[TARGET] = target
    os.environ[URL] = url_at(host, bound[0].getsockname()[1], "/mcp")
    config = uvicorn.Config(
        f"{reloaded_app.__module__}:{reloaded_app.__name__}",
        factory=True,
        log_level="warning",
        lifespan="on",
        reload=True,
        reload_dirs=[str(folder)],
        timeout_graceful_shutdown=GRACE_S,
        http=f"{uvicorn_protocol.__name__}:DefaultProtocol",
        h11_max_incomplete_event_size=LIMITS.max_header_bytes,
        timeout_keep_alive=int(LIMITS.idle_timeout_s),
    )
    Reloader(config, uvicorn.Server(config).run, bound, folder).run()
