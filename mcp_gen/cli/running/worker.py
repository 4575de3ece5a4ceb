"""One process of `mcp-gen run --workers`: `python -m mcp_gen.cli.running.worker LINK SOCKET...`.

The arguments are file descriptors. Over the link come the settings, and go the start line; it ends
when the parent does, and then this process ends, too.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from mcp_gen.cli.running.settings import RunSettings
from mcp_gen.core.errors import McpGenError
from mcp_gen.server.serving.process import start_line

if TYPE_CHECKING:
    from mcp_gen.transports.http_server.app import AsgiApp

__all__ = ["ERROR_STATUS", "Listening", "main"]

ERROR_STATUS = 2
"""Exit status of a process that said in one line why it cannot serve."""


class Listening(msgspec.Struct, frozen=True):
    """Message of a worker that clients can connect to.

    Args:
        url: URL of the server.
        line: Its start line.
    """

    url: str
    line: str


def main(link: int, *sockets: int) -> int:
    """Serve until a signal or the end of the parent; return the exit status."""
    parent, bound = _inherited(link), [_inherited(number) for number in sockets]
    for one in bound:
        one.setblocking(False)
    told = parent.makefile("rb")
    settings = msgspec.json.decode(told.readline(), type=RunSettings)
    # As the code would find it in one process; the number of workers is read from there.
    sys.argv = ["mcp-gen", "run", settings.target, "--http"]
    if settings.warns:
        sys.argv += ["--workers", str(settings.workers)]
    # A daemon: it waits as long as the parent is there.
    threading.Thread(target=_end_with_parent, args=(told,), daemon=True).start()

    def listening(url: str, app: AsgiApp) -> None:
        message = Listening(url, start_line(app.kernel, url))
        # Without a parent, the other thread ends this process.
        with suppress(OSError):
            parent.sendall(msgspec.json.encode(message) + b"\n")

    try:
        settings.run_worker(bound, listening)
    except McpGenError as error:
        print(f"mcp-gen run: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        return ERROR_STATUS
    return 0


def _inherited(number: int) -> socket.socket:
    # Processes that the server starts must not keep the port.
    os.set_inheritable(number, False)
    return socket.socket(fileno=number)


def _end_with_parent(told: BinaryIO) -> None:
    # Nothing more is said: the link ends with the parent, however that ends.
    with suppress(OSError):
        told.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
