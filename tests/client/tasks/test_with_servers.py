"""Tasks of real servers: the same programs over every protocol and transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import (
    Accepted,
    Client,
    ClientManager,
    ClientSession,
    Context,
    McpError,
    Server,
    TaskCancelled,
    TaskGone,
    Tasks,
    ToolError,
    UsageError,
    text_of,
)
from mcp_wire import latest
from mcp_wire.extensions.tasks import TaskSubscriptionNotifications
from tests.support.http.loopback import serving

CORE = next(one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).tasks == "core")
DIRECTED = next(one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).tasks == "extension")
WAIT_S = 90.0
"""Limit of a whole session, in seconds: a thousand tasks take long on a slow machine."""


@dataclass
class Named:
    name: str


class Work:
    """Server whose tools run as tasks, and can be held."""

    def __init__(self, poll_interval_s: float = 0.05) -> None:
        options = Tasks(poll_interval_s=poll_interval_s, grace_s=0.001)
        self.server = Server("work", "1.0.0", tasks=options)
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()
        self.running = asyncio.Semaphore(0)
        """Released once by each call of `work` that has begun."""
        self.cancelled = asyncio.Event()
        self.followed = asyncio.Event()
        """Set by the first request about a task: its client knows the id."""
        self.server.add_middleware(self._see)
        self.server.tool(task="required")(self.work)
        self.server.tool(task="required")(self.ask)
        self.server.tool(task="required")(self.fail)
        self.server.tool(task="optional")(self.count)

    async def _see(self, ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        if method.startswith("tasks/"):
            self.followed.set()
        return await call_next(params)

    async def work(self, label: str = "it") -> str:
        self.begun.set()
        self.running.release()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return f"{label} is done"

    async def ask(self, ctx: Context) -> str:
        match await ctx.elicit("Name?", Named):
            case Accepted(content=Named(name)):
                told = await ctx.sample("Greet", max_tokens=10)
                return f"{text_of(told)}, {name}"
            case _:
                return "nobody"

    async def fail(self) -> str:
        raise ToolError("no luck")

    async def count(self, ctx: Context) -> int:
        for step in (1, 2):
            await ctx.report_progress(step, 2)
        return 7


@asynccontextmanager
async def over_memory(work: Work) -> AsyncGenerator[Any]:
    yield work.server
    await work.server.aclose()


@asynccontextmanager
async def over_http(work: Work) -> AsyncGenerator[Any]:
    async with serving(work.server.asgi()) as web:
        yield web.url
    await work.server.aclose()


Way = Callable[[Work], AbstractAsyncContextManager[Any]]
WAYS = [over_memory, over_http]
everywhere = pytest.mark.parametrize(
    ("way", "revision"),
    [
        pytest.param(way, one, id=f"{way.__name__}-{one}")
        for way in WAYS
        for one in (CORE, DIRECTED)
    ],
)


def fill_in(session: ClientSession, params: latest.ElicitRequestFormParams) -> dict[str, Any]:
    return dict.fromkeys(params.requested_schema.properties, "Ada")


def say(session: ClientSession, params: Any) -> latest.CreateMessageResult:
    content = latest.TextContent(text="Hello")
    return latest.CreateMessageResult(role="assistant", content=content, model="m")


@asynccontextmanager
async def connected(
    way: Way, revision: str, work: Work, **options: Any
) -> AsyncGenerator[ClientSession]:
    async with way(work) as target, Client("c", tasks=True, **options) as client:
        async with asyncio.timeout(WAIT_S):
            yield await client.connect(target, revision=revision)


@everywhere
async def test_a_call_simply_awaits_what_comes_of_its_task(way: Way, revision: str) -> None:
    work = Work()
    async with connected(way, revision, work) as session:
        calling = asyncio.create_task(session.call_tool("work", {"label": "that"}))
        await work.begun.wait()
        await session.list_tools()
        work.go_on.set()
        assert text_of(await calling) == "that is done"


@everywhere
async def test_what_a_task_asks_is_answered_by_the_program(way: Way, revision: str) -> None:
    async with connected(way, revision, Work(), elicitation=fill_in, sampling=say) as session:
        assert text_of(await session.call_tool("ask", {})) == "Hello, Ada"


@everywhere
async def test_a_value_comes_of_a_task_that_was_wished_for(way: Way, revision: str) -> None:
    async with connected(way, revision, Work()) as session:
        assert await session.call_tool("count", {}, task=True, returns=int) == 7


@pytest.mark.parametrize("way", WAYS)
async def test_progress_is_told_while_a_task_runs(way: Way) -> None:
    told: list[float] = []
    async with connected(way, CORE, Work()) as session:
        await session.call_tool(
            "count", {}, task=True, progress=lambda done, total, message: told.append(done)
        )
    assert told == [1, 2]


@everywhere
async def test_a_tool_that_fails_as_a_task_has_failed(way: Way, revision: str) -> None:
    async with connected(way, revision, Work()) as session:
        result = await session.call_tool("fail", {})
        with pytest.raises(ToolError, match="no luck"):
            await session.call_tool("fail", {}, returns=str)
    assert (result.is_error, text_of(result)) == (True, "no luck")


@everywhere
async def test_arguments_that_do_not_fit_are_refused_as_ever(way: Way, revision: str) -> None:
    async with connected(way, revision, Work()) as session:
        result = await session.call_tool("work", {"label": 7})
    assert result.is_error


@everywhere
async def test_cancelling_whoever_waits_ends_the_work(way: Way, revision: str) -> None:
    work = Work()
    async with connected(way, revision, work) as session:
        calling = asyncio.create_task(session.call_tool("work", {}))
        # Over HTTP, whoever hangs up while the answer is on its way never learns the task's id.
        await work.followed.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await work.cancelled.wait()


@everywhere
async def test_a_task_is_followed_and_called_off(way: Way, revision: str) -> None:
    work = Work()
    async with connected(way, revision, work) as session:
        task = await session.start_tool("work", {})
        followed = [state.status async for state in _called_off(task)]
        with pytest.raises(TaskCancelled):
            await task.result()
        await work.cancelled.wait()
    assert followed == ["working", "cancelled"]


async def _called_off(task: Any) -> AsyncGenerator[Any]:
    async for state in task:
        yield state
        await task.cancel()


@pytest.mark.parametrize("revision", [CORE, DIRECTED])
async def test_a_task_is_finished_and_read_after_its_client_was_killed(revision: str) -> None:
    # Over HTTP without principals a session owns no tasks: any client with the id may poll.
    work = Work()
    async with over_http(work) as url:
        async with Client("first", tasks=True) as first:
            begun = await (await first.connect(url, revision=revision)).start_tool("work", {})
            await work.begun.wait()
        work.go_on.set()
        async with Client("second", tasks=True) as second, asyncio.timeout(WAIT_S):
            session = await second.connect(url, revision=revision)
            assert text_of(await session.task(begun.id or "").result()) == "it is done"


@pytest.mark.parametrize("way", WAYS)
async def test_whoever_listens_to_a_task_need_not_ask(way: Way) -> None:
    work = Work(poll_interval_s=60)
    async with connected(way, DIRECTED, work) as session:
        task = await session.start_tool("work", {})
        heard = TaskSubscriptionNotifications(task_ids=[task.id or ""])
        async with session.watch(also=[heard]):
            following = asyncio.create_task(task.result())
            await session.list_tools()
            work.go_on.set()
            assert text_of(await following) == "it is done"


@everywhere
async def test_a_task_that_never_was_is_told_apart(way: Way, revision: str) -> None:
    async with connected(way, revision, Work()) as session:
        with pytest.raises(TaskGone):
            await session.task("nope").result()


@pytest.mark.parametrize("way", WAYS)
async def test_the_tasks_of_a_session_are_listed(way: Way) -> None:
    work = Work()
    async with connected(way, CORE, work) as session:
        begun = [await session.start_tool("work", {}) for _ in range(3)]
        listed = [task async for task in session.tasks()]
    assert [(one.id, one.status) for one in listed] == [(one.id, "working") for one in begun]


@everywhere
async def test_a_thousand_tasks_run_at_once(way: Way, revision: str) -> None:
    work = Work()
    number = 1000 if way is over_memory else 100
    async with connected(way, revision, work) as session:
        calls = [session.call_tool("work", {"label": str(one)}) for one in range(number)]
        calling = asyncio.gather(*calls)
        for _ in range(number):
            await work.running.acquire()
        work.go_on.set()
        results = await calling
    assert [text_of(one) for one in results] == [f"{one} is done" for one in range(number)]


@pytest.mark.parametrize("way", WAYS)
async def test_a_manager_awaits_tasks_too(way: Way) -> None:
    async with (
        way(Work()) as target,
        Client("c", tasks=True) as client,
        ClientManager({"w": target}, client=client) as manager,
        asyncio.timeout(WAIT_S),
    ):
        assert text_of(await manager.call_tool("mcp__w__fail", {})) == "no luck"


async def test_a_tool_that_needs_a_task_says_so_to_a_client_that_takes_none() -> None:
    work = Work()
    async with over_memory(work) as server, Client("c") as client:
        session = await client.connect(server, revision=DIRECTED)
        with pytest.raises(McpError) as caught:
            await session.call_tool("work", {})
    required = mcp_wire.profile(DIRECTED).errors.missing_required_client_capability
    assert caught.value.code == required


@pytest.mark.parametrize("way", WAYS)
async def test_a_server_fetches_what_it_asked_for_as_a_task_of_the_client(way: Way) -> None:
    work = Work()

    @work.server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Name?", Named, task=True)
        assert isinstance(answer, Accepted)
        return f"Hello, {answer.content.name}"

    async with connected(way, CORE, work, elicitation=fill_in) as session:
        assert text_of(await session.call_tool("greet", {})) == "Hello, Ada"


@pytest.mark.parametrize(
    ("revision", "tasks", "why"),
    [
        (mcp_wire.REVISIONS[0], True, f"{mcp_wire.REVISIONS[0]} has no tasks"),
        (mcp_wire.REVISIONS[0], False, f"{mcp_wire.REVISIONS[0]} has no tasks"),
        (DIRECTED, False, "make the client with `tasks=True`"),
    ],
)
async def test_where_there_are_no_tasks_a_client_is_told_why(
    revision: str, tasks: bool, why: str
) -> None:
    async with Client("test", tasks=tasks) as client:
        session = await client.connect(Server("plain"), revision=revision)
        with pytest.raises(UsageError, match=why):
            await session.task("t1").refresh()
