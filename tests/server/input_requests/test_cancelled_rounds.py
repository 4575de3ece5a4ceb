"""Handlers that catch or delay the cancellation of their round still end with the right result.

Each body asks for names, and the user answers with the capital of the requested letter. The tests
compare the final return value and the number of rounds alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from mcp_gen import Accepted, Context, Server
from mcp_gen.server.input_requests import replayed_rounds
from mcp_gen.server.input_requests.run import run_with_rounds
from tests.support.peers.answering import Asked, accept, answering, in_results
from tests.support.peers.raw import WAIT_S

Body = Callable[[Context], Awaitable[str]]


@dataclass
class Name:
    name: str


def capital(asked: Asked) -> Any:
    return accept(name=asked.message.upper())


async def ask(ctx: Context, letter: str) -> str:
    answer = await ctx.elicit(letter, Name)
    assert isinstance(answer, Accepted)
    return answer.content.name


# --- The bodies ---


async def one_question(ctx: Context) -> str:
    return await ask(ctx, "a")


async def one_after_the_other(ctx: Context) -> str:
    return await ask(ctx, "a") + await ask(ctx, "b")


async def catches_everything(ctx: Context) -> str:
    try:
        return await ask(ctx, "a")
    except BaseException:
        return "caught"


async def catches_exceptions(ctx: Context) -> str:
    try:
        return await ask(ctx, "a")
    except Exception:
        return "caught"


async def makes_an_error_of_it(ctx: Context) -> str:
    try:
        return await ask(ctx, "a")
    except BaseException as error:
        raise RuntimeError("broken") from error


async def suppresses_everything(ctx: Context) -> str:
    name = "nobody"
    with contextlib.suppress(BaseException):
        name = await ask(ctx, "a")
    return name


async def swallows_it_once_and_asks_on(ctx: Context) -> str:
    try:
        first = await ask(ctx, "a")
    except asyncio.CancelledError:
        first = "lost"
    return first + await ask(ctx, "b")


async def swallows_it_and_takes_it_back(ctx: Context) -> str:
    try:
        return await ask(ctx, "a")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        return "as if nothing had been"


async def gathers(ctx: Context) -> str:
    return "".join(await asyncio.gather(ask(ctx, "a"), ask(ctx, "b")))


async def gathers_exceptions_too(ctx: Context) -> str:
    found = await asyncio.gather(ask(ctx, "a"), ask(ctx, "b"), return_exceptions=True)
    return "".join(map(str, found))


async def gathers_with_one_that_fails(ctx: Context) -> str:
    async def fails() -> str:
        if ctx.round == 1:
            raise ValueError("too early")
        return "!"

    return "".join(await asyncio.gather(ask(ctx, "a"), fails()))


async def gathers_behind_others(ctx: Context) -> str:
    wrapped = asyncio.wait_for(ask(ctx, "b"), WAIT_S)
    return "".join(await asyncio.gather(ask(ctx, "a"), wrapped))


async def has_a_task_group(ctx: Context) -> str:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(ctx, letter)) for letter in "ab"]
    return "".join(task.result() for task in tasks)


async def has_a_task_group_and_catches_all(ctx: Context) -> str:
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(ask(ctx, "a"))
            name = await ask(ctx, "b")
    except BaseException:
        return "caught"
    return task.result() + name


async def has_a_timeout(ctx: Context) -> str:
    async with asyncio.timeout(WAIT_S):
        return await ask(ctx, "a")


async def has_a_timeout_that_is_over_at_once(ctx: Context) -> str:
    async with asyncio.timeout(0):
        return await ask(ctx, "a")


async def waits_for_a_while(ctx: Context) -> str:
    return await asyncio.wait_for(ask(ctx, "a"), WAIT_S)


class Resource:
    """Waits on exit, and may swallow the exception."""

    def __init__(self, *, swallows: bool = False) -> None:
        self.swallows = swallows

    async def __aenter__(self) -> str:
        await asyncio.sleep(0)
        return "r"

    async def __aexit__(self, *error: object) -> bool:
        await asyncio.sleep(0.001)
        return self.swallows


async def holds_a_resource(ctx: Context) -> str:
    async with Resource() as resource:
        return resource + await ask(ctx, "a")


async def holds_a_resource_that_swallows(ctx: Context) -> str:
    names: list[str] = []
    async with Resource(swallows=True):
        names.append(await ask(ctx, "a"))
    return "".join(names) or "nobody"


async def waits_in_finally(ctx: Context) -> str:
    try:
        return await ask(ctx, "a")
    finally:
        await asyncio.sleep(0.001)


async def asks_in_finally(ctx: Context) -> str:
    last = ""
    try:
        first = await ask(ctx, "a")
    finally:
        last = await ask(ctx, "b")
    return first + last


async def returns_in_finally(ctx: Context) -> str:
    name = "nobody"
    try:
        name = await ask(ctx, "a")
    finally:
        return name  # noqa: B012


async def asks_where_it_catches(ctx: Context) -> str:
    try:
        return await ask(ctx, "a")
    except BaseException:
        # Must not be logged: nothing has failed.
        return await ask(ctx, "x")


async def shields(ctx: Context) -> str:
    return await asyncio.shield(ask(ctx, "a"))


async def shields_and_waits_all_the_same(ctx: Context) -> str:
    task = asyncio.ensure_future(ask(ctx, "a"))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        return await task


async def waits_for_its_child_whatever_comes(ctx: Context) -> str:
    task = asyncio.ensure_future(ask(ctx, "a"))
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    return task.result()


async def leaves_a_child_behind(ctx: Context) -> str:
    child = asyncio.create_task(ask(ctx, "a"))
    await asyncio.sleep(0)
    return child.result() if child.done() else "left"


async def swallows_it_and_sleeps(ctx: Context) -> str:
    try:
        return await ask(ctx, "a")
    except asyncio.CancelledError:
        await asyncio.sleep(3600)
        return "awake"


async def asks_in_an_iterator(ctx: Context) -> str:
    async def names() -> AsyncIterator[str]:
        for letter in "ab":
            yield await ask(ctx, letter)

    return "".join([name async for name in names()])


async def asks_in_a_loop(ctx: Context) -> str:
    return "".join([await ask(ctx, letter) for letter in "abc"])


async def asks_below(ctx: Context) -> str:
    async def below(depth: int) -> str:
        return await ask(ctx, "a") if depth == 0 else await below(depth - 1)

    return await below(20)


async def asks_again_and_again_until_there_is_an_answer(ctx: Context) -> str:
    while True:
        try:
            return await ask(ctx, "a")
        except asyncio.CancelledError:
            if ctx.rounds and len(asked_for) > 20:
                raise
            asked_for.append("a")


asked_for: list[str] = []


async def waits_for_the_first(ctx: Context) -> str:
    tasks = [asyncio.create_task(ask(ctx, letter)) for letter in "ab"]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    return "".join(sorted(task.result() for task in done))


async def takes_them_as_they_come(ctx: Context) -> str:
    found = [await each for each in asyncio.as_completed([ask(ctx, "a"), ask(ctx, "b")])]
    return "".join(sorted(found))


async def hears_from_a_child_through_a_queue(ctx: Context) -> str:
    queue: asyncio.Queue[str] = asyncio.Queue()

    async def child() -> None:
        queue.put_nowait(await ask(ctx, "a"))

    task = asyncio.create_task(child())
    name = await queue.get()
    await task
    return name


async def holds_a_lock(ctx: Context) -> str:
    async with lock:
        return await ask(ctx, "a")


lock = asyncio.Lock()


async def remembers(ctx: Context) -> str:
    made = await ctx.once("m", lambda: "m")
    return made + await ask(ctx, "a")


async def stacks(ctx: Context) -> str:
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(Resource())
        stack.push_async_callback(asyncio.sleep, 0)
        return await ask(ctx, "a")


async def asks_all(ctx: Context) -> str:
    return "".join(await ctx.ask_all(ask(ctx, "a"), ask(ctx, "b"), ask(ctx, "c")))


async def has_an_anyio_group(ctx: Context) -> str:
    names: dict[str, str] = {}

    async def one(letter: str) -> None:
        names[letter] = await ask(ctx, letter)

    async with anyio.create_task_group() as group:
        for letter in "ab":
            group.start_soon(one, letter)
    return names["a"] + names["b"]


async def has_an_anyio_timeout(ctx: Context) -> str:
    with anyio.fail_after(WAIT_S):
        return await ask(ctx, "a")


async def has_an_anyio_shield(ctx: Context) -> str:
    with anyio.CancelScope(shield=True):
        return await ask(ctx, "a")


BODIES: list[tuple[Body, str, int]] = [
    (one_question, "A", 1),
    (one_after_the_other, "AB", 2),
    (catches_everything, "A", 1),
    (catches_exceptions, "A", 1),
    (makes_an_error_of_it, "A", 1),
    (suppresses_everything, "A", 1),
    (swallows_it_once_and_asks_on, "AB", 2),
    (swallows_it_and_takes_it_back, "A", 1),
    (gathers, "AB", 1),
    (gathers_exceptions_too, "AB", 1),
    (gathers_with_one_that_fails, "A!", 1),
    (gathers_behind_others, "AB", 1),
    (has_a_task_group, "AB", 1),
    (has_a_task_group_and_catches_all, "AB", 1),
    (has_a_timeout, "A", 1),
    (has_a_timeout_that_is_over_at_once, "A", 1),
    (waits_for_a_while, "A", 1),
    (holds_a_resource, "rA", 1),
    (holds_a_resource_that_swallows, "A", 1),
    (waits_in_finally, "A", 1),
    (asks_in_finally, "AB", 2),
    (returns_in_finally, "A", 1),
    (asks_where_it_catches, "A", 1),
    (shields, "A", 1),
    (shields_and_waits_all_the_same, "A", 1),
    (waits_for_its_child_whatever_comes, "A", 1),
    (leaves_a_child_behind, "A", 1),
    (swallows_it_and_sleeps, "A", 1),
    (asks_in_an_iterator, "AB", 2),
    (asks_in_a_loop, "ABC", 3),
    (asks_below, "A", 1),
    (asks_again_and_again_until_there_is_an_answer, "A", 1),
    (waits_for_the_first, "AB", 1),
    (takes_them_as_they_come, "AB", 1),
    (hears_from_a_child_through_a_queue, "A", 1),
    (holds_a_lock, "A", 1),
    (remembers, "mA", 1),
    (stacks, "A", 1),
    (asks_all, "ABC", 1),
    (has_an_anyio_group, "AB", 1),
    (has_an_anyio_timeout, "A", 1),
    (has_an_anyio_shield, "A", 1),
]


@in_results
@pytest.mark.parametrize(("body", "text", "rounds"), BODIES, ids=[b[0].__name__ for b in BODIES])
async def test_a_body_comes_to_its_right_end(
    revision: str, body: Body, text: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed_rounds, "CLEANUP_S", 0.02)
    server = Server("bodies")
    server.add_tool(body, name="tool")
    async with answering(server, revision, capital) as client:
        assert await client.text("tool") == text
    assert len(client.rounds) == rounds
    assert "x" not in [one.message for one in client.asked]


@in_results
async def test_children_that_were_left_behind_have_ended_when_the_questions_go_out(
    revision: str,
) -> None:
    server = Server("leaving")
    seen: list[str] = []

    @server.tool
    async def tool(ctx: Context) -> str:
        async def child() -> None:
            try:
                await ask(ctx, "a")
            finally:
                await asyncio.sleep(0.001)
                seen.append("ended")

        children.append(asyncio.create_task(child()))
        await asyncio.sleep(0)
        return "done"

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: Any, result: Any) -> None:
        seen.append(type(result).__name__)

    children: list[asyncio.Task[None]] = []
    async with answering(server, revision, capital) as client:
        await client.once("tools/call", {"name": "tool"})
    assert seen == ["ended", "InputRequiredResult"]


class Ended:
    """Input rounds with open requests."""

    over = False

    async def end(self, *arguments: Any) -> str:
        await asyncio.sleep(0)
        return "questions"


def test_an_interrupt_is_not_taken_for_the_end_of_a_round() -> None:
    async def interrupted(ctx: Any, params: Any) -> str:
        raise KeyboardInterrupt

    run = run_with_rounds(cast("Context", SimpleNamespace(rounds=Ended())), None, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.send(None)


def test_a_handler_whose_loop_has_gone_is_not_asked_to_wait() -> None:
    async def waits(ctx: Any, params: Any) -> str:
        await asyncio.sleep(0)
        return "never"

    run = run_with_rounds(cast("Context", SimpleNamespace(rounds=Ended())), None, waits)
    run.send(None)
    run.close()
    assert inspect.getcoroutinestate(run) == inspect.CORO_CLOSED


# --- other cancellations ---


class Lingering:
    """Server whose tool makes an input request, and takes time to end."""

    def __init__(self) -> None:
        self.server = Server("lingering")
        self.leaving = asyncio.Event()
        self.ended = asyncio.Event()

        @self.server.tool
        async def linger(ctx: Context) -> str:
            try:
                return await ask(ctx, "a")
            finally:
                self.leaving.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    self.ended.set()

        @self.server.tool
        async def echo(text: str) -> str:
            return text


@in_results
async def test_a_request_that_is_cancelled_while_its_round_ends_has_no_answer(
    revision: str,
) -> None:
    lingering = Lingering()
    async with answering(lingering.server, revision, capital) as client:
        call = client.send("tools/call", {"name": "linger", "arguments": {}})
        await lingering.leaving.wait()
        client.client.send(client.speaker.cancel(call))
        await lingering.ended.wait()
        # A response to the cancelled request would arrive first.
        assert await client.text("echo", text="next") == "next"


@in_results
async def test_a_request_that_is_cancelled_before_its_round_ends_has_no_answer(
    revision: str,
) -> None:
    server = Server("cancelled")
    begun = asyncio.Event()

    @server.tool
    async def tool(ctx: Context) -> str:
        begun.set()
        # Cancel as the client would, in the same turn as the input request.
        channel: Any = ctx.caller.channel
        cancelled: Any = ctx.profile.cancelled
        params = cancelled.params(request_id=ctx.request_id)
        asyncio.get_running_loop().call_soon(channel._cancel, params)
        return await ask(ctx, "a")

    @server.tool
    async def echo(text: str) -> str:
        return text

    async with answering(server, revision, capital) as client:
        client.send("tools/call", {"name": "tool", "arguments": {}})
        await begun.wait()
        assert await client.text("echo", text="next") == "next"


@in_results
async def test_a_slow_clean_up_is_cut_short_and_the_questions_go_out(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed_rounds, "CLEANUP_S", 0.01)
    lingering = Lingering()
    async with answering(lingering.server, revision, capital) as client:
        first = await client.once("tools/call", {"name": "linger", "arguments": {}})
    assert first["resultType"] == "input_required"
    assert lingering.ended.is_set()


@in_results
async def test_the_task_is_not_cancelled_for_those_who_see_the_questions(revision: str) -> None:
    server = Server("hooked")
    counts: list[int] = []
    server.add_tool(one_question, name="tool")

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: Any, result: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        counts.append(task.cancelling())
        await asyncio.sleep(0)

    async with answering(server, revision, capital) as client:
        assert await client.text("tool") == "A"
    assert counts == [0, 0]
