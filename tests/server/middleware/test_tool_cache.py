"""ToolCache: results of read-only tools, for the same client, until they expire or are dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Client, Context, McpError, Server, UsageError
from mcp_gen.middleware import ToolCache
from mcp_gen.types import ToolAnnotations
from tests.server.middleware.clients import Clock, connected, visited
from tests.support.frames import HANDSHAKE, PER_REQUEST, STREAMABLE, each_lifecycle, every_revision
from tests.support.peers.asked import Refused
from tests.support.peers.connect import talk
from tests.support.peers.conversation import Conversation

READS = ToolAnnotations(read_only_hint=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, "mcp_gen.server.middleware.cached_results")


@dataclass
class Name:
    name: str


class Counting:
    """Server whose tools count their runs: the result of each tells how many there were."""

    def __init__(self, cache: ToolCache | None = None) -> None:
        self.server = Server("counting")
        self.cache = ToolCache(60) if cache is None else cache
        self.server.add_middleware(self.cache)
        self.runs = 0
        self.goes_on = asyncio.Event()
        self.started = asyncio.Event()
        self.fails: Exception | None = None

        @self.server.tool(annotations=READS)
        async def look(item: str = "", size: int = 0) -> str:
            return self.run()

        @self.server.tool(annotations=READS)
        async def other() -> str:
            return self.run()

        @self.server.tool
        async def write() -> str:
            return self.run()

        @self.server.tool(annotations=READS)
        async def slow() -> str:
            run = self.run()
            self.started.set()
            await self.goes_on.wait()
            if self.fails is not None:
                error, self.fails = self.fails, None
                raise error
            return run

        @self.server.tool(annotations=READS)
        async def fail() -> str:
            raise ValueError(self.run())

        @self.server.tool(annotations=READS)
        async def ask(ctx: Context) -> str:
            await ctx.elicit("Who?", Name)
            return self.run()

    def run(self) -> str:
        self.runs += 1
        return str(self.runs)


@asynccontextmanager
async def counting(
    revision: str, cache: ToolCache | None = None
) -> AsyncIterator[tuple[Counting, Conversation]]:
    """Open a conversation with a counting server."""
    made = Counting(cache)
    async with connected(made.server, revision) as client:
        yield made, client


@every_revision
async def test_an_equal_call_gets_the_result_of_the_first(revision: str) -> None:
    async with counting(revision) as (_, client):
        first = await client.call("look", item="bolt", size=1)
        assert await client.call("look", size=1, item="bolt") == first


@every_revision
@pytest.mark.parametrize(
    ("tool", "arguments"), [("look", {"item": "nut"}), ("other", {}), ("look", {"size": 1})]
)
async def test_another_call_runs_the_tool(
    revision: str, tool: str, arguments: dict[str, Any]
) -> None:
    async with counting(revision) as (_, client):
        await client.call("look", item="bolt")
        assert await client.text(tool, **arguments) == "2"


@every_revision
@pytest.mark.parametrize("tool", ["write", "fail"])
async def test_a_tool_that_writes_and_one_that_fails_run_each_time(
    revision: str, tool: str
) -> None:
    async with counting(revision) as (made, client):
        await client.call(tool)
        await client.call(tool)
    assert made.runs == 2


@each_lifecycle
async def test_a_result_is_run_anew_when_it_has_expired(revision: str, clock: Clock) -> None:
    async with counting(revision) as (_, client):
        texts = [await client.text("look")]
        for pause_s in (59.9, 0.2):
            clock.now_s += pause_s
            texts.append(await client.text("look"))
    assert texts == ["1", "1", "2"]


@every_revision
async def test_another_connection_gets_nothing_of_the_first(revision: str) -> None:
    made = Counting()
    async with connected(made.server, revision) as one, connected(made.server, revision) as two:
        assert [await one.text("look"), await two.text("look")] == ["1", "2"]


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_a_principal_gets_its_own_results_over_all_its_sessions(revision: str) -> None:
    made = Counting()
    async with visited(made.server, revision) as visit:
        texts: list[str] = []
        for principal in ("ann", "bob", "ann"):
            async with visit(principal) as client:
                texts.append(await client.text("look"))
    assert texts == ["1", "2", "1"]


async def test_clients_that_cannot_be_told_apart_get_nothing_cached() -> None:
    made = Counting()
    async with visited(made.server, PER_REQUEST) as visit, visit() as client:
        assert [await client.text("look"), await client.text("look")] == ["1", "2"]


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_all_clients_share_results_where_that_is_said(revision: str) -> None:
    made = Counting(ToolCache(60, shared=True))
    async with visited(made.server, revision) as visit, visit("ann") as ann, visit() as nobody:
        assert [await ann.text("look"), await nobody.text("look")] == ["1", "1"]


async def test_results_are_not_shared_between_revisions() -> None:
    made = Counting(ToolCache(60, shared=True))
    async with connected(made.server, HANDSHAKE) as old, connected(made.server, PER_REQUEST) as new:
        assert [await old.text("look"), await new.text("look")] == ["1", "2"]


@each_lifecycle
async def test_who_may_not_use_a_tool_gets_no_shared_result(revision: str) -> None:
    made = Counting(ToolCache(60, shared=True))
    made.server.filter_tools(lambda ctx, tool: ctx.principal == "ann")
    async with visited(made.server, revision) as visit, visit("ann") as ann, visit("eve") as eve:
        assert await ann.text("look") == "1"
        refused = await eve.refusal("tools/call", {"name": "look", "arguments": {}})
    assert "unknown tool" in refused.error["message"]


async def test_a_tool_of_one_session_shares_no_results_with_its_namesake() -> None:
    made = Counting(ToolCache(60, shared=True))

    @made.server.tool
    async def mine(ctx: Context) -> None:
        async def look() -> str:
            return "my own"

        ctx.server.for_session(ctx.session).tool(annotations=READS)(look)

    async with connected(made.server, HANDSHAKE) as one, connected(made.server, HANDSHAKE) as two:
        await one.call("mine")
        assert [await two.text("look"), await one.text("look")] == ["1", "my own"]


@each_lifecycle
async def test_a_result_that_needed_input_is_not_cached(revision: str) -> None:
    made = Counting()
    answers = {"elicitation/create": lambda asked: {"action": "decline"}}
    async with talk(lambda: made.server, revision, answers=answers) as client:
        await client.call("ask")
        assert await client.text("ask") == "2"


# --- equal calls at the same time ---


async def during(made: Counting, client: Conversation, times: int) -> list[Any]:
    """Begin equal calls, all before the first one goes on."""
    asked = [client.begin("tools/call", {"name": "slow", "arguments": {}}) for _ in range(times)]
    async with asyncio.timeout(30):
        await made.started.wait()
    await client.settled()
    return asked


@every_revision
async def test_equal_calls_at_the_same_time_run_the_tool_once(revision: str) -> None:
    async with counting(revision) as (made, client):
        asked = await during(made, client, 5)
        made.goes_on.set()
        results = [await one.result() for one in asked]
    assert {one["content"][0]["text"] for one in results} == {"1"}


@each_lifecycle
async def test_calls_that_wait_run_by_themselves_when_the_first_is_cancelled(
    revision: str,
) -> None:
    async with counting(revision) as (made, client):
        first, second, third = await during(made, client, 3)
        client.cancel(first)
        await client.settled()
        made.goes_on.set()
        results = [await second.result(), await third.result()]
    assert [one["content"][0]["text"] for one in results] == ["2", "3"]


@each_lifecycle
async def test_a_call_that_waits_can_be_cancelled_without_the_others(revision: str) -> None:
    async with counting(revision) as (made, client):
        first, second, third = await during(made, client, 3)
        client.cancel(second)
        await client.settled()
        made.goes_on.set()
        results = [await first.result(), await third.result()]
    assert [one["content"][0]["text"] for one in results] == ["1", "1"]


@each_lifecycle
async def test_an_error_of_the_first_is_not_that_of_the_others(revision: str) -> None:
    async with counting(revision) as (made, client):
        made.fails = McpError(-31000, "only mine")
        first, second = await during(made, client, 2)
        made.goes_on.set()
        with pytest.raises(Refused, match="only mine"):
            await first.result()
        assert (await second.result())["content"][0]["text"] == "2"


# --- what drops results ---


@every_revision
async def test_a_change_of_the_tools_drops_all_results(revision: str) -> None:
    async with counting(revision) as (made, client):
        await client.call("look")
        made.server.remove_tool("write")
        assert await client.text("look") == "2"


@each_lifecycle
async def test_results_are_dropped_by_a_call_of_all_or_one_tool(revision: str) -> None:
    async with counting(revision) as (made, client):
        texts = [await client.text("look"), await client.text("other")]
        made.cache.drop("look")
        texts += [await client.text("look"), await client.text("other")]
        made.cache.drop()
        texts += [await client.text("look"), await client.text("other")]
    assert texts == ["1", "2", "3", "2", "4", "5"]


@each_lifecycle
async def test_a_call_in_progress_is_not_cached_nor_waited_for_after_a_drop(revision: str) -> None:
    async with counting(revision) as (made, client):
        (first,) = await during(made, client, 1)
        made.cache.drop()
        made.started.clear()
        (second,) = await during(made, client, 1)
        made.goes_on.set()
        results = [await first.result(), await second.result()]
        assert [one["content"][0]["text"] for one in results] == ["1", "2"]
        assert await client.text("slow") == "2"


@each_lifecycle
async def test_a_result_of_before_a_drop_is_not_kept(revision: str) -> None:
    async with counting(revision) as (made, client):
        (first,) = await during(made, client, 1)
        made.cache.drop()
        made.goes_on.set()
        await first.result()
        assert await client.text("slow") == "2"


# --- bounds ---


@each_lifecycle
async def test_the_least_recently_used_result_is_dropped_beyond_the_most(revision: str) -> None:
    async with counting(revision, ToolCache(60, max_entries=2)) as (made, client):
        for item in ("a", "b", "a", "c"):
            await client.call("look", item=item)
        assert len(made.cache) == 2
        assert [await client.text("look", item="a"), await client.text("look", item="b")] == [
            "1",
            "4",
        ]


@each_lifecycle
async def test_the_bytes_of_all_results_are_bounded(revision: str) -> None:
    async with counting(revision, ToolCache(60, max_bytes=1_000)) as (made, client):
        for number in range(50):
            await client.call("look", item="x" * 100, size=number)
        assert len(made.cache) > 1
        assert made.cache.size_bytes <= 1_000


@each_lifecycle
async def test_a_result_larger_than_all_may_be_is_not_cached(revision: str) -> None:
    async with counting(revision, ToolCache(60, max_bytes=10)) as (made, client):
        await client.call("look")
        assert (len(made.cache), made.cache.size_bytes) == (0, 0)


# --- mounted servers ---


@every_revision
async def test_results_of_a_mounted_server_are_cached_and_dropped_with_its_tools(
    revision: str,
) -> None:
    outer, inner = Server("outer"), Counting()
    cache = ToolCache(60)
    outer.add_middleware(cache)
    outer.mount("in", inner.server)
    async with connected(outer, revision) as client:
        await client.call("in_look")
        assert await client.text("in_look") == "1"
        assert len(cache) == 1
        inner.server.remove_tool("write")
        assert len(cache) == 0
        assert await client.text("in_look") == "2"


@every_revision
async def test_results_of_a_server_far_away_are_cached(revision: str) -> None:
    outer, inner = Server("outer"), Counting()
    inner.server.runtime.kernel.middleware.clear()
    outer.add_middleware(ToolCache(60))
    async with Client("gateway") as client:
        session = await client.connect(inner.server)
        outer.mount("far", session)
        async with connected(outer, revision) as user:
            assert [await user.text("far_look"), await user.text("far_look")] == ["1", "1"]
            assert [await user.text("far_write"), await user.text("far_write")] == ["2", "3"]
        outer.unmount(session)


@pytest.mark.parametrize("option", ["ttl_s", "max_entries", "max_bytes"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_a_limit_that_is_none_is_refused(option: str, value: float) -> None:
    options: dict[str, Any] = {"ttl_s": 60, option: value}
    with pytest.raises(UsageError, match=rf"ToolCache\({option}="):
        ToolCache(**options)
