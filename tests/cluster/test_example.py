"""The example of a cluster: one command starts it, and one signal ends it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Client
from tests.storm.processes import ROOT, Missing, binary

PROGRAM = ROOT / "examples/cluster/run.py"
WAIT_S = 60.0
NODES = 3


@pytest.fixture(autouse=True)
def _installed() -> None:
    try:
        for name in ("redis-server", "nginx"):
            binary(name)
    except Missing as missing:
        # In CI this is a failure.
        pytest.skip(str(missing))


async def _uses(url: str) -> set[int]:
    """Call through the balancer; return the processes that have answered."""
    client = Client("reader", "1.0.0")

    @client.elicitation
    async def name(*given: Any) -> dict[str, str]:
        return {"name": "Ada"}

    async with client:
        session = await client.connect(url)
        assert await session.call_tool("greet", returns=str) == "hello Ada"
        return {await session.call_tool("node", returns=int) for _ in range(2 * NODES)}


def test_the_example_serves_a_client_at_every_node_and_ends_with_one_signal() -> None:
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        try:
            assert running.stdout is not None
            url = running.stdout.readline().strip()
            children = _children(running.pid)
            assert len(children) == NODES + 2
            assert len(asyncio.run(_uses(url))) == NODES
        finally:
            # Not killed, also after a failure: it ends what it has started.
            running.send_signal(signal.SIGTERM)
            running.wait(WAIT_S)
    assert [one for one in children if Path(f"/proc/{one}").exists()] == []


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state = place.read_text().rpartition(") ")[2].split()
            if int(state[1]) == pid:
                found.append(int(place.parent.name))
    return found
