"""A server's file as a process that serves it over HTTP on loopback, and how that process ended."""

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
"""Where each transport is served."""


class Served:
    """A server that listens: `url` is where, without a path."""

    def __init__(self, child: Child, transport: str) -> None:
        self.transport = transport
        child.says(SAYS)
        self._child = child
        self.url, _, _ = child.stderr.partition(SAYS)[2].strip().rpartition("/")

    @property
    def target(self) -> list[str]:
        """What a client needs to reach it."""
        return [self.url + PATHS[self.transport]]

    def end(self) -> int:
        """Tell it to end, and wait; its exit status."""
        self._child.signal(signal.SIGTERM)
        return self._child.ended()

    @property
    def stderr(self) -> str:
        """What it has written to stderr, all of it once it has ended."""
        return self._child.stderr


@contextmanager
def serving(
    file: Path, *arguments: str, transport: str = "http", **options: Any
) -> Iterator[Served]:
    """A server of a file, at a port of its own; `options` are those of `Server.asgi`."""
    if transport == "sse":
        options["legacy_sse_path"] = PATHS["sse"]
    words = [sys.executable, str(SCRIPT), json.dumps(options), str(file), *arguments]
    with started(words) as child:
        yield Served(child, transport)
