"""Client timeouts: progress restarts them, up to a maximum; silence ends the session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, RequestTimeout, SessionLost
from mcp_gen.session.duplex.deadlines import SlidingTimeout
from tests.client.using import using
from tests.support.frames import every_revision
from tests.support.peers.scripted import MemoryPeer, opening

WAIT_S = 30.0


class Clock:
    """Event loop stub for SlidingTimeout, with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Any) -> Any:
        self.due.append((when, call))
        return self

    def pass_until(self, now: float) -> None:
        while self.due and self.due[0][0] <= now:
            self.now, call = self.due.pop(0)
            call()
        self.now = now


class Waiter:
    error: Any = None

    def done(self) -> bool:
        return self.error is not None

    def set_exception(self, error: BaseException) -> None:
        self.error = error


def waiting(timeout_s: float, max_wait_s: float) -> tuple[Any, Any, SlidingTimeout]:
    clock: Any = Clock()
    waiter: Any = Waiter()
    return clock, waiter, SlidingTimeout(clock, waiter, "m", timeout_s, max_wait_s)


def test_without_a_report_the_time_is_as_it_was_given() -> None:
    clock, waiter, _ = waiting(10, 100)
    clock.pass_until(9.9)
    assert not waiter.done()
    clock.pass_until(10)
    assert str(waiter.error) == "m: no answer in 10 s"


def test_a_pause_is_no_part_of_any_limit() -> None:
    clock, waiter, timeout = waiting(10, 15)
    clock.pass_until(5)
    timeout.pause()
    clock.pass_until(12)
    assert not waiter.done()
    timeout.resume()
    clock.pass_until(18)
    timeout.extend()
    clock.pass_until(21.9)
    assert not waiter.done()
    clock.pass_until(22)
    assert str(waiter.error) == "m: no answer in 15 s, though there was progress"


def test_the_time_begins_anew_after_a_pause() -> None:
    clock, waiter, timeout = waiting(10, 100)
    clock.pass_until(5)
    timeout.pause()
    clock.pass_until(12)
    timeout.resume()
    clock.pass_until(21.9)
    assert not waiter.done()
    clock.pass_until(22)
    assert str(waiter.error) == "m: no answer in 10 s"


def test_each_report_begins_the_time_anew() -> None:
    clock, waiter, patience = waiting(10, 100)
    for now in (8, 16, 24):
        clock.pass_until(now)
        patience.extend()
    clock.pass_until(33.9)
    assert not waiter.done()
    clock.pass_until(34)
    assert str(waiter.error) == "m: no answer in 10 s"


def test_reports_do_not_put_the_end_off_for_ever() -> None:
    clock, waiter, patience = waiting(10, 25)
    for now in (8, 16, 24):
        clock.pass_until(now)
        patience.extend()
    assert not waiter.done()
    clock.pass_until(25)
    assert str(waiter.error) == "m: no answer in 25 s, though there was progress"


def test_a_time_of_its_own_may_be_longer_than_the_cap() -> None:
    clock, waiter, _ = waiting(10, 5)
    clock.pass_until(9)
    assert not waiter.done()


@every_revision
async def test_reports_of_a_call_put_its_limit_off(revision: str, monkeypatch: Any) -> None:
    made: list[tuple[float, float]] = []
    heard: list[None] = []

    class Recorded(SlidingTimeout):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(given[-2:])

        def extend(self) -> None:
            super().extend()
            heard.append(None)

    monkeypatch.setattr("mcp_gen.session.duplex.connection.SlidingTimeout", Recorded)
    server = MemoryPeer(opening(revision))
    client = Client("c", max_timeout_s=99)
    reports: list[float] = []
    async with using(client, await server.start(), revision) as session:
        call = asyncio.create_task(
            session.call_tool(
                "t", timeout_s=WAIT_S, progress=lambda done, total, said: reports.append(done)
            )
        )
        asked = await server.heard("tools/call")
        for n in range(4):
            server.send_progress(asked["params"]["_meta"]["progressToken"], n)
        typed = {} if mcp_wire.profile(revision).handshake else {"resultType": "complete"}
        server.answer(asked["id"], {"content": [], **typed})
        assert (await call).content == []
    assert reports == [0, 1, 2, 3]
    assert (made, len(heard)) == ([(WAIT_S, 99)], 4)


@every_revision
async def test_a_call_that_wants_reports_and_gets_none_is_given_up(revision: str) -> None:
    server = MemoryPeer(opening(revision))
    async with using(Client("c"), await server.start(), revision) as session:
        with pytest.raises(RequestTimeout, match=r"tools/call: no answer in 0\.01 s"):
            await session.call_tool("t", timeout_s=0.01, progress=lambda *told: None)
        asked = await server.heard("tools/call")
        cancelled = await server.heard("notifications/cancelled")
        assert cancelled["params"]["requestId"] == asked["id"]


@every_revision
async def test_the_clients_own_limit_is_for_calls_that_name_none(revision: str) -> None:
    server = MemoryPeer(opening(revision))
    async with using(Client("c", timeout_s=0.01), await server.start(), revision) as session:
        with pytest.raises(RequestTimeout, match=r"no answer in 0\.01 s"):
            await session.call_tool("t")


@every_revision
async def test_a_server_that_is_silent_is_given_up(revision: str) -> None:
    answers = opening(revision)
    server = MemoryPeer(answers)
    client = Client("c", keep_alive_s=0.01, keep_alive_timeout_s=0.01)
    async with using(client, await server.start(), revision) as session:
        answers.clear()
        waiting = asyncio.create_task(session.call_tool("t"))
        with pytest.raises(SessionLost, match=r"silent for 0\.01 s"):
            async with asyncio.timeout(WAIT_S):
                await waiting
        with pytest.raises(SessionLost):
            await session.call_tool("t")


@every_revision
async def test_a_server_that_answers_is_asked_again(revision: str) -> None:
    profile = mcp_wire.profile(revision)
    method = "ping" if profile.ping else "server/discover"
    answers = opening(revision)
    asked = asyncio.Event()
    times: list[None] = []
    found = answers.get(method, lambda params: {})

    def answer(params: Any) -> Any:
        times.append(None)
        if len(times) > 3:
            asked.set()
        return found(params)

    answers[method] = answer
    client = Client("c", keep_alive_s=0.001, keep_alive_timeout_s=WAIT_S, max_cached_results=0)
    async with using(client, await MemoryPeer(answers).start(), revision) as session:
        async with asyncio.timeout(WAIT_S):
            await asked.wait()
        assert session.revision == revision


@every_revision
async def test_no_ping_waits_for_its_time_when_the_session_is_closed(revision: str) -> None:
    before = asyncio.all_tasks()
    client = Client("c", keep_alive_s=WAIT_S)
    async with using(client, await MemoryPeer(opening(revision)).start(), revision):
        pass
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
