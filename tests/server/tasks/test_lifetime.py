"""Tasks outlive connections, but not their `ttl` or their server."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_gen import Context, Server, Tasks
from mcp_gen.core.stores.tasks import MemoryTaskStore, StoredTask
from mcp_gen.transports.memory import memory_pair
from tests.server.tasks.raw_client import CORE, conversing, directed
from tests.support.loop import until
from tests.support.peers.raw import talking

INVALID_PARAMS = -32602
WAIT_S = 10.0


class Clock:
    """Clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def waiting(server: Server) -> asyncio.Event:
    """Add a tool that awaits the result of this function."""
    go = asyncio.Event()

    @server.tool(task="optional")
    async def work(label: str = "it") -> str:
        await go.wait()
        return f"{label} is done"

    return go


async def test_a_task_is_read_on_another_connection_after_the_first_was_killed() -> None:
    server = Server("tasks")
    go = waiting(server)
    ours, theirs = memory_pair()
    serving = asyncio.create_task(server.serve(theirs))
    async with talking(server, CORE) as first:
        made = await first.ask(
            first.speaker.request(1, "tools/call", {"name": "work", "task": {}, "arguments": {}})
        )
    serving.cancel()
    await asyncio.wait([serving])
    await ours.aclose()
    async with conversing(server) as second:
        id = made["result"]["task"]["taskId"]
        assert await second.status(id) == "working"
        result = second.send("tasks/result", taskId=id)
        go.set()
        assert (await second.answer(result))["content"][0]["text"] == "it is done"


async def test_the_session_that_asks_is_the_one_that_is_told() -> None:
    server = Server("tasks")
    go = waiting(server)
    async with conversing(server, last=False) as first:
        id = await first.make("work")
    async with conversing(server) as second:
        await second.status(id)
        go.set()
        assert (await second.told("notifications/tasks/status"))["status"] == "completed"


async def test_a_thousand_tasks_run_at_once() -> None:
    server = Server("tasks")
    go = waiting(server)
    async with conversing(server) as client:
        sent = [
            client.send("tools/call", name="work", arguments={"label": str(n)}, task={})
            for n in range(1000)
        ]
        ids = [(await client.answer(one))["task"]["taskId"] for one in sent]
        assert server.tasks is not None
        assert len(server.tasks.running) == 1000
        asked = [client.send("tasks/result", taskId=id) for id in ids]
        go.set()
        texts = [(await client.answer(one))["content"][0]["text"] for one in asked]
        assert texts == [f"{n} is done" for n in range(1000)]
        assert server.tasks.running == {}


async def test_expired_tasks_are_gone() -> None:
    clock, store = Clock(), MemoryTaskStore()
    server = Server("tasks", tasks=Tasks(ttl_s=10, clock=clock, store=store))
    go = waiting(server)
    go.set()
    async with conversing(server) as client:
        ids = [await client.make("work") for _ in range(3)]
        for id in ids:
            await client.text(id)
        clock.now += 11
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert (await client.ask(method, taskId=ids[0]))["code"] == INVALID_PARAMS
        assert (await client.ask("tasks/list"))["tasks"] == []
        assert server.tasks is not None
        await server.tasks.sweep()
        assert len(store) == 0


async def test_a_task_whose_time_is_over_is_stopped() -> None:
    clock, ended = Clock(), asyncio.Event()
    server = Server("tasks", tasks=Tasks(ttl_s=10, clock=clock))

    @server.tool(task="required")
    async def forever() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with conversing(server) as client:
        id = await client.make("forever")
        result = client.send("tasks/result", taskId=id)
        await client.status(id)
        clock.now += 11
        assert server.tasks is not None
        await server.tasks.sweep()
        await ended.wait()
        assert (await client.answer(result))["code"] == INVALID_PARAMS


async def test_expiry_happens_by_itself() -> None:
    store = MemoryTaskStore()
    server = Server("tasks", tasks=Tasks(ttl_s=0.01, store=store))
    waiting(server)
    async with conversing(server) as client:
        await client.make("work")
        await until(lambda: len(store) == 0)


async def test_nothing_is_left_of_tasks_that_a_full_store_has_replaced() -> None:
    server = Server("tasks", tasks=Tasks(max_tasks=5))
    waiting(server).set()
    async with conversing(server) as client:
        for _ in range(300):
            await client.text(await client.make("work"))
        assert server.tasks is not None
        assert len(server.tasks.expiry) < 150


async def test_one_client_has_no_more_than_its_share() -> None:
    server = Server("tasks", tasks=Tasks(max_running=2))
    go = waiting(server)
    async with conversing(server, last=False) as client:
        ids = [await client.make("work") for _ in range(2)]
        refused = await client.call("work", task={})
        assert "too many tasks" in refused["message"]
        async with conversing(server, last=False) as other:
            await other.make("work")
        go.set()
        await client.text(ids[0])
        await client.text(ids[1])
        await client.make("work")
    await server.aclose()


async def test_a_full_store_is_an_error() -> None:
    server = Server("tasks", tasks=Tasks(max_tasks=1))
    waiting(server)
    async with conversing(server) as client:
        await client.make("work")
        refused = await client.call("work", task={})
        assert "keeps no more tasks" in refused["message"]


async def test_a_server_that_is_closed_ends_its_tasks() -> None:
    server, ended = Server("tasks"), asyncio.Event()

    @server.tool(task="required")
    async def forever() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with conversing(server, last=False) as client:
        id = await client.make("forever")
        await client.status(id)
    assert not ended.is_set()
    await server.aclose()
    assert ended.is_set()
    async with conversing(server) as client:
        error = await client.ask("tasks/result", taskId=id)
        assert error["message"] == "the server has ended"


async def test_a_task_that_will_not_end_does_not_keep_its_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp_gen.server.tasks.manager.CLOSE_S", 0.01)
    server, go = Server("tasks"), asyncio.Event()

    @server.tool(task="required")
    async def stubborn() -> str:
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        return ""

    async with conversing(server, last=False) as client:
        id = await client.make("stubborn")
        await client.status(id)
    with caplog.at_level(logging.WARNING):
        await server.aclose()
    assert "1 tasks did not end with their server" in caplog.text
    go.set()
    assert server.tasks is not None
    await until(lambda: not server.tasks or not server.tasks.running)


async def test_what_the_server_has_set_up_stays_while_a_task_needs_it() -> None:
    said: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        said.append("up")
        yield "a pool"
        said.append("down")

    server, go = Server("tasks", lifespan=lifespan), asyncio.Event()

    @server.tool(task="required")
    async def work(ctx: Context) -> str:
        await go.wait()
        return str(ctx.lifespan)

    async with conversing(server, last=False) as client:
        id = await client.make("work")
        await client.status(id)
    assert said == ["up"]
    go.set()
    await until(lambda: said == ["up", "down"])
    async with conversing(server) as client:
        assert await client.text(id) == "a pool"


async def test_a_task_that_another_process_ended_is_stopped_here() -> None:
    store = MemoryTaskStore()
    here = Server("tasks", tasks=Tasks(store=store))
    there = Server("tasks", tasks=Tasks(store=store, poll_interval_s=0.001))
    waiting(here)
    waiting(there)
    async with conversing(here) as client, conversing(there) as other:
        id = await client.make("work")
        assert await other.status(id) == "working"
        result: Any = other.send("tasks/result", taskId=id)
        assert (await other.ask("tasks/cancel", taskId=id))["status"] == "cancelled"
        assert "cancelled" in (await other.answer(result))["message"]
        assert await client.status(id) == "cancelled"
        assert here.tasks is not None
        await until(lambda: here.tasks and not here.tasks.running)


async def test_a_task_that_runs_in_another_process_is_waited_for() -> None:
    store = MemoryTaskStore()
    here = Server("tasks", tasks=Tasks(store=store))
    there = Server("tasks", tasks=Tasks(store=store, poll_interval_s=0.001))
    go = waiting(here)
    waiting(there)
    async with conversing(here) as client, conversing(there) as other:
        id = await client.make("work")
        result = other.send("tasks/result", taskId=id)
        assert await other.status(id) == "working"
        go.set()
        assert (await other.answer(result))["content"][0]["text"] == "it is done"


async def test_who_answers_a_task_that_runs_in_another_process_is_told_to_go_there() -> None:
    store = MemoryTaskStore()
    here, there = (Server("tasks", tasks=Tasks(grace_s=0, store=store)) for _ in range(2))
    go = waiting(here)
    waiting(there)
    async with directed(here) as client, directed(there) as other:
        id = await client.begin("work")
        refused = await other.ask("tasks/update", taskId=id, inputResponses={})
        assert "the task runs in another process" in refused["message"]
        go.set()
        await client.standing(id, "completed")
        ack = await other.ask("tasks/update", taskId=id, inputResponses={})
        assert ack["resultType"] == "complete"


class FarStore(MemoryTaskStore):
    """Store with delays, and a settable number of failures."""

    failures = 0

    async def add(self, task: StoredTask, now: float) -> bool:
        await asyncio.sleep(0)
        return await super().add(task, now)

    async def save(self, task: StoredTask) -> bool:
        self._work()
        return await super().save(task)

    async def forget(self, id: str) -> None:
        self._work()
        await super().forget(id)

    def _work(self) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("the store is down")


async def test_tasks_that_are_made_together_are_no_more_than_a_clients_share() -> None:
    server = Server("tasks", tasks=Tasks(max_running=2, store=FarStore()))
    waiting(server)
    async with conversing(server) as client:
        sent = [client.send("tools/call", name="work", arguments={}, task={}) for _ in range(5)]
        answers = [await client.answer(one) for one in sent]
        assert ["task" in one for one in answers] == [True, True, False, False, False]


async def test_what_came_of_a_task_is_written_down_when_the_store_is_there_again() -> None:
    store = FarStore()
    server = Server("tasks", tasks=Tasks(store=store, poll_interval_s=0.001))
    go = waiting(server)
    async with conversing(server) as client:
        id = await client.make("work")
        store.failures = 2
        go.set()
        assert await client.text(id) == "it is done"


async def test_a_task_whose_time_is_over_is_stopped_although_its_store_fails() -> None:
    store, clock = FarStore(), Clock()
    server = Server("tasks", tasks=Tasks(ttl_s=10, store=store, clock=clock, poll_interval_s=0.001))
    waiting(server)
    async with conversing(server) as client:
        await client.make("work")
        tasks = server.tasks
        assert tasks is not None
        clock.now += 11
        store.failures = 1000
        await tasks.sweep()
        await until(lambda: not tasks.running)


def test_a_task_of_another_loop_is_cancelled_with_its_server() -> None:
    server = Server("tasks")
    cancelled = threading.Event()

    @server.tool(task="optional")
    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def begin() -> None:
        async with talking(server, CORE) as client:
            params = {"name": "work", "task": {}, "arguments": {}}
            await client.ask(client.speaker.request(1, "tools/call", params))

    loop = asyncio.new_event_loop()
    # Then a call that is not for other threads raises.
    loop.set_debug(True)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(begin(), loop).result(WAIT_S)
        asyncio.run(server.aclose())
        assert cancelled.wait(WAIT_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT_S)
        loop.close()


def test_a_task_of_a_loop_that_is_closed_is_not_waited_for() -> None:
    server = Server("tasks")
    waiting(server)

    async def begin() -> None:
        async with talking(server, CORE) as client:
            params = {"name": "work", "task": {}, "arguments": {}}
            await client.ask(client.speaker.request(1, "tools/call", params))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    asyncio.run(server.aclose())
