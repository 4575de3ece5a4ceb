"""Spec tests of progress and ping."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest

from mcp_gen import Context, Server
from tests.server.spec.servers import waiting
from tests.support.peers.asked import SILENCE, Asked
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement


def step(client: Conversation, token: Any, steps: list[float], **more: Any) -> Asked:
    params = {"name": "step", "arguments": {"steps": steps, **more}}
    return client.begin(
        "tools/call", params, meta={} if token is None else {"progressToken": token}
    )


def told(client: Conversation, token: Any) -> list[float]:
    params = client.params_of("notifications/progress")
    return [one["progress"] for one in params if one["progressToken"] == token]


# --- progress of the client's requests ---


@requirement("progress:increases")
async def test_progress_only_goes_up(connect: Connect) -> None:
    async with connect(waiting) as client:
        await step(client, "t", [1, 2, 2, 1.5, 3, 0, -1, 3.5], total=4).result()
    assert told(client, "t") == [1, 2, 3, 3.5]
    assert {one["total"] for one in client.params_of("notifications/progress")} == {4}


@requirement("progress:active-only")
async def test_who_gives_no_token_is_told_no_progress(connect: Connect) -> None:
    async with connect(waiting) as client:
        await step(client, None, [1, 2]).result()
        await step(client, 7, [1]).result()
        await step(client, "7", [2]).result()
        await client.settled()
    tokens = [one["progressToken"] for one in client.params_of("notifications/progress")]
    assert [(type(one), one) for one in tokens] == [(int, 7), (str, "7")]


@requirement("progress:tracked")
async def test_each_of_several_open_requests_has_its_own_progress(connect: Connect) -> None:
    async with connect(waiting) as client:
        asked = [step(client, f"t{number}", [number, number + 0.5]) for number in range(1, 6)]
        await asyncio.gather(*(one.result() for one in asked))
    assert [told(client, f"t{number}") for number in range(1, 6)] == [
        [number, number + 0.5] for number in range(1, 6)
    ]


@requirement("progress:stops")
async def test_after_the_answer_there_is_no_progress(connect: Connect) -> None:
    async with connect(runaway) as client:
        asked = client.begin("tools/call", {"name": "run_away"}, meta={"progressToken": "t"})
        await asked.result()
        here = len(client.frames)
        await client.text("until_it_has_reported")
        await client.settled()
    assert "notifications/progress" not in [one.get("method") for one in client.frames[here:]]


def runaway() -> Server:
    """Return a server whose tool leaves a task behind that reports progress."""
    server = Server("runaway")
    tasks: list[asyncio.Task[None]] = []

    @server.tool
    async def run_away(ctx: Context) -> str:
        async def go_on() -> None:
            for done in range(1, 50):
                await ctx.report_progress(100 + done)
                await asyncio.sleep(0)

        await ctx.report_progress(1)
        tasks.append(asyncio.create_task(go_on()))
        return "away"

    @server.tool
    async def until_it_has_reported() -> str:
        await asyncio.gather(*tasks)
        return "reported"

    return server


@requirement("progress:rate")
async def test_a_tool_that_reports_without_end_does_not_flood_its_client(connect: Connect) -> None:
    async with connect(limited) as client:
        await step(client, "t", [*range(1, 1001)], total=1000).result()
    assert told(client, "t") == [1, 1000], "what is done is told whatever was told before"


def limited() -> Server:
    """Return a server that may report once, and again only after a time beyond any test."""
    server = Server("limited", max_progress_per_s=0.01)

    @server.tool
    async def step(steps: list[float], ctx: Context, total: float | None = None) -> None:
        for number in steps:
            await ctx.report_progress(number, total)

    return server


# --- progress of server requests ---


def curious() -> Server:
    """Return a server whose tool requests roots twice at once, with progress."""
    server = Server("curious")

    @server.tool
    async def folders(ctx: Context) -> list[float]:
        heard: list[float] = []

        def report(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)

        await asyncio.gather(
            ctx.client.list_roots(progress=report), ctx.client.list_roots(progress=report)
        )
        return sorted(heard)

    return server


@requirement("progress:token:kind", "progress:token:unique")
async def test_every_question_has_a_token_of_its_own(connect: Connect) -> None:
    tokens: list[Any] = []
    both = asyncio.Event()

    async def report(params: dict[str, Any]) -> Any:
        tokens.append(params["_meta"]["progressToken"])
        if len(tokens) == 2:
            both.set()
        await both.wait()
        done = {"progressToken": tokens[-1], "progress": len(tokens)}
        client.notify("notifications/progress", done)
        return {"roots": []}

    async with connect(curious, answers={"roots/list": report}) as client:
        await client.call("folders")
    assert all(type(token) in (str, int) for token in tokens)
    assert len(set(tokens)) == len(tokens) == 2


# --- pings ---


@requirement("ping:answered")
async def test_a_ping_is_answered_with_an_empty_result_also_while_a_call_is_open(
    connect: Connect,
) -> None:
    async with connect(waiting) as client:
        client.begin("tools/call", {"name": "hold"})
        await client.text("until_holding")
        assert await client.request("ping") == {}
        await client.text("release")


def caring(every_s: float, timeout_s: float) -> Server:
    """Return a server that pings its client."""
    logging.basicConfig(level=logging.INFO)
    return Server("caring", keep_alive_s=every_s, keep_alive_timeout_s=timeout_s)


@requirement("ping:periodic", "ping:frequency")
async def test_a_server_pings_its_client_as_often_as_it_is_told_to(connect: Connect) -> None:
    async with connect(partial(caring, 0.02, 5), answers={"ping": lambda _: {}}) as client:
        await client.asks(3)
    assert {method for method, _ in client.questions} == {"ping"}
    async with connect(partial(caring, 3600, 5), answers={"ping": lambda _: {}}) as client:
        await client.settled()
    assert client.questions == []


@requirement("ping:timeout", "ping:lost")
async def test_a_client_that_does_not_answer_is_given_up(connect: Connect) -> None:
    async with connect(partial(caring, 0.02, 0.02), answers={"ping": lambda _: SILENCE}) as client:
        await asyncio.wait_for(client.hung_up.wait(), 30)


@requirement("ping:timeout")
async def test_a_client_has_the_time_to_answer_that_it_is_given(connect: Connect) -> None:
    async def slowly(params: Any) -> Any:
        await asyncio.sleep(0.1)
        return {}

    async with connect(partial(caring, 0.02, 5), answers={"ping": slowly}) as client:
        await client.asks(2)
        assert not client.hung_up.is_set()


@requirement("ping:logged")
async def test_that_a_client_did_not_answer_is_in_the_log(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(partial(caring, 0.02, 0.02), answers={"ping": lambda _: SILENCE}) as client:
        await asyncio.wait_for(client.hung_up.wait(), 30)
    assert "the client is silent" in "\n".join([caplog.text, *client.log])
