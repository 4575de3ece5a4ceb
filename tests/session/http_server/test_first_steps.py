"""Handlers in HTTP sessions: first steps share a task, and a handler that waits has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from mcp_gen import Server
from mcp_gen.session.http_server.first_steps import FirstSteps
from tests.session.duplex.test_worker import (
    Tools,
    color,
    with_anyio,
    with_caught_error,
    with_task_group,
    with_timeout,
    with_wait_for,
)
from tests.support.frames import HANDSHAKE, with_sessions
from tests.support.http.asgi import WebClient, surfing
from tests.support.peers.raw import WAIT_S

place: ContextVar[str] = ContextVar("place", default="none")

CALLS = 8


async def said(client: WebClient, id: int, tool: str, **given: Any) -> str:
    reply = await client.ask(client.speaker.call(id, tool, **given))
    return str(reply.json["result"]["content"][0]["text"])


async def warm(client: WebClient, tool: str = "warm") -> None:
    """Make calls until the task for first steps is there."""
    for id in range(900, 910):
        await client.ask(client.speaker.call(id, tool))
        await asyncio.sleep(0)


def with_warm_up(server: Server) -> Server:
    @server.tool
    async def warm() -> str:
        return "warm"

    return server


@with_sessions
async def test_handlers_that_wait_for_nothing_share_a_task(revision: str) -> None:
    tools = Tools()
    async with surfing(with_warm_up(tools.server).asgi(), revision) as client:
        await warm(client)
        for id in range(CALLS):
            await said(client, id, "quick", name="q")
    assert (len(tools.tasks["q"]), len(set(tools.tasks["q"]))) == (CALLS, 1)


@with_sessions
async def test_a_call_that_waits_for_nothing_makes_no_task(revision: str) -> None:
    tools = Tools()
    app = with_warm_up(tools.server).asgi()
    async with surfing(app, revision) as client:
        await warm(client)
        loop, made = asyncio.get_running_loop(), list[Any]()

        def make(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> asyncio.Task[Any]:
            made.append(coro)
            return asyncio.Task(coro, loop=loop, **more)

        loop.set_task_factory(make)
        try:
            for id in range(CALLS):
                await said(client, id, "quick", name="q")
        finally:
            loop.set_task_factory(None)
    # Those of the HTTP requests, which an HTTP server makes.
    assert len(made) == CALLS


@with_sessions
async def test_a_handler_that_waits_stays_in_its_task_and_others_run_in_another(
    revision: str,
) -> None:
    tools = Tools()
    async with surfing(with_warm_up(tools.server).asgi(), revision) as client:
        await warm(client)
        a = client.post(client.speaker.call(1, "slow", name="a"))
        b = client.post(client.speaker.call(2, "slow", name="b"))
        assert await said(client, 3, "quick", name="c") == "c"
        for name, opened in (("b", b), ("a", a)):
            tools.go_on[name].set()
            assert (await opened.whole()).json["result"]["content"][0]["text"] == name
    each = {name: set(tasks) for name, tasks in tools.tasks.items()}
    assert [len(tasks) for tasks in each.values()] == [1, 1, 1]
    assert each["a"].isdisjoint(each["b"] | each["c"])
    assert each["b"].isdisjoint(each["c"])


@with_sessions
@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_handler_sets_in_its_context_no_other_sees(revision: str, waits: bool) -> None:
    tools = Tools()
    async with surfing(with_warm_up(tools.server).asgi(), revision) as client:
        await warm(client)
        answers = [
            await said(client, id, "paint", new=f"c{id}", waits=waits) for id in range(CALLS)
        ]
        assert color.get() == "none"
    assert answers == [f"none then c{id}" for id in range(CALLS)]


@pytest.mark.parametrize("waits", [False, True])
async def test_a_handler_sees_the_context_of_its_http_request(waits: bool) -> None:
    server = Server("placed")

    @server.tool
    async def where(waits: bool) -> str:
        before = place.get()
        if waits:
            await asyncio.sleep(0)
        return f"{before} then {place.get()}"

    app: Any = with_warm_up(server).asgi()

    async def placed(scope: Any, receive: Any, send: Any) -> None:
        place.set("here")
        await app(scope, receive, send)

    async with surfing(app, HANDSHAKE) as client:
        await warm(client)
        # Any ASGI app answers here, not ours alone.
        client.app = placed  # type: ignore[assignment]
        assert await said(client, 1, "where", waits=waits) == "here then here"


@with_sessions
@pytest.mark.parametrize(
    "body", [with_timeout, with_anyio, with_task_group, with_caught_error, with_wait_for]
)
async def test_what_needs_a_task_of_its_own_works_in_a_handler(revision: str, body: Any) -> None:
    server = with_warm_up(Server("bodies"))
    server.tool(name="body")(body)
    async with surfing(server.asgi(), revision) as client:
        await warm(client)
        opened = [client.post(client.speaker.call(id, "body")) for id in range(4)]
        texts = [(await one.whole()).json["result"]["content"][0]["text"] for one in opened]
        assert texts == ["timed out"] * 4


@with_sessions
async def test_a_request_that_is_cancelled_while_it_waits_gets_no_response(revision: str) -> None:
    server, ended = with_warm_up(Server("waits")), asyncio.Event()

    @server.tool
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with surfing(server.asgi(), revision) as client:
        await warm(client)
        opened = client.post(client.speaker.call(1, "wait"))
        await asyncio.sleep(0)
        assert (await client.ask(client.speaker.cancel(1))).status == 202
        async with asyncio.timeout(WAIT_S):
            await ended.wait()
        assert ((await opened.whole()).status, (await opened.whole()).body) == (202, b"")
        assert await said(client, 2, "warm") == "warm"


@with_sessions
async def test_a_handler_that_cancels_its_own_request_harms_no_other(revision: str) -> None:
    tools = Tools()
    app = with_warm_up(tools.server).asgi()

    async with surfing(app, revision) as client:

        @tools.server.tool
        async def cancels() -> str:
            # Answered within this step: nothing in it waits.
            await _at_once(app, client)
            return "done"

        await warm(client)
        opened = client.post(client.speaker.call(1, "cancels"))
        late = client.post(client.speaker.call(2, "paint", new="x", waits=True))
        assert (await opened.whole()).status == 202
        answer = (await late.whole()).json
        assert answer["result"]["content"][0]["text"] == "none then x"


async def _at_once(app: Any, client: WebClient) -> None:
    message = client.speaker.cancel(1)
    headers = [(name.lower().encode(), value.encode()) for name, value in client.session.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}

    async def receive() -> Any:
        return {"type": "http.request", "body": message}

    async def send(message: Any) -> None:
        """Drop the response."""

    await app(scope, receive, send)


@with_sessions
async def test_a_dropped_stream_leaves_the_handler_running(revision: str) -> None:
    server, go_on, ended = with_warm_up(Server("waits")), asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> None:
        await go_on.wait()
        ended.set()

    async with surfing(server.asgi(), revision) as client:
        await warm(client)
        opened = client.post(client.speaker.call(1, "wait"))
        await opened.watched()
        opened.hang_up()
        await opened.ended()
        go_on.set()
        async with asyncio.timeout(WAIT_S):
            await ended.wait()


# --- FirstSteps by itself ---


async def ready() -> FirstSteps:
    steps = FirstSteps(asyncio.get_running_loop())
    steps.prepare()
    for _ in range(3):
        await asyncio.sleep(0)
    assert steps.ready is not None
    return steps


def step(steps: FirstSteps, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    waiting = steps.ready
    assert waiting is not None
    steps.step(coroutine, waiting)
    return waiting.task


@pytest.mark.parametrize("rest", ["future", "task", "turn"])
async def test_a_cancellation_in_the_turn_of_the_first_step_reaches_what_is_awaited(
    rest: str,
) -> None:
    loop = asyncio.get_running_loop()
    future, child = loop.create_future(), loop.create_task(asyncio.Event().wait())
    heard = list[str]()

    async def waits() -> None:
        try:
            if rest == "turn":
                await asyncio.sleep(0)
            else:
                await (future if rest == "future" else child)
            heard.append("went on")
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    steps = await ready()
    task = step(steps, waits())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(WAIT_S):
            await task
    assert heard == ["cancelled"]
    assert future.cancelled() is (rest == "future")
    child.cancel()
    await asyncio.wait([child])
    steps.close()


async def test_a_first_step_that_cancels_its_task_is_cancelled_where_it_waits() -> None:
    heard = list[str]()

    async def cancels() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")

    steps = await ready()
    await step(steps, cancels())
    assert heard == ["cancelled"]
    assert steps.ready is None


async def test_a_task_that_its_last_coroutine_has_cancelled_is_not_used_again() -> None:
    async def cancels() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    steps = await ready()
    step(steps, cancels())
    assert steps.ready is None


async def test_a_first_step_within_a_first_step_leaves_each_its_task() -> None:
    steps, tasks = await ready(), list[Any]()
    outer = asyncio.current_task()

    async def inner() -> None:
        tasks.append(asyncio.current_task())

    async def around() -> None:
        tasks.append(asyncio.current_task())
        assert steps.ready is None
        await inner()
        await asyncio.sleep(0)
        tasks.append(asyncio.current_task())

    await step(steps, around())
    assert asyncio.current_task() is outer
    assert len(set(tasks)) == 1
    assert outer not in tasks


async def test_the_task_that_waits_for_first_steps_is_not_listed() -> None:
    steps = await ready()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    task = step(steps, asyncio.sleep(0))
    assert task in asyncio.all_tasks()
    await task
    steps.close()


async def test_a_future_that_another_task_awaits_too_wakes_both() -> None:
    steps, heard = await ready(), list[str]()
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def awaits() -> None:
        heard.append(await future)

    # It awaits the future between the first step and the rest.
    other = asyncio.create_task(awaits())
    mine = step(steps, awaits())
    await asyncio.sleep(0)
    future.set_result("done")
    await asyncio.wait_for(asyncio.gather(mine, other), WAIT_S)
    assert heard == ["done", "done"]
