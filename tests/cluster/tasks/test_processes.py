"""Two web nodes and workers as processes over a real redis-server; workers are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_gen import Client, McpError
from tests.server.tasks.raw_client import CORE
from tests.support.ports import free_port
from tests.support.processes.child import WAIT_S, Child, started
from tests.support.processes.redis_server import RedisServer

pytest.importorskip("taskiq_redis", reason="pip install taskiq-redis")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers stop at signals of POSIX")

PROGRAM = Path(__file__).with_name("parcels.py")
ROOT = Path(__file__).parents[3]


@dataclass
class Parcels:
    """Running web nodes, and what their workers have done."""

    stack: ExitStack
    redis: RedisServer
    effects: Path
    env: Mapping[str, str]
    urls: list[str] = field(default_factory=list[str])

    def web(self, *ports: int) -> None:
        """Start web nodes at the same time."""
        words = [[sys.executable, str(PROGRAM), str(port)] for port in ports]
        for child in [self.stack.enter_context(started(each, self.env)) for each in words]:
            child.says("Uvicorn running")
        self.urls += [f"http://127.0.0.1:{port}/mcp" for port in ports]

    def worker(self, *options: str) -> Child:
        main = "from mcp_gen.cli import main; main()"
        words = [sys.executable, "-c", main, "worker", f"{PROGRAM}:server"]
        words += ["--cluster", self.redis.url, *options]
        child = self.stack.enter_context(started(words, self.env))
        child.says("parcels: worker ")
        return child

    def begun(self, *parcels: str) -> None:
        """Wait until workers have begun with parcels."""
        end = time.monotonic() + WAIT_S
        while not set(parcels) <= set(self.effects.read_text().split()):
            assert time.monotonic() < end, f"nobody has begun with {parcels}"
            time.sleep(0.02)  # between two looks of a bounded wait: a file tells nobody


@pytest.fixture
def parcels(redis_server: RedisServer, tmp_path: Path) -> Iterator[Parcels]:
    effects = tmp_path / "effects.txt"
    effects.touch()
    path = os.pathsep.join([str(ROOT), str(ROOT / "generated")])
    env = {
        **os.environ,
        "PYTHONPATH": path,
        "PARCELS_REDIS": redis_server.url,
        "PARCELS_EFFECTS": str(effects),
    }
    with ExitStack() as stack:
        made = Parcels(stack, redis_server, effects, env)
        made.web(free_port(), free_port())
        yield made


async def test_after_a_worker_was_killed_a_retryable_task_ends_and_another_fails(
    parcels: Parcels,
) -> None:
    first, (one, two) = parcels.worker(), parcels.urls
    async with Client("agent", tasks=True) as client:
        here, there = await client.connect(one), await client.connect(two)
        again = await here.start_tool("send_again", {"parcel": "a"})
        once = await here.start_tool("send_once", {"parcel": "b", "wait_s": 300})
        assert again.id is not None
        assert once.id is not None
        await asyncio.to_thread(parcels.begun, "a", "b")
        first.signal(signal.SIGKILL)
        parcels.worker()
        ended = there.task(again.id, tool="send_again")
        assert await ended.result(str, timeout_s=30) == "a is sent"
        with pytest.raises(McpError, match="the worker that ran the task is lost") as caught:
            await there.task(once.id, tool="send_once").result(str, timeout_s=30)
        assert caught.value.data == {"reason": "worker_lost"}
    assert sorted(parcels.effects.read_text().split()) == ["a", "a", "b"]


async def test_a_worker_that_is_told_to_stop_ends_its_task_first(parcels: Parcels) -> None:
    worker, (one, two) = parcels.worker("--drain", "30"), parcels.urls
    async with Client("agent", tasks=True) as client:
        here = await client.connect(one, revision=CORE)
        there = await client.connect(two, revision=CORE)
        task = await here.start_tool("send_once", {"parcel": "c", "wait_s": 0.5})
        assert task.id is not None
        await asyncio.to_thread(parcels.begun, "c")
        worker.signal(signal.SIGTERM)
        assert await there.task(task.id, tool="send_once").result(str, timeout_s=30) == "c is sent"
    assert await asyncio.to_thread(worker.ended) == 0
    assert parcels.effects.read_text().split() == ["c"]
