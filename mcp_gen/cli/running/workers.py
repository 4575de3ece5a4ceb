"""Several processes that serve one port: starts them, starts them anew, and ends them.

The parent binds the sockets and hands them to the workers. A connection that has come while a
worker dies is taken by another one, port 0 works, and no other program can join the port, as it
could with SO_REUSEPORT, where connections in the queue of a dead process are lost.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from mcp_gen.cli.running.worker import Listening
from mcp_gen.core.errors import UsageError
from mcp_gen.server.serving.http import bound_sockets
from mcp_gen.server.serving.signals import EndingSignals

if TYPE_CHECKING:
    from mcp_gen.cli.running.settings import RunSettings

__all__ = ["Workers", "run_workers"]

_log = logging.getLogger("mcp_gen.server")

WORKER = "mcp_gen.cli.running.worker"
FIRST_WAIT_S = 0.1
MOST_WAIT_S = 30.0
STABLE_S = 60.0
"""Seconds after which a worker that ends is started anew as if it were the first time."""
KILL_AFTER_S = 15.0
"""Seconds beyond the limits of the drain after which a worker is killed."""


def run_workers(settings: RunSettings) -> int:
    """Serve with several processes until a signal comes; return the exit status.

    Args:
        settings: Options of `mcp-gen run`; `workers` is the number of processes.

    Raises:
        UsageError: the port is in use, or this system cannot hand sockets to processes.
    """
    if sys.platform == "win32":
        raise UsageError(
            "--workers hands sockets to processes, which Windows does not do as other systems: "
            "start several servers at ports of their own, behind a proxy"
        )
    settings.start_log()
    bound = bound_sockets(settings.host, settings.port)
    try:
        for one in bound:
            # Connections wait from now on, whichever worker is there.
            one.listen(socket.SOMAXCONN)
        workers = Workers(settings, bound)
        # Around the event loop: asyncio would take SIGINT for itself.
        with EndingSignals(workers.stop):
            return asyncio.run(workers.run())
    finally:
        for one in bound:
            one.close()


class Workers:
    """Worker processes of one server.

    Args:
        settings: Options of `mcp-gen run`.
        bound: Sockets that all workers listen at.
        first_wait_s: Seconds before a worker is started anew for the first time; they double.
        most_wait_s: Most seconds before a worker is started anew.
    """

    def __init__(
        self,
        settings: RunSettings,
        bound: Sequence[socket.socket],
        *,
        first_wait_s: float = FIRST_WAIT_S,
        most_wait_s: float = MOST_WAIT_S,
    ) -> None:
        self._settings = settings
        self._bound = bound
        self._first_wait_s = first_wait_s
        self._most_wait_s = most_wait_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._began = asyncio.Event()
        """Set when the first worker listens."""
        self._ending = False
        self._processes: dict[int, Process] = {}
        self._killed = False

    def stop(self) -> None:
        """End the workers, from a signal handler."""
        if self._loop is None:
            self._stopping.set()
        else:
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def run(self) -> int:
        """Serve until `stop`, and return the exit status.

        The first worker starts alone, so that an error of the server is told once, and ends all.
        """
        self._loop = asyncio.get_running_loop()
        keeping = [asyncio.create_task(self._keep(1))]
        starting = asyncio.create_task(self._began.wait())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([*keeping, starting, stopping], return_when=asyncio.FIRST_COMPLETED)
        if self._began.is_set() and not self._stopping.is_set():
            numbers = range(2, self._settings.workers + 1)
            keeping += [asyncio.create_task(self._keep(number)) for number in numbers]
        if not keeping[0].done():
            await stopping
            await self._end()
        statuses = await asyncio.gather(*keeping)
        starting.cancel()
        stopping.cancel()
        return 1 if self._killed else max(statuses)

    async def _keep(self, number: int) -> int:
        """Run a worker, and another one whenever it ends, until the end; return the last status."""
        loop = asyncio.get_running_loop()
        wait_s = self._first_wait_s
        while not self._stopping.is_set():
            begun_s = loop.time()
            status = await self._run_one(number)
            if self._stopping.is_set():
                return 0 if status in (0, -signal.SIGTERM) else 1
            if not self._began.is_set():
                return max(status, 1)
            if loop.time() - begun_s >= STABLE_S:
                wait_s = self._first_wait_s
            _log.warning(
                "worker %d ended with %s; another one starts in %g s",
                *(number, _name_of(status), wait_s),
            )
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._stopping.wait()
            wait_s = min(2 * wait_s, self._most_wait_s)
        return 0

    async def _run_one(self, number: int) -> int:
        """Run a worker to its end, and return its status."""
        process, reader, writer = await self._start(number)
        self._processes[number] = process
        try:
            if self._ending:
                _signal(process, signal.SIGTERM)
            line = b""
            # A worker that dies before it has read its settings resets the link.
            with suppress(ConnectionError):
                line = await reader.readline()
            if line and not self._began.is_set():
                self._began.set()
                self._announce(msgspec.json.decode(line, type=Listening))
            return await process.wait()
        finally:
            del self._processes[number]
            # Open until here: a worker ends with its link.
            writer.close()

    async def _start(
        self, number: int
    ) -> tuple[Process, asyncio.StreamReader, asyncio.StreamWriter]:
        ours, theirs = socket.socketpair()
        with theirs:
            numbers = [theirs.fileno(), *(one.fileno() for one in self._bound)]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", WORKER, *map(str, numbers)),
                pass_fds=numbers,
                stdin=DEVNULL,
                # Ctrl-C in a terminal is for the parent, which ends the workers.
                process_group=0,
            )
        reader, writer = await asyncio.open_connection(sock=ours)
        # Not in its arguments nor its environment, which other programs can read.
        settings = structs.replace(self._settings, warns=number == 1 and not self._began.is_set())
        writer.write(msgspec.json.encode(settings) + b"\n")
        return process, reader, writer

    async def _end(self) -> None:
        """End the workers; kill those that do not end in time."""
        settings = self._settings
        self._ending = True
        for process in self._processes.values():
            _signal(process, signal.SIGTERM)
        left = [asyncio.create_task(process.wait()) for process in self._processes.values()]
        if left:
            limit_s = max(settings.drain_s, settings.drain_delay_s) + KILL_AFTER_S
            await asyncio.wait(left, timeout=limit_s)
        for number, process in self._processes.items():
            if process.returncode is None:
                self._killed = True
                _log.warning("worker %d (process %d) does not end: killed", number, process.pid)
                _signal(process, signal.SIGKILL)

    def _announce(self, listening: Listening) -> None:
        _log.info("listening at %s, with %d workers", listening.url, self._settings.workers)
        if not self._settings.log_json:
            print(listening.line, file=sys.stderr, flush=True)


def _signal(process: Process, number: signal.Signals) -> None:
    if process.returncode is None:
        process.send_signal(number)


def _name_of(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name
