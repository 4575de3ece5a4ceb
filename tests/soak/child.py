"""The server of the HTTP soak in a process of its own, and its log."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tests.soak.server import STATE_PATH, State
from tests.soak.traffic.wire import Connection, request
from tests.support.ports import free_port

__all__ = ["Child", "serving"]

ROOT = Path(__file__).parents[2]
STARTS_S = 30.0
ENDS_S = 20.0
MOST = 50
"""Maximum number of unexpected log lines that are kept."""

EXPECTED = re.compile(
    r"WARNING(?: +(?:mcp_gen\.server|uvicorn\.error))?: +"
    r"(?P<what>a client reads its stream too slowly|refused a message|notifications/\S+"
    r"|Invalid HTTP request received)"
)
"""Pattern of the log lines that the soak's clients cause."""


class Child:
    """Server process of the soak."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self._process = process
        self._stopped = False
        self.port = port
        self.warnings: Counter[str] = Counter()
        """Log lines about its clients, by text."""
        self.complaints: list[str] = []
        """All other log lines."""
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self._process.stderr
        async for line in self._process.stderr:
            text = line.decode(errors="replace").rstrip()
            found = EXPECTED.match(text)
            if found:
                self.warnings[found["what"]] += 1
            elif len(self.complaints) < MOST:
                self.complaints.append(text)

    async def state(self, query: str = "") -> State:
        """Return the server's state; with a query, after a garbage collection."""
        connection = await Connection.open(self.port)
        try:
            path = f"{STATE_PATH}?{query}" if query else STATE_PATH
            await connection.send(request("GET", path, {"connection": "close"}))
            body = await (await connection.answer()).body()
            return msgspec.json.decode(body, type=State)
        finally:
            await connection.hang_up()

    async def started(self) -> None:
        """Wait until the server accepts connections."""
        async with asyncio.timeout(STARTS_S):
            while self._process.returncode is None:
                try:
                    await self.state()
                except ConnectionRefusedError:
                    await asyncio.sleep(0.02)
                else:
                    return
        raise RuntimeError(f"the server has not started: {self.complaints}")

    @property
    def running(self) -> bool:
        """Return True if the process still runs."""
        return self._process.returncode is None

    def stop(self) -> None:
        """Terminate the process, once: a second signal would end it at once."""
        if self.running and not self._stopped:
            self._stopped = True
            self._process.send_signal(signal.SIGTERM)

    async def ended(self) -> int | None:
        """Return the exit status; None if the process had to be killed."""
        try:
            async with asyncio.timeout(ENDS_S):
                status: int | None = await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            status = None
        await self._listening
        return status


@asynccontextmanager
async def serving(idle_s: float) -> AsyncIterator[Child]:
    """Run a server with this idle timeout of sessions, in seconds; stop it afterwards."""
    port = free_port()
    words = (sys.executable, "-m", "tests.soak.server", str(port), str(idle_s))
    process = await asyncio.create_subprocess_exec(
        *words, cwd=ROOT, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    child = Child(process, port)
    try:
        await child.started()
        yield child
    finally:
        child.stop()
        await child.ended()
