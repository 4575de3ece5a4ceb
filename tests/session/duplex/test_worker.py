"""HandlerRunner: each handler has its own context and shares its task with no waiting handler."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any
from unittest import mock

import anyio
import pytest

from mcp_gen import Server
from mcp_gen.session.duplex.worker import HandlerRunner
from tests.support.frames import HANDSHAKE, each_lifecycle, with_batches
from tests.support.peers.raw import WAIT_S, RawClient, talking

color: ContextVar[str] = ContextVar("color", default="none")


class Tools:
    """Server whose tools record their task."""

    def __init__(self) -> None:
        self.server = Server("worker")
        self.tasks: dict[str, list[Any]] = {}
        self.go_on: dict[str, asyncio.Event] = {}

        @self.server.tool
        async def quick(name: str) -> str:
            self._here(name)
            return name

        @self.server.tool
        async def slow(name: str) -> str:
            self._here(name)
            await self.go_on.setdefault(name, asyncio.Event()).wait()
            self._here(name)
            await asyncio.sleep(0)
            self._here(name)
            return name

        @self.server.tool
        async def paint(new: str, waits: bool) -> str:
            before = color.get()
            color.set(new)
            if waits:
                await asyncio.sleep(0)
            return f"{before} then {color.get()}"

    def _here(self, name: str) -> None:
        self.tasks.setdefault(name, []).append(asyncio.current_task())


def call(client: RawClient, id: Any, tool: str, **given: Any) -> bytes:
    return client.speaker.call(id, tool, **given)


def text(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


@each_lifecycle
async def test_a_handler_that_waits_stays_in_its_task_and_others_begin_in_another(
    revision: str,
) -> None:
    tools = Tools()
    async with talking(tools.server, revision) as client:
        client.send(call(client, 1, "slow", name="a"), call(client, 2, "slow", name="b"))
        assert text(await client.ask(call(client, 3, "quick", name="c"))) == "c"
        tools.go_on["b"].set()
        assert text(await client.answer(2)) == "b"
        tools.go_on["a"].set()
        assert text(await client.answer(1)) == "a"
    each = {name: set(tasks) for name, tasks in tools.tasks.items()}
    assert [len(tasks) for tasks in each.values()] == [1, 1, 1]
    assert each["a"].isdisjoint(each["b"])
    assert each["a"].isdisjoint(each["c"])


@each_lifecycle
async def test_handlers_that_wait_for_nothing_share_a_task(revision: str) -> None:
    tools = Tools()
    async with talking(tools.server, revision) as client:
        client.send(*(call(client, id, "quick", name="q") for id in range(1, 9)))
        for id in range(1, 9):
            await client.answer(id)
        await client.ask(call(client, 9, "quick", name="q"))
    assert (len(tools.tasks["q"]), len(set(tools.tasks["q"]))) == (9, 1)


@each_lifecycle
@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_handler_sets_in_its_context_no_other_sees(revision: str, waits: bool) -> None:
    tools = Tools()
    async with talking(tools.server, revision) as client:
        client.send(*(call(client, id, "paint", new=f"c{id}", waits=waits) for id in range(1, 5)))
        said = [text(await client.answer(id)) for id in range(1, 5)]
    assert said == [f"none then c{id}" for id in range(1, 5)]


@each_lifecycle
async def test_requests_are_begun_in_the_order_in_which_they_came(revision: str) -> None:
    server, begun = Server("order"), list[int]()

    @server.tool
    async def note(number: int) -> None:
        begun.append(number)
        if number % 3 == 0:
            await asyncio.sleep(0)

    async with talking(server, revision) as client:
        client.send(*(call(client, id, "note", number=id) for id in range(1, 20)))
        for id in range(1, 20):
            await client.answer(id)
    assert begun == list(range(1, 20))


async def with_timeout() -> str:
    try:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
    except TimeoutError:
        return "timed out"
    return "not"


async def with_anyio() -> str:
    with anyio.move_on_after(0.01) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
    return "timed out" if scope.cancelled_caught else "not"


async def with_task_group() -> str:
    async with asyncio.TaskGroup() as tasks:
        made = [tasks.create_task(asyncio.sleep(0, name)) for name in ("timed", "out")]
    return " ".join(one.result() for one in made)


async def with_caught_error() -> str:
    failing = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(failing.set_exception, ValueError("timed out"))
    try:
        await failing
    except ValueError as error:
        await asyncio.sleep(0)
        return str(error)
    return "not"


async def with_wait_for() -> str:
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    except TimeoutError:
        return "timed out"
    return "not"


@each_lifecycle
@pytest.mark.parametrize(
    "body", [with_timeout, with_anyio, with_task_group, with_caught_error, with_wait_for]
)
async def test_what_needs_a_task_of_its_own_works_in_a_handler(revision: str, body: Any) -> None:
    server = Server("bodies")
    server.tool(name="body")(body)
    async with talking(server, revision) as client:
        client.send(*(call(client, id, "body") for id in (1, 2)))
        assert [text(await client.answer(id)) for id in (1, 2)] == ["timed out"] * 2


@each_lifecycle
async def test_a_handler_that_cancels_its_task_and_is_done_harms_no_other(revision: str) -> None:
    tools = Tools()

    @tools.server.tool
    async def cancels() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done"

    async with talking(tools.server, revision) as client:
        client.send(call(client, 1, "cancels"), call(client, 2, "paint", new="x", waits=True))
        assert text(await client.answer(1)) == "done"
        assert text(await client.answer(2)) == "none then x"


@each_lifecycle
async def test_a_request_that_is_cancelled_before_it_began_never_begins(revision: str) -> None:
    tools = Tools()
    async with talking(tools.server, revision) as client:
        client.send(call(client, 1, "quick", name="a"), client.speaker.cancel(1))
        await client.ask(call(client, 2, "quick", name="b"))
        assert client.came == []
        assert text(await client.ask(call(client, 1, "quick", name="c"))) == "c"
    assert list(tools.tasks) == ["b", "c"]


@with_batches
async def test_a_batch_is_answered_without_what_was_cancelled_before_it_began(
    revision: str,
) -> None:
    tools = Tools()
    async with talking(tools.server, revision) as client:
        asked = [call(client, 1, "quick", name="a"), call(client, 2, "quick", name="b")]
        client.send(b"[" + b",".join(asked) + b"]", client.speaker.cancel(1))
        assert [answer["id"] for answer in await client.next()] == [2]


@each_lifecycle
async def test_a_handler_is_found_by_the_id_of_its_request_while_it_runs(revision: str) -> None:
    tools = Tools()
    async with talking(tools.server, revision) as client:
        client.send(call(client, 1, "slow", name="a"))
        await client.ask(call(client, 2, "quick", name="b"))
        (session,) = tools.server.sessions()
        found = [session.channel.task(id) for id in (1, "1", 2, None)]
        assert found == [tools.tasks["a"][0], None, None, None]
        assert [session.channel.answers(id) for id in (1, "1", 2, None)] == [True] + [False] * 3
        tools.go_on["a"].set()
        await client.answer(1)


async def test_a_request_during_the_last_grace_is_refused() -> None:
    tools = Tools()
    async with talking(tools.server, HANDSHAKE) as client:
        client.send(call(client, 1, "slow", name="a"))
        await client.ask(call(client, 2, "quick", name="b"))
        (session,) = tools.server.sessions()
        session.end()
        refused = await client.ask(call(client, 3, "quick", name="c"))
        assert "about to end" in refused["error"]["message"]
        tools.go_on["a"].set()
        assert text(await client.answer(1)) == "a"


async def test_what_came_behind_a_slow_handshake_is_begun_though_the_client_has_hung_up() -> None:
    tools, goes_on = Tools(), asyncio.Event()

    @tools.server.hooks.before_initialize
    async def wait(ctx: Any, params: Any) -> None:
        await goes_on.wait()

    async with talking(tools.server, HANDSHAKE, opened=False) as client:
        client.send(*client.speaker.opening, call(client, 1, "quick", name="a"))
        await asyncio.sleep(0)
        await client.transport.aclose()
        asyncio.get_running_loop().call_soon(goes_on.set)
    assert list(tools.tasks) == ["a"]


async def test_what_waits_for_its_first_turn_is_begun_though_the_session_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Longer than a test may take: the session ends as soon as all are answered.
    monkeypatch.setattr("mcp_gen.session.duplex.server.GRACE_S", 1000.0)
    tools = Tools()

    @tools.server.tool
    async def cancels() -> None:
        """Make another task start what comes next."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async with talking(tools.server, HANDSHAKE) as client:
        (session,) = tools.server.sessions()
        client.send(call(client, 1, "cancels"), call(client, 2, "quick", name="b"))
        session.end()
    assert list(tools.tasks) == ["b"]


async def test_what_is_never_begun_is_not_waited_for() -> None:
    kernel, skipped, waits = mock.Mock(), mock.Mock(cancelled=True), mock.Mock(cancelled=False)
    runner = HandlerRunner[Any](kernel, mock.Mock(), soon=mock.Mock())
    runner.add(skipped)
    await runner.begun()
    runner.add(waits)
    await asyncio.wait_for(runner.begun(), WAIT_S)
    assert kernel.mock_calls == []
    await runner.drop()


async def test_what_waits_when_the_grace_is_over_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_gen.session.duplex.server.GRACE_S", 0.01)
    tools = Tools()
    async with talking(tools.server, HANDSHAKE) as client:
        client.send(call(client, 1, "slow", name="a"))
        await client.ask(call(client, 2, "quick", name="b"))
    assert tools.tasks["a"][0].done()
    assert tools.server.sessions() == []
