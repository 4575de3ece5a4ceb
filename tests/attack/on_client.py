"""Attacks on a client by its servers, while the client calls another server.

`python -m tests.attack.on_client GOOD_PORT HOSTILE_PORT SECONDS` is the client under attack, by
what each line of stdin names: a process of its own, so that one that stands still can be ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from mcp_gen import Client, McpGenError
from tests.attack.attacks import Outcome
from tests.attack.hostile import OVER_HTTP, OVER_STDIO, path_of
from tests.attack.line_process import ROOT, LineProcess
from tests.attack.measure import PACE_S, Felt, calling, calm_for
from tests.attack.on_server import answering, target
from tests.attack.report import Row
from tests.soak.figures import resident_kb
from tests.soak.traffic.wire import HOST
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.ports import free_port

__all__ = ["ATTACKS", "attack_client", "under_attack"]

ATTACKS = (*OVER_HTTP, *OVER_STDIO)
CONNECT_S = 10.0
CALL_S = 20.0
LAST_S = 45.0


async def attack_client(names: Iterable[str], seconds: float) -> AsyncIterator[Row]:
    """Yield what a client's other calls feel: without an attack, then under each.

    Args:
        names: Names of the attacks.
        seconds: Seconds that each attack lasts; each is made once at least.
    """
    async with target() as good, hostile() as port:
        attacked = LineProcess("tests.attack.on_client", str(good.port), str(port), str(seconds))
        try:
            for name in ["(nothing)", *names]:
                await attacked.start()
                logged = len(attacked.log)
                out = await attacked.ask(name, 2 * seconds + LAST_S)
                if out:
                    row = msgspec.json.decode(out, type=Row)
                else:
                    row = Row("client", name, wrong=["the client stood still, or has ended"])
                row.logged(attacked.log[logged:])
                yield row
        finally:
            await attacked.end()


@asynccontextmanager
async def hostile() -> AsyncIterator[int]:
    """Run the server that attacks, and return its port."""
    port = free_port()
    words = (sys.executable, "-m", "tests.attack.hostile", str(port))
    process = await asyncio.create_subprocess_exec(
        *words, cwd=ROOT, stdin=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(LAST_S):
            await answering(port)
        yield port
    finally:
        process.kill()
        await process.wait()


async def under_attack(good: int, hostile: int, seconds: float, name: str) -> Row:
    """Call a server while another one attacks, and return what was felt."""
    row = Row("client", name)
    _reset_peak()
    before_kb = resident_kb()
    async with Client("attacked") as client:
        session = await client.connect(f"http://{HOST}:{good}/mcp", revision=PER_REQUEST)

        async def call(number: int) -> bool:
            sums = {"a": number, "b": 1}
            return await session.call_tool("add", sums, returns=int) == number + 1

        calm: Felt | None = None
        if seconds and name != "(nothing)":
            calm = await calm_for(seconds, call)
        async with calling(call) as felt:
            if name == "(nothing)":
                await asyncio.sleep(max(1.0, seconds))
            else:
                outcome = await _attacked(name, hostile, seconds)
                row.times = outcome.answers.pop("times", 0)
                row.answers, row.wrong = outcome.answers, outcome.wrong
    row.felt(felt, calm)
    row.peak_mb = (_peak_kb() - before_kb) / 1024
    return row


async def _attacked(name: str, port: int, seconds: float) -> Outcome:
    """Use a hostile server until the time is over, once at least."""
    outcome, end_s = Outcome(), time.monotonic() + seconds
    while True:
        next_s = time.monotonic() + PACE_S
        try:
            async with asyncio.timeout(LAST_S), Client("victim", timeout_s=CALL_S) as client:
                await _use(client, name, port)
        except McpGenError as error:
            outcome.count(type(error).__name__)
            if len(str(error)) > 20_000:
                outcome.wrong.append(f"an error text of {len(str(error)):,} characters")
        except Exception as error:
            outcome.wrong.append(f"{type(error).__name__}: {str(error)[:200]}")
        else:
            outcome.count("used")
        outcome.count("times")
        if next_s > end_s:
            return outcome
        await asyncio.sleep(next_s - time.monotonic())


async def _use(client: Client, name: str, port: int) -> None:
    target: Any = f"http://{HOST}:{port}{path_of(name)}"
    if name in OVER_STDIO:
        target = [sys.executable, "-m", "tests.attack.hostile", name]
    session = await client.connect(target, revision=HANDSHAKE, timeout_s=CONNECT_S)
    if OVER_HTTP.get(name, ("",))[0] == "tools/list":
        async for _ in session.tools():
            pass
    elif name in OVER_HTTP:
        await session.call_tool("attack", {}, returns=dict[str, Any])


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_kb() -> int:
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


def main(good: str, port: str, seconds: str) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        row = asyncio.run(under_attack(int(good), int(port), float(seconds), line.strip()))
        print(msgspec.json.encode(row).decode(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
