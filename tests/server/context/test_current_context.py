"""`current_context()`: the context of the request, for functions that handlers call."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest

from mcp_gen import Client, Context, Depends, Server, UsageError, current_context
from mcp_gen.types import Prompt
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision
from tests.support.peers.connect import talk
from tests.test_walk import over_asgi

OUTSIDE = (
    "current_context(): no request is answered here. Call it in a tool, resource, prompt, hook or "
    "middleware, or in what they call; start a thread of your own with "
    "`contextvars.copy_context().run`, or pass it the `ctx` of the handler"
)


def the_same(ctx: Context) -> str:
    """Return what a helper sees: the context of its handler, or another one."""
    return "same" if current_context() is ctx else "another"


async def made() -> str:
    """Return the revision of the request, as a dependency."""
    return current_context().revision


def helped() -> Server:
    """Return a server whose handlers call a helper that takes no context."""
    server = Server("helped")

    @server.tool
    async def direct(ctx: Context) -> str:
        return the_same(ctx)

    @server.tool
    async def later(ctx: Context) -> str:
        await asyncio.sleep(0)
        return the_same(ctx)

    @server.tool
    async def in_a_task(ctx: Context) -> str:
        async def work() -> str:
            return the_same(ctx)

        return await asyncio.create_task(work())

    @server.tool
    def in_a_thread(ctx: Context) -> str:
        return the_same(ctx)

    @server.resource("help://me")
    async def read(ctx: Context) -> str:
        return the_same(ctx)

    @server.prompt
    async def ask(ctx: Context) -> str:
        return the_same(ctx)

    return server


@every_revision
@pytest.mark.parametrize("tool", ["direct", "later", "in_a_task", "in_a_thread"])
async def test_a_function_that_a_tool_calls_gets_the_context_of_the_tool(
    revision: str, tool: str
) -> None:
    async with talk(helped, revision) as client:
        assert await client.text(tool) == "same"


@every_revision
@pytest.mark.parametrize("over", ["memory", "http"])
async def test_resources_and_prompts_have_it_over_each_transport(revision: str, over: str) -> None:
    async with talk(helped, revision, over=over) as client:
        read = await client.request("resources/read", {"uri": "help://me"})
        got = await client.request("prompts/get", {"name": "ask"})
        text = await client.text("later")
    assert read["contents"][0]["text"] == "same"
    assert got["messages"][0]["content"]["text"] == "same"
    assert text == "same"


def test_outside_of_a_request_the_error_says_where_to_call_it() -> None:
    with pytest.raises(UsageError) as caught:
        current_context()
    assert str(caught.value) == OUTSIDE


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_an_app_that_answers_in_the_task_of_the_caller_leaves_nothing_behind(
    revision: str,
) -> None:
    async with over_asgi(revision) as call:
        assert b'"3"' in await call()
        with pytest.raises(UsageError):
            current_context()


async def test_a_thread_that_was_started_without_the_context_has_none() -> None:
    server = Server("threads")
    found: list[str] = []

    @server.tool
    async def start() -> None:
        def work() -> None:
            try:
                current_context()
            except UsageError as error:
                found.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        await asyncio.to_thread(thread.join)

    async with talk(lambda: server, HANDSHAKE) as client:
        await client.call("start")
    assert found == [OUTSIDE]


async def test_two_calls_at_once_have_each_their_own() -> None:
    server = Server("two")
    both = asyncio.Barrier(2)

    @server.tool
    async def meet(ctx: Context) -> str:
        await both.wait()
        return the_same(ctx)

    async with Client("test") as client:
        session = await client.connect(server)
        done = await asyncio.gather(*(session.call_tool("meet", returns=str) for _ in range(2)))
    assert done == ["same", "same"]


async def test_hooks_middleware_and_factories_have_it() -> None:
    server, seen = Server("around"), list[str]()

    @server.hooks.before_call_tool
    async def before(ctx: Any, params: Any) -> None:
        seen.append("hook " + the_same(ctx))

    @server.middleware
    async def around(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        seen.append(f"{method} {the_same(ctx)}")
        return await call_next(params)

    @server.tool
    async def use(one: Annotated[str, Depends(made)]) -> str:
        return one

    async with talk(lambda: server, PER_REQUEST) as client:
        assert await client.text("use") == PER_REQUEST
    assert seen == ["tools/call same", "hook same"]


async def test_middleware_of_a_notification_has_it() -> None:
    server, seen = Server("told"), list[str]()

    @server.middleware
    async def around(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        if method == "notifications/initialized":
            seen.append(the_same(ctx))
        return await call_next(params)

    async with talk(lambda: server, HANDSHAKE) as client:
        await client.settled()
    assert seen == ["same"]


async def test_a_mounted_server_has_its_own_and_the_outer_one_its_own_again() -> None:
    inner, outer, seen = helped(), Server("outer"), list[str]()
    outer.mount("in", inner)

    @outer.middleware
    async def around(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        if method == "tools/call":
            seen.append(the_same(ctx))
        return result

    async with talk(lambda: outer, PER_REQUEST) as client:
        assert await client.text("in_later") == "same"
    assert seen == ["same"]


async def test_a_tool_that_runs_as_a_task_has_the_context_of_the_task() -> None:
    server = Server("tasks")

    @server.tool(task="required")
    async def work(ctx: Context) -> str:
        assert ctx.task is not None
        return the_same(ctx)

    async with Client("test") as client:
        session = await client.connect(server, revision=HANDSHAKE)
        assert await session.call_tool("work", returns=str) == "same"


async def test_the_handler_of_a_described_prompt_has_it() -> None:
    server = Server("described")
    server.add_prompt(Prompt(name="said"), lambda ctx, arguments: the_same(ctx))
    async with talk(lambda: server, HANDSHAKE) as client:
        got = await client.request("prompts/get", {"name": "said"})
    assert got["messages"][0]["content"]["text"] == "same"
