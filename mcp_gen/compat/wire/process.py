"""Wire to a process that a command starts, and how the process ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from mcp_gen.compat.wire.duplex import DuplexWire
from mcp_gen.transports.command import CLOSE_STDIN_WAIT_S

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.transports.command import CommandTransport

__all__ = ["STDIN_CLOSED", "TERMINATED", "Lingering", "ProcessWire"]

STDIN_CLOSED = "stdin was closed"
"""About the event of a client that ends a process as it should."""
TERMINATED = "the process was terminated"
"""About the event of a client whose process did not exit by itself."""


class Lingering:
    """Memory of all processes of one command: whether one of them had to be terminated."""

    def __init__(self) -> None:
        self.is_known = False


class ProcessWire(DuplexWire):
    """Wire over stdin and stdout of a process; the transcript tells how the process ended.

    The last events are those of the client, with `STDIN_CLOSED` and, if the process did not exit
    in time, `TERMINATED`, and that of the server, with its exit status.

    Args:
        transport: The transport, not started yet.
        transcript: Takes all that comes and goes.
        lingering: Shared by the wires to processes of one command: once a process had to be
            terminated, the others are not waited for.
    """

    def __init__(
        self, transport: CommandTransport, transcript: Transcript, lingering: Lingering
    ) -> None:
        super().__init__(transport, transcript)
        self._command = transport
        self._lingering = lingering
        self._is_ending = False

    @property
    def process_id(self) -> int | None:
        """Process id of the process; None if it is not running."""
        return self._command.process_id

    async def aclose(self) -> None:
        """Close stdin, wait for the process to exit, and terminate it if it does not."""
        pid = self._command.process_id
        if self._is_closed or pid is None or self._command.exit_status is not None:
            await super().aclose()
            return
        if self._lingering.is_known:
            self.transcript.add("client", "closed", about="the process was not waited for")
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)
            await super().aclose()
            return
        self.transcript.add("client", "closed", about=STDIN_CLOSED)
        self._is_ending = True
        began_s = monotonic()
        await super().aclose()
        waited_s = monotonic() - began_s
        if waited_s >= CLOSE_STDIN_WAIT_S:
            self._lingering.is_known = True
            self.transcript.add("client", "closed", about=TERMINATED)
        status = self._command.exit_status
        about = f"exit status {status}, {waited_s:.2f} s after stdin was closed"
        self.transcript.add("server", "closed", about=about)

    def closed(self, error: BaseException | None) -> None:
        """Write down the end of a process that was not asked to end."""
        if not self._is_ending:
            super().closed(error)
