"""Serves stdin and stdout in this process: signals, shutdown and exit."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import threading
from typing import TYPE_CHECKING, Any

from mcp_gen.server.serving.signals import EndingSignals
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES
from mcp_gen.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from mcp_gen.server.serving.servable import Servable

__all__ = ["run_stdio", "serve_stdio"]

_log = logging.getLogger("mcp_gen.server")

THREADS_WAIT_S = 5.0
"""Seconds that threads may still run once the session has ended."""


def run_stdio(server: Servable, *, freeze_gc: bool = True) -> None:
    """Serve stdin and stdout until the client disconnects or a signal tells the process to end."""
    process = _Process(server, owns_process=True, freeze_gc=freeze_gc)
    with contextlib.suppress(KeyboardInterrupt), process.signals:
        try:
            asyncio.run(process.serve())
        except asyncio.CancelledError:
            if not process.stopped:
                raise
        finally:
            process.finish()


async def serve_stdio(server: Servable, *, freeze_gc: bool = False) -> None:
    """Serve stdin and stdout in this event loop, as `run_stdio` does in one of its own."""
    serving = _Process(server, owns_process=False, freeze_gc=freeze_gc)
    task = asyncio.current_task()
    with serving.signals:
        try:
            await serving.serve()
        except asyncio.CancelledError:
            if not serving.stopped or task is None:
                raise
            task.uncancel()


class _Process:
    """Stdin and stdout being served.

    Args:
        server: The server.
        owns_process: True if the process ends with it, whatever its threads do.
        freeze_gc: True keeps the objects of the start out of garbage collections.
    """

    def __init__(self, server: Servable, *, owns_process: bool, freeze_gc: bool) -> None:
        self._server = server
        self._owns_process = owns_process
        self._freeze_gc = freeze_gc
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._exit_timer: threading.Timer | None = None
        self.signals = EndingSignals(self._on_signal)
        self.stopped = False
        """True once a signal has told the process to end."""

    async def serve(self) -> None:
        limit = self._server.max_message_bytes or DEFAULT_MAX_MESSAGE_BYTES
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        if self.stopped:
            return
        # Objects of the start-up live as long as the process: keep them out of collections.
        if self._freeze_gc:
            gc.freeze()
        try:
            await self._server.serve(StdioTransport(max_message_bytes=limit))
            await self._server.end_tasks()
        finally:
            # From here on a signal ends the process at once: it no longer shuts down in order.
            self._loop = self._task = None
            if self._owns_process:
                self.signals.give_up_order()
                self._wait_for_threads()

    def _on_signal(self) -> None:
        self.stopped = True
        if self._loop is not None:
            # The handler of a signal runs between any two steps, so it must not end anything.
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if not self._server.end_sessions() and self._task:
            self._task.cancel()

    def _wait_for_threads(self) -> None:
        # asyncio.run waits for worker threads, and nothing can stop a thread that does not end.
        self._exit_timer = threading.Timer(THREADS_WAIT_S, _exit)
        self._exit_timer.daemon = True
        self._exit_timer.start()

    def finish(self) -> None:
        if self._exit_timer:
            self._exit_timer.cancel()


def _exit() -> None:
    _log.warning("a thread was still at work when the server had ended")
    os._exit(0)
