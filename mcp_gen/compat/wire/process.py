"""Wire to a process that a command starts, and how the process ended."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from mcp_gen.compat.wire.duplex import DuplexWire
from mcp_gen.compat.wire.process_time import ProcessTime

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.transports.command import CommandTransport

__all__ = ["NO_TIME", "STDIN_CLOSED", "TERMINATED", "Lingering", "ProcessWire"]

PROMPT_S = 2.0
"""Seconds of its own that a process has to exit in, once its stdin is closed."""
START_S = 5.0
"""The same for a process that has sent nothing, which is not said to stay."""
LONGEST_S = 30.0
"""Seconds after which a process is terminated, whether it had time of its own or not."""
STEP_S = 0.05
"""Interval of the looks at a process that is to exit, in seconds."""

STDIN_CLOSED = "stdin was closed"
"""About the event of a client that ends a process as it should."""
TERMINATED = "the process was terminated"
"""About the event of a client whose process did not exit by itself."""

NO_TIME = "the process had no time to start and to exit"
"""About the event of a client that terminated a process which may have been about to exit."""


class Lingering:
    """Memory of all processes of one command: whether one of them had to be terminated."""

    def __init__(self) -> None:
        self.is_known = False


class ProcessWire(DuplexWire):
    """Wire over stdin and stdout of a process; the transcript tells how the process ended.

    The last events are those of the client, with `STDIN_CLOSED` and, if the process did not exit
    in time, `TERMINATED` or `NO_TIME`, and that of the server, with its exit status.

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
            self._command.terminate()
            await super().aclose()
            return
        self.transcript.add("client", "closed", about=STDIN_CLOSED)
        self._is_ending = True
        began_s = monotonic()
        try:
            why = await self._linger(pid)
            waited_s = monotonic() - began_s
            if why == TERMINATED:
                self._lingering.is_known = True
            if why:
                self.transcript.add("client", "closed", about=why)
                self._command.terminate()
        finally:
            # Also if the wait is cancelled: no process may outlive its wire.
            await super().aclose()
        status = self._command.exit_status
        about = f"exit status {status}, {waited_s:.2f} s after stdin was closed"
        self.transcript.add("server", "closed", about=about)

    async def _linger(self, pid: int) -> str:
        """Close stdin, and return why the process has to be terminated; empty if it exits.

        What counts is the time that the process had: it ran, or had nothing to do. One that has
        sent nothing may still be starting, which takes longer than to exit.
        """
        has_started = any(True for _ in self.transcript.messages("server"))
        time = ProcessTime(pid)
        self._command.close_stdin()
        for step in range(1, round(LONGEST_S / STEP_S) + 1):
            # A step in which this process was late is no longer than the others.
            if await self._command.wait_for_exit(STEP_S):
                return ""
            ran_s, held_s, is_held = time.used()
            had_s = step * STEP_S - held_s
            if had_s >= PROMPT_S and (not is_held or ran_s >= PROMPT_S) and has_started:
                return TERMINATED
            if had_s >= START_S and not has_started:
                break
        return NO_TIME

    def closed(self, error: BaseException | None) -> None:
        """Write down the end of a process that was not asked to end."""
        if not self._is_ending:
            super().closed(error)
