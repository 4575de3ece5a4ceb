"""Attacks on a server, each by a process of its own, while this process calls the server."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from tests.attack.attacks import posted
from tests.attack.line_process import ROOT, LineProcess
from tests.attack.measure import Felt, calling, calm_for
from tests.attack.report import Row
from tests.soak.traffic.wire import Connection
from tests.support.frames import PER_REQUEST, Speaker
from tests.support.ports import free_port

__all__ = ["answering", "attack_server", "target"]

STARTS_S = 30.0
LAST_S = 90.0
"""Seconds that an attack may last beyond its time."""


class Target:
    """The server process under attack, and its log."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self._process = process
        self.port = port
        self.log: list[str] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stderr
        async for line in self._process.stderr:
            self.log.append(line.decode(errors="replace").rstrip())

    def resident_kb(self, *, peak: bool = False) -> int:
        """Return the resident memory of the process, or its peak since the last reset."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        name = "VmHWM" if peak else "VmRSS"
        return int(status.partition(f"{name}:")[2].split()[0])

    def reset_peak(self) -> None:
        """Count the peak of memory from now on, where the system can."""
        with suppress(OSError):
            Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    async def end(self) -> int:
        """Stop the process and return its exit status."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STARTS_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
        status = await self._process.wait()
        await self._reading
        return status


@asynccontextmanager
async def target() -> AsyncIterator[Target]:
    """Run the server under attack; stop it afterwards."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.attack.server", str(port)),
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    running = Target(process, port)
    try:
        async with asyncio.timeout(STARTS_S):
            await answering(port)
        yield running
    finally:
        await running.end()


async def answering(port: int) -> None:
    while True:
        with suppress(ConnectionError):
            connection = await Connection.open(port)
            await connection.hang_up()
            return
        await asyncio.sleep(0.05)


async def attack_server(names: Iterable[str], seconds: float) -> AsyncIterator[Row]:
    """Yield what the server's other clients feel: without an attack, then under each.

    Args:
        names: Names of the attacks.
        seconds: Seconds that each attack lasts; each is made once at least.
    """
    async with target() as attacked:
        attacker = LineProcess("tests.attack.attacker", str(attacked.port), str(seconds))
        try:
            for name in ["(nothing)", *names]:
                await attacker.start()
                yield await _measured(attacked, attacker, name, seconds)
        finally:
            await attacker.end()
        status = await attacked.end()
    if status != 0:
        yield Row("server", "(the end)", wrong=[f"the server ended with {status}"])


async def _measured(attacked: Target, attacker: LineProcess, name: str, seconds: float) -> Row:
    row = Row("server", name)
    logged = len(attacked.log)
    # A client of its own for each row: an attack may close nobody else's connection.
    connection = await Connection.open(attacked.port)

    async def call(number: int) -> bool:
        message = Speaker(PER_REQUEST).call(number, "add", a=number, b=1)
        await connection.send(posted(PER_REQUEST, message))
        answer = await connection.answer()
        result = msgspec.json.decode(await answer.body()).get("result", {})
        return bool(result.get("structuredContent") == number + 1)

    attacked.reset_peak()
    before_kb = attacked.resident_kb()
    try:
        calm: Felt | None = None
        if seconds and name != "(nothing)":
            calm = await calm_for(seconds, call)
        async with calling(call) as felt:
            if name == "(nothing)":
                await asyncio.sleep(max(1.0, seconds))
            else:
                row.take(await attacker.ask(name, seconds + LAST_S))
    finally:
        await connection.hang_up()
    row.felt(felt, calm)
    row.peak_mb = (attacked.resident_kb(peak=True) - before_kb) / 1024
    row.logged(attacked.log[logged:])
    return row
