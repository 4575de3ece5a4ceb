"""A server's file served over HTTP on loopback by a process, and the end of that process."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.processes.child import Child, started

__all__ = ["PATHS", "Served", "serving"]

SCRIPT = Path(__file__).with_name("programs") / "over_http.py"
SAYS = "listening at "
PATHS = {"http": "/mcp", "sse": "/sse"}
"""Path of each transport."""


class Served:
    """A listening server: `url` is its base without a path."""

    def __init__(self, child: Child, transport: str) -> None:
        self.transport = transport
        child.says(SAYS)
        self._child = child
        self.url, _, _ = child.stderr.partition(SAYS)[2].strip().rpartition("/")

    @property
    def target(self) -> list[str]:
        """Target for `Client.connect`."""
        return [self.url + PATHS[self.transport]]

    def end(self) -> int:
        """Terminate the server and return its exit status."""
        self._child.signal(signal.SIGTERM)
        return self._child.ended()

    @property
    def stderr(self) -> str:
        """Text written to stderr; complete once the server has ended."""
        return self._child.stderr


@contextmanager
def serving(
    file: Path, *arguments: str, transport: str = "http", **options: Any
) -> Iterator[Served]:
    """Serve a file at a free port; `options` are those of `Server.asgi`."""
    if transport == "sse":
        options["legacy_sse_path"] = PATHS["sse"]
    words = [sys.executable, str(SCRIPT), json.dumps(options), str(file), *arguments]
    with started(words) as child:
        yield Served(child, transport)
