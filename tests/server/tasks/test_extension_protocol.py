"""Tasks at 2026-07-28: clients with the extension get them by the server's decision."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_gen import Context, McpError, Server, Tasks
from mcp_gen.core.stores.tasks import MemoryTaskStore, StoredTask
from mcp_wire.extensions.tasks import EXTENSION, ToClientHooks
from tests.server.tasks.raw_client import (
    CORE,
    DECLARED,
    DIRECTED,
    Conversation,
    conversing,
    directed,
)
from tests.support.frames import encoded
from tests.support.loop import until
from tests.support.peers.answering import EVERYTHING
from tests.support.peers.raw import WAIT_S

INVALID_PARAMS, METHOD_NOT_FOUND, MISSING = -32602, -32601, -32021
SOON = Tasks(grace_s=0.001)
"""Options by which every call that awaits becomes a task."""


def a_server(tasks: Tasks = SOON) -> tuple[Server, asyncio.Event]:
    """Return a server with a tool of each kind; the event ends `work`."""
    server, go = Server("tasks", tasks=tasks), asyncio.Event()

    @server.tool(task="optional")
    async def work(label: str = "it") -> str:
        await go.wait()
        return f"{label} is done"

    @server.tool(task="required")
    async def only() -> str:
        return "as a task"

    @server.tool
    async def plain() -> str:
        await asyncio.sleep(0.002)
        return "at once"

    @server.tool(task="required")
    async def breaks() -> str:
        raise ValueError("no such luck")

    @server.tool(task="required")
    async def refuses() -> str:
        raise McpError(-7, "not today", {"until": "tomorrow"})

    return server, go


async def test_a_server_with_task_tools_declares_the_extension() -> None:
    server, _ = a_server()
    async with directed(server) as client:
        declared = (await client.ask("server/discover"))["capabilities"]
        assert declared["extensions"] == {EXTENSION.identifier: {}}
        assert "tasks" not in declared


async def test_a_server_without_does_not() -> None:
    server = Server("plain", declare=["tools"])
    async with directed(server) as client:
        declared = (await client.ask("server/discover"))["capabilities"]
        assert "extensions" not in declared
        assert (await client.ask("tasks/get", taskId="x"))["code"] == METHOD_NOT_FOUND


async def test_a_tool_says_nothing_of_how_it_runs() -> None:
    server, _ = a_server()
    async with directed(server) as client:
        tools = (await client.ask("tools/list"))["tools"]
        assert all("execution" not in tool for tool in tools)


async def test_a_call_that_takes_time_is_answered_with_a_task() -> None:
    server, go = a_server(Tasks(grace_s=0.001, ttl_s=60, poll_interval_s=2.5))
    async with directed(server) as client:
        made = await client.call("work")
        assert (made["resultType"], made["status"]) == ("task", "working")
        assert (made["ttlMs"], made["pollIntervalMs"]) == (60_000, 2500)
        assert len(made["taskId"]) >= 22
        assert not {"task", "result", "error", "inputRequests", "requestState"} & made.keys()
        task = await client.look(made["taskId"])
        assert {**made, "resultType": "complete"} == task
        go.set()
        task = await client.standing(made["taskId"], "completed")
        assert task["result"]["content"] == [{"type": "text", "text": "it is done"}]
        assert "_meta" not in task["result"]


async def test_a_call_that_takes_no_time_is_answered_with_its_result() -> None:
    server, go = a_server(Tasks(grace_s=10))
    go.set()
    async with directed(server) as client:
        assert (await client.call("work"))["content"][0]["text"] == "it is done"
        assert server.tasks is not None
        assert server.tasks.running == {}


async def test_a_call_that_fails_at_once_is_answered_with_its_error() -> None:
    server = Server("tasks", tasks=Tasks(grace_s=10))

    @server.tool(task="optional")
    async def refuses() -> str:
        raise McpError(-7, "not today")

    async with directed(server) as client:
        assert await client.call("refuses") == {"code": -7, "message": "not today"}


async def test_a_tool_that_only_runs_as_a_task_always_does() -> None:
    server, _ = a_server()
    async with directed(server) as client:
        task = await client.standing(await client.begin("only"), "completed")
        assert task["result"]["content"][0]["text"] == "as a task"


async def test_a_client_that_knows_of_no_tasks_gets_none() -> None:
    server, go = a_server()
    go.set()
    async with directed(server, EVERYTHING) as client:
        assert (await client.call("work"))["resultType"] == "complete"
        error = await client.call("only")
        assert error["code"] == MISSING
        required = {"extensions": {EXTENSION.identifier: {}}}
        assert error["data"] == {"requiredCapabilities": required}


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_who_has_not_declared_the_extension_asks_in_vain(method: str) -> None:
    server, _ = a_server()
    async with directed(server, EVERYTHING) as client:
        assert (await client.ask(method, taskId="x", inputResponses={}))["code"] == MISSING


async def test_the_wish_of_another_revision_is_ignored() -> None:
    server, _ = a_server()
    async with directed(server) as client:
        assert (await client.call("plain", task={"ttl": 1}))["resultType"] == "complete"


async def test_a_task_of_another_revision_takes_no_responses() -> None:
    server, go = a_server()
    async with conversing(server, CORE, last=False) as core, directed(server) as client:
        id = await core.make("work")
        ack = await client.ask("tasks/update", taskId=id, inputResponses={"key": {"roots": []}})
        assert ack["resultType"] == "complete"
        go.set()
        assert await core.text(id) == "it is done"


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result"])
async def test_what_was_asked_at_another_revision_is_not_known(method: str) -> None:
    server, _ = a_server()
    async with directed(server) as client:
        assert (await client.ask(method, taskId="x"))["code"] == METHOD_NOT_FOUND


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_an_unknown_task_is_an_error(method: str) -> None:
    server, _ = a_server()
    async with directed(server) as client:
        error = await client.ask(method, taskId="x", inputResponses={})
        assert error["code"] == INVALID_PARAMS


async def test_a_tool_that_fails_completes_its_task() -> None:
    server, _ = a_server()
    async with directed(server) as client:
        task = await client.standing(await client.begin("breaks"), "completed")
        assert task["result"]["isError"] is True
        assert "error" not in task


async def test_an_error_of_the_protocol_fails_the_task() -> None:
    server, _ = a_server()
    async with directed(server) as client:
        task = await client.standing(await client.begin("refuses"), "failed")
        assert task["error"] == {"code": -7, "message": "not today", "data": {"until": "tomorrow"}}
        assert (task["statusMessage"], "result" in task) == ("not today", False)


async def test_a_cancelled_task_is_acknowledged_and_may_be_cancelled_again() -> None:
    server, _ = a_server()
    async with directed(server) as client:
        id = await client.begin("work")
        for _ in range(2):
            ack = await client.ask("tasks/cancel", taskId=id)
            assert ack.keys() == {"resultType", "_meta"}
            assert (await client.look(id))["status"] == "cancelled"


async def test_a_task_that_is_over_stays_as_it_is() -> None:
    server, go = a_server()
    async with directed(server) as client:
        id = await client.begin("work")
        go.set()
        await client.standing(id, "completed")
        assert "code" not in await client.ask("tasks/cancel", taskId=id)
        assert (await client.look(id))["status"] == "completed"


async def test_a_call_that_is_cancelled_before_it_is_a_task_is_stopped() -> None:
    server = Server("tasks", tasks=Tasks(grace_s=30))
    ended, began = asyncio.Event(), asyncio.Event()

    @server.tool(task="optional")
    async def forever() -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with directed(server) as client:
        call = client.send("tools/call", name="forever", arguments={})
        await began.wait()
        client.client.send(client.client.speaker.cancel(call))
        await ended.wait()


async def test_a_call_that_was_answered_with_a_task_cannot_be_cancelled() -> None:
    server, go = a_server()
    async with directed(server) as client:
        id = await client.begin("work")
        client.client.send(client.client.speaker.cancel(1))
        assert (await client.look(id))["status"] == "working"
        go.set()
        await client.standing(id, "completed")


async def test_progress_is_how_the_task_stands_and_nothing_is_sent() -> None:
    server, go, reported = Server("tasks", tasks=SOON), asyncio.Event(), asyncio.Event()

    @server.tool(task="required")
    async def work(ctx: Context) -> str:
        await asyncio.sleep(0.01)
        await ctx.report_progress(1, 2, "half-way")
        await ctx.log("error", "so far")
        reported.set()
        await go.wait()
        return ""

    async with directed(server) as client:
        meta = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
        made = await client.ask("tools/call", name="work", arguments={}, _meta=meta)
        await reported.wait()
        assert (await client.look(made["taskId"]))["statusMessage"] == "half-way"
        go.set()
        await client.standing(made["taskId"], "completed")
        assert client.client.came == []


LIMIT = 3
"""Progress reports per second, in the tests of the limit."""


class Reporting:
    """Server whose task reports on demand, and a clock that stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, limit: float | None = LIMIT) -> None:
        self.now_s = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now_s)
        monkeypatch.setattr("mcp_gen.server.context.rate_limit.time", clock)
        self.server = Server("tasks", tasks=SOON, max_progress_per_s=limit)
        self.reports: asyncio.Queue[tuple[float, float | None, str] | None] = asyncio.Queue()

        @self.server.tool(task="required")
        async def work(ctx: Context) -> str:
            while (report := await self.reports.get()) is not None:
                await ctx.report_progress(*report)
                self.reports.task_done()
            return "done"

    async def report(self, *messages: str, total: float | None = None) -> None:
        """Let the task report each message as a step of its work."""
        for number, message in enumerate(messages, 1):
            self.reports.put_nowait((number, total, message))
        async with asyncio.timeout(WAIT_S):
            await self.reports.join()


async def heard_of(client: Conversation, id: str) -> list[str]:
    """Return the status messages that a listening client was sent, after what is sent now."""
    await client.look(id)
    told = [one for one in client.client.came if one.get("method") == "notifications/tasks"]
    return [one["params"]["statusMessage"] for one in told]


async def listening(client: Conversation, id: str) -> None:
    client.send("subscriptions/listen", notifications={"taskIds": [id]})
    await client.told("notifications/subscriptions/acknowledged")


@pytest.mark.parametrize("count", [LIMIT - 1, LIMIT, LIMIT + 1, 50 * LIMIT])
async def test_reports_beyond_the_limit_change_no_task_and_are_not_told(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reporting = Reporting(monkeypatch)
    async with directed(reporting.server) as client:
        id = await client.begin("work")
        await listening(client, id)
        said = [f"step {number}" for number in range(1, count + 1)]
        await reporting.report(*said)
        assert (await client.look(id))["statusMessage"] == said[:LIMIT][-1]
        assert await heard_of(client, id) == said[:LIMIT]


async def test_a_task_reports_again_as_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    reporting = Reporting(monkeypatch)
    async with directed(reporting.server) as client:
        id = await client.begin("work")
        await listening(client, id)
        await reporting.report("a", "b", "c", "too many")
        reporting.now_s += 1.01 / LIMIT
        await reporting.report("later", "too many")
        reporting.now_s += 100.0
        await reporting.report("d", "e", "f", "too many")
        assert await heard_of(client, id) == ["a", "b", "c", "later", "d", "e", "f"]


async def test_the_last_report_of_a_task_is_told_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reporting = Reporting(monkeypatch)
    async with directed(reporting.server) as client:
        id = await client.begin("work")
        await reporting.report("a", "b", "c", "too many", "last", total=5)
        assert (await client.look(id))["statusMessage"] == "last"


async def test_a_task_reports_as_often_as_it_likes_where_there_is_no_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reporting = Reporting(monkeypatch, None)
    async with directed(reporting.server) as client:
        id = await client.begin("work")
        await listening(client, id)
        said = [f"step {number}" for number in range(200)]
        await reporting.report(*said)
        assert await heard_of(client, id) == said


async def test_before_there_is_a_task_progress_belongs_to_the_call() -> None:
    server = Server("tasks", tasks=Tasks(grace_s=10))

    @server.tool(task="optional")
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "half-way")
        return ""

    async with directed(server) as client:
        await client.ask("tools/call", name="work", arguments={}, _meta={"progressToken": "p"})
        told = await client.told("notifications/progress")
        assert (told["progress"], told["message"]) == (1, "half-way")


async def test_a_listening_client_is_told_how_its_tasks_stand() -> None:
    server, go = a_server()
    async with directed(server) as client:
        id = await client.begin("work")
        wanted = {"notifications": {"taskIds": [id, "unknown", id]}}
        listening = client.send("subscriptions/listen", **wanted)
        agreed = await client.told("notifications/subscriptions/acknowledged")
        assert agreed["notifications"] == {"taskIds": [id]}
        go.set()
        told = await client.told("notifications/tasks")
        task = await client.look(id)
        for one in (told, task):
            one.pop("_meta")
        assert told == {key: value for key, value in task.items() if key != "resultType"}
        client.client.send(client.client.speaker.cancel(listening))


def hear_elsewhere(server: Server, id: str, began: threading.Event) -> Any:
    """Return what a client on an event loop of its own is told of a task."""

    async def hear() -> Any:
        async with directed(server, last=False) as client:
            await listening(client, id)
            began.set()
            return await client.told("notifications/tasks")

    return asyncio.run(hear())


async def test_a_client_on_another_event_loop_is_told_how_a_task_stands() -> None:
    server, go = a_server()
    async with directed(server) as client:
        id, began = await client.begin("work"), threading.Event()
        told = asyncio.create_task(asyncio.to_thread(hear_elsewhere, server, id, began))
        assert await asyncio.to_thread(began.wait, WAIT_S)
        go.set()
        assert (await told)["status"] == "completed"


async def test_an_event_loop_that_was_closed_keeps_nobody_from_being_told() -> None:
    server, go = a_server()
    async with directed(server) as client:
        await client.begin("work")
        id, began = await client.begin("only"), threading.Event()
        await client.standing(id, "completed")
        await asyncio.to_thread(hear_elsewhere, server, id, began)
        other = await client.begin("work")
        await listening(client, other)
        go.set()
        assert (await client.told("notifications/tasks"))["status"] == "completed"


class LateStore(MemoryTaskStore):
    """Store that adds a task only after the task has reported."""

    def __init__(self) -> None:
        super().__init__()
        self.adding, self.reported = asyncio.Event(), asyncio.Event()

    async def add(self, task: StoredTask, now: float) -> bool:
        self.adding.set()
        await self.reported.wait()
        return await super().add(task, now)


async def test_what_a_task_reports_while_it_is_stored_is_not_lost() -> None:
    store, go = LateStore(), asyncio.Event()
    server = Server("tasks", tasks=Tasks(grace_s=0.001, store=store))

    @server.tool(task="required")
    async def work(ctx: Context) -> None:
        await store.adding.wait()
        await ctx.report_progress(1, 2, "half-way")
        store.reported.set()
        await go.wait()

    async with directed(server) as client:
        id = await client.begin("work")
        assert (await client.look(id))["statusMessage"] == "half-way"


async def test_a_client_that_listens_late_is_told_what_it_missed() -> None:
    server, go = a_server()
    async with directed(server) as client:
        id = await client.begin("work")
        go.set()
        await client.standing(id, "completed")
        listening = client.send("subscriptions/listen", notifications={"taskIds": [id]})
        assert (await client.told("notifications/tasks"))["status"] == "completed"
        client.client.send(client.client.speaker.cancel(listening))


async def test_who_has_not_declared_the_extension_cannot_listen_to_tasks() -> None:
    server, _ = a_server()
    async with directed(server, EVERYTHING) as client:
        error = await client.ask("subscriptions/listen", notifications={"taskIds": ["x"]})
        assert error["code"] == MISSING


async def test_hooks_see_what_listeners_are_told() -> None:
    server, go = a_server()
    seen: list[str] = []

    @ToClientHooks(server.hooks.outbound).on_task_status
    async def hear(ctx: Any, params: Any) -> None:
        seen.append(params.status)

    async with directed(server) as client:
        id = await client.begin("work")
        listening = client.send("subscriptions/listen", notifications={"taskIds": [id]})
        await client.told("notifications/subscriptions/acknowledged")
        go.set()
        await client.told("notifications/tasks")
        assert seen == ["completed"]
        client.client.send(client.client.speaker.cancel(listening))


async def test_a_task_of_the_one_protocol_is_read_and_cancelled_with_the_other() -> None:
    server, go = a_server()
    async with conversing(server, CORE) as core, directed(server) as other:
        first, second = await core.make("work"), await core.make("work")
        assert (await other.look(first))["status"] == "working"
        assert "code" not in await other.ask("tasks/cancel", taskId=second)
        assert await core.status(second) == "cancelled"
        third = await other.begin("work")
        assert await core.status(third) == "working"
        go.set()
        task = await other.standing(first, "completed")
        assert task["result"]["content"][0]["text"] == "it is done"
        assert "_meta" not in task["result"]
        assert await core.text(third) == "it is done"


async def test_a_task_that_waits_for_input_elsewhere_works_as_far_as_can_be_seen() -> None:
    server = Server("tasks", tasks=SOON)

    @server.tool(task="optional")
    async def roots(ctx: Context) -> int:
        return len(await ctx.list_roots())

    async with conversing(server, CORE) as core, directed(server) as other:
        id = await core.make("roots")
        asked = await core.came("roots/list")
        assert (await other.look(id))["status"] == "working"
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}}
        core.client.send(encoded(answer))
        task = await other.standing(id, "completed")
        assert task["result"]["content"][0]["text"] == "0"


async def test_a_task_outlives_the_connection_that_made_it() -> None:
    server, go = a_server()
    async with directed(server, last=False) as client:
        id = await client.begin("work")
    go.set()
    async with directed(server) as client:
        await client.standing(id, "completed")


async def test_a_thousand_tasks_run_at_once() -> None:
    server, go = a_server()
    async with directed(server) as client:
        sent = [client.send("tools/call", name="work", arguments={}) for _ in range(1000)]
        ids = {(await client.answer(one))["taskId"] for one in sent}
        assert server.tasks is not None
        assert ids == server.tasks.running.keys()
        go.set()
        await until(lambda: server.tasks and not server.tasks.running)
        for id in ids:
            assert (await client.look(id))["status"] == "completed"


async def test_a_full_store_is_an_error_and_stops_the_work() -> None:
    server, _ = a_server(Tasks(grace_s=0.001, max_tasks=1))
    async with directed(server) as client:
        await client.begin("work")
        assert "keeps no more tasks" in (await client.call("work"))["message"]
        await until(lambda: server.tasks and len(server.tasks.running) == 1)


def test_the_declared_capabilities_are_those_of_the_revision() -> None:
    assert DIRECTED in EXTENSION.revisions
    assert EXTENSION.identifier in DECLARED["extensions"]
