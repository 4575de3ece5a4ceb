"""Server whose process does not end with its stdin, and what it tells of the way it is ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.reference.call import Outlet

__all__ = ["LEFT_BY_ITSELF", "LEFT_RUNNING", "SIGNAL", "STILL_THERE", "StubbornServer"]

SIGNAL = "got "
"""Beginning of what a transcript says of a signal; its name follows."""
STILL_THERE = "the server is still there"
"""Said of a server once it has had a moment to end."""
LEFT_BY_ITSELF = "the server ended by itself"
LEFT_RUNNING = "the process was left running"
"""Said of a client that has ended before the process of its server."""

POLL_S = 0.1


class StubbornServer(StagedServer):
    """Goes on when its stdin is closed, and when it gets signals: it has to be killed.

    It is for a process of its own. It ends `forsaken_s` after the process that started it has
    ended, and after `patience_s` in any case.
    """

    moment_s: ClassVar[float] = 0.1
    """Seconds that every server needs to end: a client that does not wait so long does not wait."""
    patience_s: ClassVar[float] = 60.0
    forsaken_s: ClassVar[float] = 4.0

    def connected(self, outlet: Outlet) -> None:
        """Take the way to the client, and note signals from now on."""
        super().connected(outlet)
        self._parent = os.getppid()
        loop = asyncio.get_running_loop()
        if sys.platform != "win32":
            for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                told = partial(self.note_closing, "client", f"{SIGNAL}{one.name}")
                loop.add_signal_handler(one, told)

    async def aclose(self) -> None:
        """Go on after the end of stdin."""
        await asyncio.sleep(self.moment_s)
        self.note_closing("server", STILL_THERE)
        left_s = self.patience_s
        while left_s > 0:
            if os.getppid() != self._parent:
                left_s = min(left_s, self.forsaken_s)
            await asyncio.sleep(POLL_S)
            left_s -= POLL_S
        self.note_closing("server", LEFT_BY_ITSELF)
        await super().aclose()
