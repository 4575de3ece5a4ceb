"""Progress: for clients with a progress token, increasing, while the request is open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server
from tests.support.frames import ALL, HANDSHAKE, every_revision
from tests.support.peers.raw import WAIT_S, RawClient, talking

NAN, INFINITY = float("nan"), float("inf")


def a_server(*reports: tuple[Any, ...], **options: Any) -> Server:
    """Return a server with a tool that reports this progress."""
    server = Server("progress", **options)

    @server.tool
    async def work(ctx: Context) -> str:
        for report in reports:
            await ctx.report_progress(*report)
        return "done"

    return server


def work(client: RawClient, id: int = 1, token: Any = "t") -> bytes:
    meta = {} if token is None else {"progressToken": token}
    params = {"name": "work", "arguments": {}, "_meta": meta}
    return client.speaker.request(id, "tools/call", params)


def reports(client: RawClient) -> list[Any]:
    """Return the params of the progress notifications received."""
    return [one["params"] for one in client.came if one.get("method") == "notifications/progress"]


def values(client: RawClient) -> list[Any]:
    return [one["progress"] for one in reports(client)]


@every_revision
@pytest.mark.parametrize("token", ["t", "", 0, 7, -1])
async def test_a_report_has_the_token_as_it_came(revision: str, token: Any) -> None:
    async with talking(a_server((1, 2)), revision) as client:
        await client.ask(work(client, token=token))
        assert reports(client) == [{"progressToken": token, "progress": 1, "total": 2}]


@every_revision
@pytest.mark.parametrize("token", [None, True, 1.5, ["t"], {"t": 1}])
async def test_without_a_token_that_is_one_nothing_is_sent(revision: str, token: Any) -> None:
    async with talking(a_server((1, 2)), revision) as client:
        assert "result" in await client.ask(work(client, token=token))
        assert reports(client) == []


@every_revision
async def test_reports_come_before_the_answer_and_in_order(revision: str) -> None:
    async with talking(a_server((0,), (0.5,), (50, 100)), revision) as client:
        client.send(work(client))
        came = [await client.next() for _ in range(4)]
        assert [one["params"]["progress"] for one in came[:3]] == [0, 0.5, 50]
        assert came[3]["id"] == 1


@every_revision
async def test_a_message_goes_where_the_revision_has_one(revision: str) -> None:
    async with talking(a_server((1, None, "half-way")), revision) as client:
        await client.ask(work(client))
        said = {"message": "half-way"} if mcp_wire.profile(revision).progress_message else {}
        assert reports(client) == [{"progressToken": "t", "progress": 1, **said}]


def test_one_revision_at_least_has_no_message() -> None:
    assert {mcp_wire.profile(revision).progress_message for revision in ALL} == {True, False}


@every_revision
async def test_what_does_not_exceed_the_last_report_is_left_out(revision: str) -> None:
    async with talking(a_server((1,), (1,), (0.5,), (-3,), (1.5,), (2,)), revision) as client:
        await client.ask(work(client))
        assert values(client) == [1, 1.5, 2]


@every_revision
@pytest.mark.parametrize("report", [(NAN,), (INFINITY,), (-INFINITY,)])
async def test_what_json_has_no_number_for_is_left_out(revision: str, report: Any) -> None:
    async with talking(a_server(report, (1,)), revision) as client:
        await client.ask(work(client))
        assert values(client) == [1]


@every_revision
async def test_a_total_that_json_has_no_number_for_is_left_out(revision: str) -> None:
    async with talking(a_server((1, INFINITY)), revision) as client:
        await client.ask(work(client))
        assert reports(client) == [{"progressToken": "t", "progress": 1}]


@pytest.mark.parametrize(("per_s", "sent"), [(None, [*range(300)]), (0.001, [0])])
async def test_a_server_sends_as_many_reports_as_it_is_told(
    per_s: float | None, sent: list[int]
) -> None:
    server = a_server(*((progress,) for progress in range(300)), max_progress_per_s=per_s)
    async with talking(server, HANDSHAKE) as client:
        await client.ask(work(client))
        assert values(client) == sent


@every_revision
async def test_each_request_counts_for_itself(revision: str) -> None:
    async with talking(a_server((3,)), revision) as client:
        await client.ask(work(client, 1, "a"))
        await client.ask(work(client, 2, "b"))
        assert [(one["progressToken"], one["progress"]) for one in reports(client)] == [
            ("a", 3),
            ("b", 3),
        ]


@every_revision
async def test_nothing_is_reported_of_a_request_that_has_been_answered(revision: str) -> None:
    server, answered = Server("late"), asyncio.Event()
    late: list[asyncio.Task[None]] = []

    async def report_later(ctx: Context) -> None:
        await answered.wait()
        await ctx.report_progress(2)

    @server.tool
    async def work(ctx: Context) -> None:
        await ctx.report_progress(1)
        late.append(asyncio.create_task(report_later(ctx)))

    async with talking(server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/call", WITH_TOKEN))
        answered.set()
        await asyncio.wait_for(late[0], WAIT_S)
        await client.ask(client.speaker.request(2, "tools/list"))
        assert values(client) == [1]


WITH_TOKEN = {"name": "work", "arguments": {}, "_meta": {"progressToken": "t"}}


@every_revision
async def test_nothing_is_reported_of_a_request_that_was_cancelled(revision: str) -> None:
    server, began, ended = Server("stubborn"), asyncio.Event(), asyncio.Event()

    @server.tool
    async def work(ctx: Context) -> None:
        await ctx.report_progress(1)
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await ctx.report_progress(2)
            ended.set()
            raise

    async with talking(server, revision) as client:
        client.send(client.speaker.request(1, "tools/call", WITH_TOKEN))
        await asyncio.wait_for(began.wait(), WAIT_S)
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(ended.wait(), WAIT_S)
        await client.ask(client.speaker.request(2, "tools/list"))
        assert values(client) == [1]


async def test_a_client_that_reads_slowly_slows_down_whoever_reports() -> None:
    server, said, reads = Server("slow"), list[int](), asyncio.Event()

    @server.tool
    async def work(ctx: Context) -> None:
        for number in range(3):
            await ctx.report_progress(number)
            said.append(number)

    async with talking(server, HANDSHAKE) as client:
        (session,) = server.sessions()
        session._transport.drain = reads.wait
        client.send(client.speaker.request(1, "tools/call", WITH_TOKEN))
        await client.next()
        assert said == []
        reads.set()
        await client.answer(1)
        assert said == [0, 1, 2]


@every_revision
async def test_a_handler_that_does_nothing_but_report_can_be_cancelled(revision: str) -> None:
    server, ended = Server("busy"), asyncio.Event()

    @server.tool
    async def work(ctx: Context) -> None:
        number = 0
        try:
            while True:
                number += 1
                await ctx.report_progress(number)
        finally:
            ended.set()

    async with talking(server, revision) as client:
        client.send(client.speaker.request(1, "tools/call", WITH_TOKEN))
        await client.next()
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(ended.wait(), WAIT_S)


@every_revision
async def test_reports_that_are_not_sent_let_others_have_a_turn_too(revision: str) -> None:
    server, began, ended = Server("busy"), asyncio.Event(), asyncio.Event()

    @server.tool
    async def work(ctx: Context) -> None:
        began.set()
        try:
            while True:
                await ctx.report_progress(1)
        finally:
            ended.set()

    async with talking(server, revision) as client:
        client.send(client.speaker.request(1, "tools/call", {"name": "work", "arguments": {}}))
        await asyncio.wait_for(began.wait(), WAIT_S)
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(ended.wait(), WAIT_S)


@every_revision
async def test_hooks_hear_of_reports_before_they_are_sent(revision: str) -> None:
    server = a_server((1,), (2,))
    heard: list[Any] = []

    @server.hooks.outbound.on_progress
    async def hear(ctx: Any, params: Any) -> None:
        await asyncio.sleep(0)
        heard.append((type(ctx), params.progress))

    async with talking(server, revision) as client:
        await client.ask(work(client))
        assert values(client) == [1, 2]
    assert heard == [(Context, 1), (Context, 2)]


@every_revision
async def test_a_report_whose_hook_outlasts_the_request_is_not_sent(revision: str) -> None:
    server, began, goes_on = Server("slow hook"), asyncio.Event(), asyncio.Event()
    late: list[asyncio.Task[None]] = []

    @server.tool
    async def work(ctx: Context) -> None:
        late.append(asyncio.create_task(ctx.report_progress(1)))
        await began.wait()

    @server.hooks.outbound.on_progress
    async def wait(ctx: Any, params: Any) -> None:
        began.set()
        await goes_on.wait()

    async with talking(server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/call", WITH_TOKEN))
        goes_on.set()
        await asyncio.wait_for(late[0], WAIT_S)
        await client.ask(client.speaker.request(2, "tools/list"))
        assert reports(client) == []
