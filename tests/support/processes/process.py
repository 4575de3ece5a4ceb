"""A server in a forked process, over its stdin and stdout.

A test can run over stdio as often as over memory.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mcp_gen.core.transport.protocols import Duplex, Receiver
from mcp_gen.server.serving.api import ServingApi
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES, LineReader, LineWriter
from tests.support.checks.watch import Watched, watch
from tests.support.processes.forked import fork

__all__ = ["process"]

WAIT_S = 30.0


def _serve(make: Callable[[], ServingApi]) -> None:
    make().run("stdio")


class _Pipes(asyncio.Protocol):
    """Client ends of the pipes, as a transport."""

    def __init__(self, reading: int, writing: int) -> None:
        self._ends = reading, writing
        self._receiver: Receiver | None = None
        self._closed = asyncio.get_running_loop().create_future()

    async def start(self, receiver: Receiver) -> None:
        loop = asyncio.get_running_loop()
        reading, writing = (
            os.fdopen(end, mode, 0) for end, mode in zip(self._ends, ("rb", "wb"), strict=True)
        )
        self._receiver = receiver
        self._lines = LineReader(receiver, DEFAULT_MAX_MESSAGE_BYTES)
        self._writer = LineWriter(loop)
        self._writing, _ = await loop.connect_write_pipe(lambda: self._writer, writing)
        self._writer.attach(self._writing)
        self._reading, _ = await loop.connect_read_pipe(lambda: self, reading)

    def send(self, message: bytes) -> None:
        self._writer.send(message)

    async def drain(self) -> None:
        await self._writer.drain()

    async def aclose(self) -> None:
        """Disconnect, and wait until the server has done so."""
        self._writer.flush()
        self._writing.close()
        await self._closed

    def data_received(self, data: bytes) -> None:
        self._lines.feed(data)

    def eof_received(self) -> bool:
        self._lines.end()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        assert self._receiver
        self._receiver.closed(error)
        if not self._closed.done():
            self._closed.set_result(None)


@asynccontextmanager
async def process(make: Callable[[], ServingApi], log: list[str]) -> AsyncIterator[Duplex]:
    """Start a server as a process; `make` is a function of a module, which makes it there.

    `log` contains its stderr afterwards.

    Raises:
        AssertionError: the process did not end with status 0 after its stdin.
    """
    stdin, ours = os.pipe()
    theirs, stdout = os.pipe()
    with tempfile.TemporaryFile() as stderr:
        child = fork(_serve, make, stdin, stdout, os.dup(stderr.fileno()))
        try:
            async with asyncio.timeout(WAIT_S):
                yield Watched(_Pipes(theirs, ours), watch(), side="client")
            await asyncio.get_running_loop().run_in_executor(None, child.join, WAIT_S)
            assert child.exitcode == 0, f"the server ended with {child.exitcode}"
        finally:
            if child.exitcode is None:
                child.kill()
            child.join()
            child.close()
            stderr.seek(0)
            log += stderr.read().decode().splitlines()
