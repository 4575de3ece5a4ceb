"""Tasks on workers: claimed before they run, renewed, and run again only if that is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from mcp_gen import Tasks
from mcp_gen.server.tasks.engine.submitter import EngineSubmitter
from mcp_gen.server.tasks.engine.worker import TaskWorker
from tests.cluster.tasks.memory_engine import MemoryEngine
from tests.cluster.tasks.parts import Node, Work, cluster_of, manager_of, respond, working
from tests.server.tasks.raw_client import conversing, directed, related
from tests.support.loop import until
from tests.support.peers.answering import accept

LEASE_S = 60.0


class Clock:
    """Clock of all nodes, which a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def engines(
    names: str = "wx", *, lease_s: float = LEASE_S, clock: Callable[[], float] | None = None
) -> AsyncGenerator[tuple[MemoryEngine, list[Node]]]:
    """Start nodes that share an engine; none of them is a worker yet."""
    engine = MemoryEngine()

    def options() -> Tasks:
        return Tasks(engine=engine, poll_interval_s=5.0, lease_s=lease_s, clock=clock, grace_s=0)

    async with cluster_of(names, options) as nodes:
        yield engine, nodes


def worker_of(node: Node) -> TaskWorker:
    submitter = manager_of(node).submitter
    assert isinstance(submitter, EngineSubmitter)
    return TaskWorker(manager_of(node), submitter)


@asynccontextmanager
async def worker(node: Node, *, drain_s: float = 5.0) -> AsyncGenerator[TaskWorker]:
    """Run a worker at a node; it drains at the end."""
    made = worker_of(node)
    working = asyncio.ensure_future(made.work(max_running=10, drain_s=drain_s))
    try:
        yield made
    finally:
        made.stop()
        await working


@pytest.mark.parametrize("client", [conversing, directed])
async def test_a_task_runs_on_a_worker_and_any_node_has_its_result(client: Any) -> None:
    async with engines() as (engine, (web, x)), client(web.server) as one, worker(x):
        made = await one.call("slow", task={} if client is conversing else None, word="hello")
        id = made["task"]["taskId"] if client is conversing else made["taskId"]
        await until(lambda: x.work.began)
        x.work.gate.set()
        done = await one.standing(id, "completed")
        result = done.get("result") or await one.ask("tasks/result", taskId=id)
        assert result["content"][0]["text"] == "hello of x"
        assert engine.history == [id]


async def test_the_engine_gets_nothing_but_the_id_of_the_task() -> None:
    async with engines("w") as (engine, (web,)), conversing(web.server) as one:
        id = await one.make("slow", word="secret")
        assert engine.submitted == [id]
        stored = await web.cluster.tasks.load(id)
        assert stored is not None
        assert msgspec.json.decode(stored.arguments)["params"]["arguments"] == {"word": "secret"}
        assert stored.tool == "slow"


async def test_an_id_that_is_delivered_twice_runs_once() -> None:
    async with engines("wxy") as (engine, (web, x, y)), conversing(web.server) as one:
        id = await one.make("slow")
        engine.submitted += [id, id]
        async with worker(x), worker(y):
            await until(lambda: engine.deliveries == 3)
            x.work.gate.set()
            await one.text(id)
            engine.submitted.append(id)
            await until(lambda: engine.deliveries == 4)
        assert len(x.work.began) == 1


async def claim_is_over(web: Node, id: str) -> None:
    """Wait until the present claim of a task would have lapsed."""
    claimed = await web.cluster.tasks.load(id)
    assert claimed is not None
    assert claimed.claimed_until is not None
    until_s = claimed.claimed_until + 0.06
    await until(lambda: manager_of(web).now() > until_s)


async def test_a_task_outlasts_the_time_out_of_the_engine_and_runs_once() -> None:
    async with engines(lease_s=0.1) as (engine, (web, x)), conversing(web.server) as one, worker(x):
        engine.time_out_s = 0.02
        id = await one.make("slow")
        await until(lambda: engine.deliveries == 2 and not engine.submitted)
        await claim_is_over(web, id)
        assert await one.status(id) == "working"
        x.work.gate.set()
        assert await one.text(id) == "word of x"
        assert len(x.work.began) == 1


async def test_a_worker_has_the_state_of_the_session_but_not_the_session() -> None:
    async with engines() as (_, (web, x)), conversing(web.server) as one, worker(x):
        here = await one.call("count")
        assert here["content"][0]["text"] == "1, False, None, None"
        assert await one.text(await one.make("count")) == "2, True, None, None"
        assert (await one.call("count"))["content"][0]["text"].startswith("3, ")


async def test_a_task_is_cancelled_on_its_worker() -> None:
    async with engines() as (_, (web, x)), conversing(web.server) as one, worker(x):
        id = await one.make("slow")
        await until(lambda: x.work.began)
        assert (await one.ask("tasks/cancel", taskId=id))["status"] == "cancelled"
        await until(lambda: x.work.cancelled)


async def test_a_task_that_is_cancelled_before_a_worker_takes_it_never_runs() -> None:
    async with engines() as (engine, (web, x)), conversing(web.server) as one:
        id = await one.make("slow")
        await one.ask("tasks/cancel", taskId=id)
        async with worker(x):
            await until(lambda: engine.deliveries == 1)
        assert x.work.began == []


async def test_a_worker_asks_on_a_request_for_the_result_that_was_open_before_it_began() -> None:
    async with engines() as (_, (web, x)), conversing(web.server) as one:
        id = await one.make("greet")
        waiting = one.send("tasks/result", taskId=id)
        x.work.gate.set()
        async with worker(x):
            asked = await one.came("elicitation/create")
            assert asked["params"]["_meta"] == related(id)
            respond(one, asked, accept(name="Ann"))
            result = await one.answer(waiting)
        assert result["content"][0]["text"] == "Hello, Ann"


async def test_a_question_of_a_worker_is_answered_by_an_update() -> None:
    async with engines() as (_, (web, x)), directed(web.server) as one, worker(x):
        x.work.gate.set()
        id = await one.begin("greet")
        (key,) = (await one.standing(id, "input_required"))["inputRequests"]
        await one.ask("tasks/update", taskId=id, inputResponses={key: accept(name="Bo")})
        done = await one.standing(id, "completed")
        assert done["result"]["content"][0]["text"] == "Hello, Bo"


async def test_the_session_that_made_a_task_is_told_what_its_worker_reports() -> None:
    async with engines() as (_, (web, x)), conversing(web.server) as one, worker(x):
        id = await one.make("speak")
        told = await one.told("notifications/tasks/status")
        while told.get("statusMessage") != "first words":
            told = await one.told("notifications/tasks/status")
        x.work.gate.set()
        while told["status"] != "completed":
            told = await one.told("notifications/tasks/status")
        assert told["taskId"] == id
        assert told["statusMessage"] == "last words"


async def abandoned(web: Node, x: Node, id: str, lease_s: float = LEASE_S) -> None:
    """Claim a task for a worker that does nothing more."""
    store = web.cluster.tasks
    assert await store.claim(id, x.cluster.node, lease_s, manager_of(x).now())


async def test_a_task_of_a_lost_worker_fails_and_says_so() -> None:
    clock = Clock()
    async with engines(clock=clock) as (_, (web, x)), conversing(web.server) as one:
        id = await one.make("slow")
        await abandoned(web, x, id)
        assert await one.status(id) == "working"
        clock.now += LEASE_S + 1
        failed = await one.look(id)
        assert failed["status"] == "failed"
        assert failed["statusMessage"].startswith("the worker that ran the task is lost")
        error = await one.ask("tasks/result", taskId=id)
        assert error["data"] == {"reason": "worker_lost"}


async def test_a_task_of_a_lost_worker_runs_again_if_its_tool_says_retry() -> None:
    clock = Clock()
    async with engines("wxy", clock=clock) as (engine, (web, x, y)), conversing(web.server) as one:
        id = await one.make("again")
        engine.submitted.clear()
        await abandoned(web, x, id)
        clock.now += LEASE_S + 1
        assert await one.status(id) == "working"
        y.work.gate.set()
        async with worker(y):
            assert await one.text(id) == "word of y"


async def test_a_worker_looks_again_at_a_task_that_another_had_once_that_claim_has_lapsed() -> None:
    clock, lease_s = Clock(), 0.1
    async with (
        engines("wxy", lease_s=lease_s, clock=clock) as (engine, (web, x, y)),
        conversing(web.server) as one,
    ):
        id = await one.make("again")
        engine.submitted.clear()
        await abandoned(web, x, id, lease_s)
        y.work.gate.set()
        # The one delivery comes too early.
        await worker_of(y).run(id)
        clock.now += 2 * lease_s
        assert await one.text(id) == "word of y"


async def test_a_task_that_loses_each_worker_fails_in_the_end() -> None:
    clock = Clock()
    async with engines(clock=clock) as (_, (web, x)), conversing(web.server) as one:
        id = await one.make("again")
        for _attempt in range(3):
            await abandoned(web, x, id)
            clock.now += LEASE_S + 1
        failed = await one.look(id)
        assert failed["status"] == "failed"
        assert failed["statusMessage"] == "the task has lost its worker 3 times"


async def test_the_result_of_a_worker_that_lost_its_claim_is_refused() -> None:
    clock = Clock()
    async with engines("wxy", clock=clock) as (engine, (web, x, y)), conversing(web.server) as one:
        id = await one.make("again")
        engine.submitted.clear()
        running = asyncio.ensure_future(worker_of(x).run(id))
        await until(lambda: x.work.began)
        clock.now += LEASE_S + 1
        async with worker(y):
            assert await one.status(id) == "working"
            await until(lambda: len(x.work.began) == 2)
            late = manager_of(x).running[id]
            assert not await late.change(message="from the late worker")
            x.work.gate.set()
            assert await one.text(id) == "word of y"
        await running


async def test_a_worker_renews_its_claim_while_the_task_runs() -> None:
    async with engines(lease_s=0.1) as (_, (web, x)), conversing(web.server) as one, worker(x):
        id = await one.make("slow")
        await until(lambda: x.work.began)
        await claim_is_over(web, id)
        assert await one.status(id) == "working"
        x.work.gate.set()
        assert await one.text(id) == "word of x"


async def test_a_worker_that_stops_hands_back_what_may_run_again_and_fails_the_rest() -> None:
    async with engines() as (engine, (web, x)), conversing(web.server) as one:
        again, once = await one.make("again"), await one.make("slow")
        async with worker(x, drain_s=0.01):
            await until(lambda: len(x.work.began) == 2)
        assert engine.submitted == [again]
        assert await one.status(again) == "working"
        assert (await one.look(once))["status"] == "failed"


async def test_a_worker_that_stops_lets_running_tasks_end() -> None:
    async with engines() as (_, (web, x)), conversing(web.server) as one:
        async with worker(x) as running:
            id = await one.make("slow")
            await until(lambda: x.work.began)
            running.stop()
            x.work.gate.set()
        assert await one.text(id) == "word of x"


async def test_a_call_fails_if_the_engine_cannot_be_reached_and_leaves_no_task() -> None:
    async with engines("w") as (engine, (web,)), conversing(web.server) as one:
        engine.is_down = True
        refused = await one.call("slow", task={})
        assert refused["message"] == "no worker can be reached; try again later"
        assert (await one.ask("tasks/list"))["tasks"] == []
        engine.is_down = False
        assert await one.make("slow")


async def test_without_a_cluster_tasks_run_in_the_process() -> None:
    engine, work = MemoryEngine(), Work()
    work.gate.set()
    async with conversing(working(work, "alone", Tasks(engine=engine))) as one:
        id = await one.make("slow")
        assert await one.text(id) == "word of alone"
        assert engine.history == []
