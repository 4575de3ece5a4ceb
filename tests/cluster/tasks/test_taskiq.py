"""TaskiqEngine over a real redis-server: messages, redelivery, and a broker that fails."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from unittest import mock

import pytest

from mcp_gen import TaskiqEngine, Tasks, UsageError
from mcp_gen.server.tasks.engine import taskiq_engine
from mcp_gen.server.tasks.engine.submitter import EngineSubmitter
from mcp_gen.server.tasks.engine.worker import TaskWorker
from tests.cluster.tasks.parts import Node, cluster_of, manager_of
from tests.server.tasks.raw_client import conversing
from tests.support.loop import until
from tests.support.ports import free_port
from tests.support.processes.redis_server import RedisServer

taskiq = pytest.importorskip("taskiq", reason="pip install taskiq")
taskiq_redis = pytest.importorskip("taskiq_redis", reason="pip install taskiq-redis")

QUEUE = "parcels"
IDLE_MS = 50


def engine_at(url: str, *, idle_ms: int = IDLE_MS) -> TaskiqEngine:
    broker = taskiq_redis.RedisStreamBroker(
        url,
        queue_name=QUEUE,
        idle_timeout=idle_ms,
        xread_block=20,
        xread_count=1,
        unacknowledged_lock_timeout=1,
    )
    return TaskiqEngine(broker)


@asynccontextmanager
async def nodes_at(url: str, names: str = "wx", **options: Any) -> AsyncGenerator[list[Node]]:
    """Start nodes with brokers of their own on one server."""

    def tasks() -> Tasks:
        engine = engine_at(url, **options)
        return Tasks(engine=engine, grace_s=0, lease_s=0.5, poll_interval_s=0.05, resubmit_s=0.1)

    async with cluster_of(names, tasks) as nodes:
        yield nodes


class CountingWorker(TaskWorker):
    """Worker that counts the deliveries of each id."""

    def __init__(self, node: Node, deliveries: list[str]) -> None:
        submitter = manager_of(node).submitter
        assert isinstance(submitter, EngineSubmitter)
        super().__init__(manager_of(node), submitter)
        self.deliveries = deliveries

    async def run(self, id: str) -> None:
        self.deliveries.append(id)
        await super().run(id)


@contextmanager
def pipelines_left_open() -> Generator[None]:
    """Allow what taskiq-redis leaves to the collector: a pipeline, where its reading was cut."""
    loop = asyncio.get_running_loop()
    others = loop.get_exception_handler()

    def heard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context["message"] != "Unclosed Pipeline client" and others is not None:
            others(loop, context)

    loop.set_exception_handler(heard)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unclosed client session", ResourceWarning)
            yield
            # It is told when the pipeline is collected: here, and not in a later test.
            gc.collect()
    finally:
        loop.set_exception_handler(others)


@asynccontextmanager
async def worker(node: Node, deliveries: list[str]) -> AsyncGenerator[None]:
    made = CountingWorker(node, deliveries)
    with pipelines_left_open():
        working = asyncio.ensure_future(made.work(max_running=50, drain_s=10))
        try:
            yield
        finally:
            made.stop()
            await working


async def test_a_task_runs_on_a_worker_and_redis_holds_its_id_alone(
    redis_server: RedisServer,
) -> None:
    async with nodes_at(redis_server.url) as (web, x), conversing(web.server) as one:
        id = await one.make("slow", word="secret")
        ((_, fields),) = await asyncio.to_thread(redis_server.run, "XRANGE", QUEUE, "-", "+")
        message = fields[b"data"]
        assert id.encode() in message
        assert b"secret" not in message
        x.work.gate.set()
        async with worker(x, []):
            assert await one.text(id) == "secret of x"


async def test_a_task_outlasts_the_time_out_of_the_broker_and_runs_once(
    redis_server: RedisServer,
) -> None:
    came: list[str] = []
    async with nodes_at(redis_server.url, "wxy") as (web, x, y), conversing(web.server) as one:
        async with worker(x, came), worker(y, came):
            first = await one.make("slow")
            await until(lambda: x.work.began)
            # Only with traffic does this broker look for deliveries that are not acknowledged.
            made = [first]
            async with asyncio.timeout(30):
                while came.count(first) < 2:
                    made.append(await one.make("slow"))
                    await until(lambda: came.count(made[-1]))
            x.work.gate.set()
            for id in made:
                assert (await one.text(id)).startswith("word of")
        assert len(x.work.began) == len(made)


async def test_a_delivery_whose_worker_dies_before_the_claim_is_made_again(
    redis_server: RedisServer,
) -> None:
    async with nodes_at(redis_server.url) as (web, x), conversing(web.server) as one:
        id = await one.make("slow")
        await asyncio.to_thread(
            redis_server.run,
            *("XREADGROUP", "GROUP", "taskiq", "dead", "COUNT", 1, "STREAMS", QUEUE, ">"),
        )
        x.work.gate.set()
        async with worker(x, []):
            assert await one.text(id) == "word of x"


async def test_a_worker_goes_on_after_its_broker_has_failed(redis_server: RedisServer) -> None:
    async with (
        nodes_at(redis_server.url) as (web, x),
        conversing(web.server) as one,
        worker(x, []),
    ):
        x.work.gate.set()
        assert await one.text(await one.make("slow")) == "word of x"
        await asyncio.to_thread(redis_server.run, "CLIENT", "KILL", "TYPE", "normal")
        assert await one.text(await one.make("slow")) == "word of x"


async def test_a_worker_without_a_broker_says_so_in_one_line() -> None:
    async with nodes_at(f"redis://127.0.0.1:{free_port()}", "x") as (x,):
        with pytest.raises(UsageError, match="TaskiqEngine: the broker cannot be reached: "):
            await CountingWorker(x, []).work(max_running=1, drain_s=1)
        assert manager_of(x).running == {}


class ForgetfulBroker(taskiq.InMemoryBroker):
    """Broker that delivers one message, and cannot be told that it was handled."""

    async def listen(self) -> AsyncGenerator[bytes | taskiq.AckableMessage]:
        message = self.formatter.dumps(
            taskiq.TaskiqMessage(
                task_id="1", task_name="mcp_gen.task", labels={}, args=["task-1"], kwargs={}
            )
        )
        yield taskiq.AckableMessage(data=message.message, ack=self._fail)
        await asyncio.Event().wait()

    async def _fail(self) -> None:
        raise ConnectionError("connection lost")


async def test_a_delivery_that_cannot_be_acknowledged_is_logged_in_one_line() -> None:
    run: list[str] = []
    logged = asyncio.Event()

    async def take(id: str) -> None:
        run.append(id)

    with mock.patch.object(taskiq_engine, "_log") as log:
        log.warning.side_effect = lambda *_: logged.set()
        await TaskiqEngine(ForgetfulBroker()).work(take, logged.wait, max_running=1)
    assert run == ["task-1"]
    assert [call.args[0] % call.args[1:] for call in log.warning.mock_calls] == [
        "the broker delivers a task again, as it was not told of its end: connection lost"
    ]
