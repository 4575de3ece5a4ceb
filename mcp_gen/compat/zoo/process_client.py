"""Clients of commands, which see more of the process of their server than its messages."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import IO

from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.wire.process import ProcessWire

__all__ = ["OfProcess", "send_signals"]

A_MOMENT_S = 0.1


class OfProcess(ClientScript):
    """Client of a command, which sees more of the process than its messages."""

    stderr: IO[bytes] | None = None
    """File with what the process writes to stderr; None where it is no process."""

    async def use(self) -> None:
        await super().use()
        if self.stderr is not None:
            self.stderr.seek(0)
            self.read_log(self.stderr.read())

    def read_log(self, written: bytes) -> None:
        """Take what the process has written to stderr."""

    @property
    def process_id(self) -> int | None:
        """Process id of the server; None for one in this process, or one that has ended."""
        return self.wire.process_id if isinstance(self.wire, ProcessWire) else None


async def send_signals(process_id: int | None, *names: str) -> None:
    """Send signals to a process, if there is one, and wait for a moment after each."""
    for name in names:
        if process_id is None:
            return
        os.kill(process_id, getattr(signal, name))
        await asyncio.sleep(A_MOMENT_S)
