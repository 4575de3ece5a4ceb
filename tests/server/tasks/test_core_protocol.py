"""Tasks at 2025-11-25: created, polled, fetched, listed and cancelled."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from typing import Any

import pytest
from msgspec import Raw

import mcp_wire
from mcp_gen import Context, McpError, Server, Tasks, UsageError
from tests.server.tasks.raw_client import CORE, WITHOUT, conversing, related
from tests.support.frames import ALL
from tests.support.loop import until
from tests.support.peers.raw import talking

INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR = -32602, -32601, -32603


def a_server(**options: Any) -> tuple[Server, asyncio.Event]:
    """Return a server with a tool of each kind; the event ends `work`."""
    server, go = Server("tasks", **options), asyncio.Event()

    @server.tool(task="optional")
    async def work(label: str = "it") -> str:
        await go.wait()
        return f"{label} is done"

    @server.tool(task="required")
    async def only() -> str:
        return "as a task"

    @server.tool
    async def plain() -> str:
        return "at once"

    @server.tool(task="optional")
    async def breaks() -> str:
        raise ValueError("no such luck")

    @server.tool(task="optional")
    async def refuses() -> str:
        raise McpError(-7, "not today", {"until": "tomorrow"})

    return server, go


async def test_a_server_with_task_tools_declares_tasks() -> None:
    server, _ = a_server()
    async with talking(server, CORE, opened=False) as client:
        answer = await client.ask(client.speaker.initialize(1))
        declared = answer["result"]["capabilities"]["tasks"]
        assert declared == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}


@pytest.mark.parametrize("revision", [one for one in ALL if mcp_wire.profile(one).handshake])
async def test_nothing_is_declared_without_task_tools(revision: str) -> None:
    server = Server("plain")
    server.add_tool(lambda: "x", name="x", input_schema={"type": "object"})
    async with talking(server, revision, opened=False) as client:
        answer = await client.ask(client.speaker.initialize(1))
        assert "tasks" not in answer["result"]["capabilities"]


async def test_tasks_can_be_declared_before_there_is_a_tool() -> None:
    async with talking(Server("soon", declare=["tasks"]), CORE, opened=False) as client:
        answer = await client.ask(client.speaker.initialize(1))
        assert "tasks" in answer["result"]["capabilities"]


async def test_a_tool_says_how_it_runs() -> None:
    server, _ = a_server()
    async with conversing(server) as client:
        tools = (await client.ask("tools/list"))["tools"]
        said = {tool["name"]: tool.get("execution") for tool in tools}
        assert said["work"] == {"taskSupport": "optional"}
        assert said["only"] == {"taskSupport": "required"}
        assert said["plain"] is None


async def test_a_described_tool_may_say_it_itself() -> None:
    types: Any = mcp_wire.types(CORE)
    execution = types.ToolExecution(task_support="optional")
    tool = types.Tool(name="raw", input_schema={"type": "object"}, execution=execution)
    server = Server("raw")
    server.add_tool(tool, lambda ctx, arguments: "raw")
    async with conversing(server) as client:
        (listed,) = (await client.ask("tools/list"))["tools"]
        assert listed["execution"] == {"taskSupport": "optional"}
        assert await client.text(await client.make("raw")) == "raw"


async def test_a_task_is_answered_at_once_with_what_it_is() -> None:
    server, _ = a_server(tasks=Tasks(poll_interval_s=2.5))
    async with conversing(server) as client:
        made = await client.call("work", task={"ttl": 60_000})
        assert made.keys() == {"task"}
        task = made["task"]
        assert (task["status"], task["ttl"], task["pollInterval"]) == ("working", 60_000, 2500)
        assert task["createdAt"] == task["lastUpdatedAt"]
        assert datetime.fromisoformat(task["createdAt"]).tzinfo is not None
        assert len(task["taskId"]) >= 22  # 128 bits in base64
        assert await client.ask("tasks/get", taskId=task["taskId"]) == task


@pytest.mark.parametrize(
    ("wish", "given"), [(None, 30_000), (5_000, 5_000), (999_999, 90_000), (0, 30_000)]
)
async def test_the_time_that_a_client_wants_is_a_wish(wish: int | None, given: int) -> None:
    server, _ = a_server(tasks=Tasks(ttl_s=30, max_ttl_s=90))
    async with conversing(server) as client:
        made = await client.call("work", task={} if wish is None else {"ttl": wish})
        assert made["task"]["ttl"] == given


async def test_the_result_is_waited_for_and_names_its_task() -> None:
    server, go = a_server()
    async with conversing(server) as client:
        id = await client.make("work", label="bread")
        waiting = [client.send("tasks/result", taskId=id) for _ in range(3)]
        assert await client.status(id) == "working"
        go.set()
        for one in waiting:
            assert await client.answer(one) == {
                "content": [{"type": "text", "text": "bread is done"}],
                "_meta": related(id),
            }
        assert await client.status(id) == "completed"


async def test_a_waiting_request_may_be_cancelled_and_made_again() -> None:
    server, go = a_server()
    async with conversing(server) as client:
        id = await client.make("work")
        first = client.send("tasks/result", taskId=id)
        await client.status(id)
        client.client.send(client.client.speaker.cancel(first))
        again = client.send("tasks/result", taskId=id)
        go.set()
        assert "content" in await client.answer(again)
        assert [one for one in client.client.came if one.get("id") == first] == []


async def test_a_tool_that_fails_makes_its_task_fail_with_its_result() -> None:
    server, _ = a_server()
    async with conversing(server) as client:
        id = await client.make("breaks")
        result = await client.ask("tasks/result", taskId=id)
        assert (result["isError"], result["_meta"]) == (True, related(id))
        task = await client.ask("tasks/get", taskId=id)
        assert (task["status"], task["statusMessage"]) == ("failed", "no such luck")


async def test_an_error_of_the_protocol_is_the_answer_to_who_wants_the_result() -> None:
    server, _ = a_server()
    async with conversing(server) as client:
        id = await client.make("refuses")
        error = await client.ask("tasks/result", taskId=id)
        assert error == {"code": -7, "message": "not today", "data": {"until": "tomorrow"}}
        task = await client.ask("tasks/get", taskId=id)
        assert (task["status"], task["statusMessage"]) == ("failed", "not today")


async def test_what_was_cancelled_elsewhere_is_an_error_like_others() -> None:
    server = Server("tasks")

    @server.tool(task="required")
    async def waits() -> str:
        other = asyncio.get_running_loop().create_future()
        other.cancel()
        await other
        return ""

    async with conversing(server) as client:
        id = await client.make("waits")
        error = await client.ask("tasks/result", taskId=id)
        assert error == {"code": INTERNAL_ERROR, "message": "internal error"}


@pytest.mark.parametrize(("tool", "task"), [("plain", {}), ("only", None)])
async def test_a_tool_is_not_called_in_a_way_it_does_not_run(tool: str, task: Any) -> None:
    server, _ = a_server()
    async with conversing(server) as client:
        assert (await client.call(tool, task=task))["code"] == METHOD_NOT_FOUND


async def test_an_optional_tool_is_called_without_a_task_too() -> None:
    server, go = a_server()
    go.set()
    async with conversing(server) as client:
        assert "content" in await client.call("work")


async def test_a_server_without_tasks_ignores_the_wish() -> None:
    server = Server("plain")

    @server.tool
    async def plain() -> str:
        return "at once"

    async with conversing(server) as client:
        assert "content" in await client.call("plain", task={"ttl": 1})


async def test_a_session_that_was_told_of_no_tasks_gets_none() -> None:
    server = Server("later", declare=["tools"])
    async with conversing(server) as client:

        @server.tool(task="required")
        async def only() -> str:
            return "as ever"

        assert "content" in await client.call("only", task={})
        assert "content" in await client.call("only")


@pytest.mark.parametrize("revision", WITHOUT)
async def test_where_there_are_no_tasks_a_call_has_a_result(revision: str) -> None:
    server, go = a_server()
    go.set()
    async with conversing(server, revision) as client:
        for tool in ("work", "only"):
            assert (await client.call(tool, task={}))["content"]
        assert (await client.ask("tasks/get", taskId="x"))["code"] == METHOD_NOT_FOUND
        tools = (await client.ask("tools/list"))["tools"]
        assert all("execution" not in tool for tool in tools)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
async def test_an_unknown_task_is_an_error(method: str) -> None:
    server, _ = a_server()
    async with conversing(server) as client:
        assert (await client.ask(method, taskId="nobody's"))["code"] == INVALID_PARAMS


async def test_a_cancelled_task_is_told_and_stays_so() -> None:
    server, ended = Server("tasks"), asyncio.Event()

    @server.tool(task="optional")
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set()
        return "after all"

    async with conversing(server) as client:
        id = await client.make("stubborn")
        waiting = client.send("tasks/result", taskId=id)
        assert (await client.ask("tasks/cancel", taskId=id))["status"] == "cancelled"
        assert (await client.answer(waiting))["code"] == INVALID_PARAMS
        await ended.wait()
        assert await client.status(id) == "cancelled"
        assert (await client.ask("tasks/cancel", taskId=id))["code"] == INVALID_PARAMS


async def test_a_cancelled_task_that_does_not_end_is_over_for_its_client() -> None:
    server, began, go = Server("tasks"), asyncio.Event(), asyncio.Event()

    @server.tool(task="required")
    async def stubborn() -> None:
        began.set()
        try:
            await go.wait()
        finally:
            await go.wait()

    async with conversing(server) as client:
        id = await client.make("stubborn")
        await began.wait()
        result = client.send("tasks/result", taskId=id)
        assert (await client.ask("tasks/cancel", taskId=id))["status"] == "cancelled"
        assert "cancelled" in (await client.answer(result))["message"]
        assert (await client.ask("tasks/cancel", taskId=id))["code"] == INVALID_PARAMS
        go.set()


async def test_a_task_that_is_over_is_not_cancelled() -> None:
    server, go = a_server()
    go.set()
    async with conversing(server) as client:
        id = await client.make("work")
        await client.text(id)
        error = await client.ask("tasks/cancel", taskId=id)
        assert (error["code"], await client.status(id)) == (INVALID_PARAMS, "completed")


async def test_tasks_are_listed_in_pages() -> None:
    server, _ = a_server(page_size=2)
    async with conversing(server) as client:
        made = [await client.make("work") for _ in range(5)]
        listed: list[str] = []
        cursor: dict[str, str] = {}
        sizes: list[int] = []
        while True:
            page = await client.ask("tasks/list", **cursor)
            listed += [task["taskId"] for task in page["tasks"]]
            sizes.append(len(page["tasks"]))
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert (sorted(listed), sizes) == (sorted(made), [2, 2, 1])


@pytest.mark.parametrize("cursor", ["", "nonsense", "eyJhIjoxfQ=="])
async def test_a_cursor_from_elsewhere_is_an_error(cursor: str) -> None:
    server, _ = a_server()
    async with conversing(server) as client:
        assert (await client.ask("tasks/list", cursor=cursor))["code"] == INVALID_PARAMS


async def test_a_session_is_told_how_its_tasks_stand() -> None:
    server, go = a_server()
    async with conversing(server) as client:
        id = await client.make("work")
        go.set()
        told = await client.told("notifications/tasks/status")
        assert (told["taskId"], told["status"], "_meta" in told) == (id, "completed", False)


async def test_a_session_is_told_that_its_task_is_over_before_it_gets_the_result() -> None:
    server, go = a_server()
    async with conversing(server) as client:
        waiting = client.send("tasks/result", taskId=await client.make("work"))
        await client.ask("ping")
        go.set()
        assert (await client.client.next())["method"] == "notifications/tasks/status"
        assert (await client.client.next())["id"] == waiting


async def test_a_status_that_could_not_be_sent_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, go = a_server()

    @server.sending_middleware
    async def fail(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        if method == "notifications/tasks/status":
            raise ZeroDivisionError
        return await call_next(params)

    async with conversing(server) as client:
        id = await client.make("work")
        go.set()
        assert await client.text(id) == "it is done"
        await until(lambda: "a notification could not be sent" in caplog.text)


async def test_hooks_see_what_a_session_is_told_of_its_tasks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, go = a_server()
    seen: list[str] = []

    @server.hooks.outbound.on_task_status
    async def hear(ctx: Any, params: Any) -> None:
        seen.append(params.status)

    async with conversing(server) as client:
        await client.make("work")
        go.set()
        await client.told("notifications/tasks/status")
        assert seen == ["completed"]
    assert "could not be sent" not in caplog.text


async def test_progress_goes_on_until_the_end_and_names_the_task() -> None:
    server, go = Server("tasks"), asyncio.Event()

    @server.tool(task="optional")
    async def work(ctx: Context) -> str:
        await go.wait()
        await ctx.report_progress(1, 2)
        await ctx.log("error", "so far")
        return "done"

    async with conversing(server) as client:
        meta = {"progressToken": "p"}
        made = await client.ask("tools/call", name="work", task={}, _meta=meta)
        id = made["task"]["taskId"]
        go.set()
        assert await client.told("notifications/progress") == {
            "progressToken": "p",
            "progress": 1,
            "total": 2,
            "_meta": related(id),
        }
        assert (await client.told("notifications/message"))["_meta"] == related(id)


async def test_the_message_of_progress_is_what_the_task_says() -> None:
    server = Server("tasks")

    @server.tool(task="optional")
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "half-way")
        return "done"

    async with conversing(server) as client:
        id = await client.make("work")
        await client.text(id)
        assert (await client.ask("tasks/get", taskId=id))["statusMessage"] == "half-way"
        told = await client.told("notifications/tasks/status")
        assert (told["status"], client.client.came) == ("completed", [])


async def test_a_handler_tells_how_far_it_is() -> None:
    server, go = Server("tasks"), asyncio.Event()

    @server.tool(task="required")
    async def work(ctx: Context) -> str:
        assert ctx.task is not None
        await ctx.task.report("warming up")
        await go.wait()
        return f"{ctx.task.status_message}, {len(ctx.task.id)}"

    async with conversing(server) as client:
        id = await client.make("work")
        told = await client.told("notifications/tasks/status")
        assert (told["status"], told["statusMessage"]) == ("working", "warming up")
        assert (await client.ask("tasks/get", taskId=id))["statusMessage"] == "warming up"
        go.set()
        assert await client.text(id) == f"warming up, {len(id)}"


async def test_a_model_may_be_told_something_meanwhile() -> None:
    server = Server("tasks")

    @server.tool(task="required", immediate_message="it is being set")
    async def work() -> str:
        return "done"

    async with conversing(server) as client:
        made = await client.call("work", task={})
        assert made["_meta"] == {
            "io.modelcontextprotocol/model-immediate-response": "it is being set"
        }
        assert made["task"]["statusMessage"] == "it is being set"


async def test_what_a_program_logs_in_a_task_names_the_task() -> None:
    server, go = Server("tasks"), asyncio.Event()
    log = logging.getLogger("tests.tasks")
    handler = server.logs.handler()
    log.addHandler(handler)

    @server.tool(task="required")
    async def work() -> str:
        await go.wait()
        log.error("so far")
        return "done"

    try:
        async with conversing(server) as client:
            id = await client.make("work")
            go.set()
            told = await client.told("notifications/message")
            assert (told["data"], told["_meta"]) == ("so far", related(id))
    finally:
        log.removeHandler(handler)
        handler.close()


async def test_a_handler_in_a_thread_runs_as_a_task() -> None:
    server = Server("tasks")

    @server.tool(task="required")
    def work(ctx: Context) -> int:
        ctx.blocking.report("working hard")
        return 7

    async with conversing(server) as client:
        id = await client.make("work")
        result = await client.ask("tasks/result", taskId=id)
        assert result["structuredContent"] == {"result": 7}
        assert (await client.ask("tasks/get", taskId=id))["statusMessage"] == "working hard"


async def test_a_result_that_was_written_elsewhere_stays_as_it_is() -> None:
    server = Server("tasks")
    written = b'{"content":[],"isError":true,"_meta":{"x":1.50}}'

    class Written:
        json = Raw(written)

    @server.tool(task="required")
    async def work() -> Any:
        raise NotImplementedError

    async def call(ctx: Context, params: Any) -> Any:
        return Written()

    # A mounted server's response is such a result; here there is no mount.
    server.tools.call = call  # type: ignore[method-assign]
    async with conversing(server) as client:
        id = await client.make("work")
        result = await client.ask("tasks/result", taskId=id)
        assert result == {"content": [], "isError": True, "_meta": {"x": 1.5, **related(id)}}
        assert await client.status(id) == "failed"


async def test_hooks_see_the_task_as_the_result_of_the_call() -> None:
    server, go = a_server()
    go.set()
    seen: list[str] = []

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: Any, result: Any) -> None:
        seen.append(type(result).__name__)

    async with conversing(server) as client:
        assert await client.text(await client.make("work")) == "it is done"
        assert seen == ["CreateTaskResult"]


def test_a_tool_that_is_no_task_says_nothing_meanwhile() -> None:
    with pytest.raises(UsageError, match="immediate_message= is for tools that run as tasks"):
        Server("tasks").add_tool(lambda: "", name="x", immediate_message="wait")


def test_a_tool_cannot_run_in_another_way() -> None:
    with pytest.raises(UsageError, match='expected "optional", "required" or None'):
        Server("tasks").add_tool(lambda: "", name="x", task="sometimes")  # type: ignore[call-overload]


@pytest.mark.parametrize("wrong", [{"ttl_s": 0}, {"max_running": 0}, {"grace_s": -1}])
def test_what_cannot_be_meant_is_an_error(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Tasks(**wrong)  # type: ignore[arg-type]
