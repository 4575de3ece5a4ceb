"""A child process that answers each line on stdin with one on stdout; it starts when it is used."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["ROOT", "LineProcess"]

ROOT = Path(__file__).parents[2]
MOST_BYTES = 2**20


class LineProcess:
    """A Python module as such a process. One that does not answer in time is killed.

    Args:
        words: The module and its arguments.
    """

    def __init__(self, *words: str) -> None:
        self._words = words
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.log: list[str] = []
        """Lines of stderr since the process started."""

    async def start(self) -> None:
        """Start the process if it does not run, and wait until it is ready."""
        if self._process is not None:
            return
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *self._words),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MOST_BYTES,
        )
        self.log = []
        self._reading = asyncio.create_task(self._read_log(process))
        assert process.stdout
        await process.stdout.readline()

    async def _read_log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr
        async for line in process.stderr:
            self.log.append(line.decode(errors="replace").rstrip())

    async def ask(self, line: str, seconds: float) -> bytes:
        """Return the answer to a line; empty if none comes in time, and the process is gone."""
        await self.start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n".encode())
        answer = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                answer = await process.stdout.readline()
        if not answer:
            await self.end()
        return answer

    async def end(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if self._reading is not None:
            await self._reading
