"""Numbers, times and texts of peers, at both ends."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from mcp_gen import Client, Context, McpError, PeerLimits, Server, Tasks
from mcp_gen.client.callbacks.own_tasks import MAX_TTL_S
from mcp_gen.core.envelope import MAX_ERROR_LENGTH
from mcp_gen.core.errors import InvalidRequest
from mcp_gen.core.peer_values import MAX_S, SHOWN, is_finite_number, seconds_within, shortened
from mcp_gen.server.tasks.options import CreationRates
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle
from tests.support.loop import until
from tests.support.peers.raw import WAIT_S, talking
from tests.support.peers.scripted import MemoryPeer, opening

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)
HUGE = 10**400
LONG = "x" * 4_000_000


# --- times ---


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [
        (1500, 1.5),
        (0, 1.0),
        (-1, 1.0),
        (-HUGE, 1.0),
        (10_000, 10.0),
        (10_001, 10.0),
        (10**30, 10.0),
        (HUGE, 10.0),
        (1e300, 10.0),
    ],
)
def test_a_time_of_a_peer_is_within_bounds(milliseconds: float, seconds: float) -> None:
    assert seconds_within(milliseconds, least_s=1.0, most_s=10.0) == seconds


def test_no_time_of_a_peer_is_longer_than_the_bound() -> None:
    assert seconds_within(HUGE) == MAX_S


@pytest.mark.parametrize(("ttl", "kept"), [(HUGE, 60_000), (10**30, 60_000), (59_000, 59_000)])
async def test_the_time_of_a_task_is_at_most_as_long_as_the_server_allows(
    ttl: int, kept: int
) -> None:
    assert (await _created({"ttl": ttl}))["result"]["task"]["ttl"] == kept


@pytest.mark.parametrize("ttl", [0, -1, -HUGE])
async def test_a_task_without_a_time_that_can_be_has_that_of_the_server(ttl: int) -> None:
    assert (await _created({"ttl": ttl}))["result"]["task"]["ttl"] == 5_000


@pytest.mark.parametrize("ttl", ["1.5", "1e3", '"1"', "true"])
async def test_a_time_that_is_no_integer_is_refused(ttl: str) -> None:
    error = (await _created({"ttl": msgspec.Raw(ttl.encode())}))["error"]
    assert error["code"] == -32602


async def _created(task: dict[str, Any]) -> Any:
    server = Server("s", tasks=Tasks(ttl_s=5, max_ttl_s=60))

    @server.tool(task="required")
    async def work() -> str:
        return "done"

    async with talking(server, HANDSHAKE) as client:
        params = {"name": "work", "arguments": {}, "task": task}
        answer = await client.ask(OLD.request(1, "tools/call", params))
    await server.aclose()
    return answer


async def test_a_client_clamps_the_time_of_a_task_that_a_server_asks_for() -> None:
    peer = MemoryPeer(opening(HANDSHAKE))
    async with Client("c", tasks=True) as client:

        @client.sampling
        async def sample(session: Any, params: Any) -> None:
            """Refuse."""

        await client.connect(await peer.start(), revision=HANDSHAKE)
        params = {"messages": [], "maxTokens": 1, "task": {"ttl": HUGE}}
        peer.say(OLD.request(7, "sampling/createMessage", params))
        async with asyncio.timeout(WAIT_S):
            await until(lambda: any(one.get("id") == 7 for one in peer.asked))
        (answer,) = [one for one in peer.asked if one.get("id") == 7]
    assert answer["result"]["task"]["ttl"] == MAX_TTL_S * 1000


@pytest.mark.parametrize("number", [HUGE, -HUGE, 10**30, 0])
async def test_a_client_takes_any_cache_time(number: int) -> None:
    page = {
        "tools": [],
        "resultType": "complete",
        "ttlMs": number,
        "cacheScope": "private",
    }
    peer = MemoryPeer({**opening(PER_REQUEST), "tools/list": lambda _: page})
    async with Client("c") as client:
        session = await client.connect(await peer.start(), revision=PER_REQUEST)
        assert (await session.list_tools()).tools == []


@pytest.mark.parametrize("number", [HUGE, -HUGE, 0])
async def test_a_client_takes_any_poll_interval_and_time_of_a_task(number: int) -> None:
    task = {
        "taskId": "t",
        "status": "working",
        "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "ttl": number,
        "pollInterval": number,
    }
    declared: dict[str, Any] = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
    tool = {
        "name": "work",
        "inputSchema": {"type": "object"},
        "execution": {"taskSupport": "required"},
    }
    answers = opening(HANDSHAKE)
    answers["initialize"]({})["capabilities"] = declared
    peer = MemoryPeer(
        {
            **answers,
            "tools/list": lambda _: {"tools": [tool]},
            "tools/call": lambda _: {"task": task},
            "tasks/get": lambda _: {**task, "status": "completed"},
            "tasks/result": lambda _: {"content": []},
            "tasks/cancel": lambda _: {**task, "status": "cancelled"},
        }
    )
    async with Client("c") as client:
        session = await client.connect(await peer.start(), revision=HANDSHAKE)
        started = await session.start_tool("work", {})
        delay_s = started._delay_s(1.0)
        assert 0 < delay_s < 3600
        await started.cancel()


# --- progress ---


@pytest.mark.parametrize("number", [HUGE, -HUGE, 1.7e308, 10**308, 10**309, -(10**309)])
def test_a_number_is_finite_if_it_fits_in_a_float(number: float) -> None:
    try:
        fits = float(number) < float("inf")
    except OverflowError:
        fits = False
    assert is_finite_number(number) == fits


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_not_finite(number: float) -> None:
    assert not is_finite_number(number)


@each_lifecycle
async def test_a_client_leaves_out_progress_that_is_no_finite_number(revision: str) -> None:
    done = {"content": [], "resultType": "complete"}
    peer = MemoryPeer(opening(revision))
    told: list[Any] = []
    async with Client("c") as client:
        session = await client.connect(await peer.start(), revision=revision)
        call = asyncio.ensure_future(
            session.call_tool("x", {}, progress=lambda *one: told.append(one))
        )
        asked = await peer.heard("tools/call")
        token = asked["params"]["_meta"]["progressToken"]
        for progress, total in ((HUGE, 1), (1, HUGE), (-HUGE, None), (1, 2)):
            params = {"progressToken": token, "progress": progress, "total": total}
            whole = {name: value for name, value in params.items() if value is not None}
            frame = {"jsonrpc": "2.0", "method": "notifications/progress", "params": whole}
            peer.say(msgspec.json.encode(frame))
        peer.say(
            b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,'
            b'"progress":1e999}}'
        )
        peer.answer(asked["id"], done)
        await asyncio.wait_for(call, WAIT_S)
    assert [one[:2] for one in told] == [(1, 2)]


@each_lifecycle
async def test_a_long_progress_token_is_not_repeated(revision: str) -> None:
    server = Server("s")

    @server.tool
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1, HUGE)
        await ctx.report_progress(HUGE, 2)
        return "done"

    async with talking(server, revision) as client:
        params = {"name": "work", "arguments": {}, "_meta": {"progressToken": LONG}}
        answer = await client.ask(client.speaker.request(1, "tools/call", params))
        assert answer["result"]["content"][0]["text"] == "done"
        assert client.came == []


# --- texts in log lines and errors ---


@each_lifecycle
@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "method": LONG},
        {"id": LONG, "method": "ping"},
        {"id": LONG, "result": {}},
        {"id": LONG, "error": {"code": 1, "message": LONG}},
        {"method": LONG},
        {"method": "notifications/cancelled", "params": {"requestId": LONG, "reason": LONG}},
        {"method": "notifications/progress", "params": {"progressToken": LONG, "progress": LONG}},
        {"id": 1, "method": "initialize", "params": {"protocolVersion": LONG}},
        {"id": 1, "method": "tools/call", "params": {"name": LONG}},
        {"id": 1, "method": "tools/call", "params": {LONG: LONG, "name": 5}},
        {"id": 1, "method": "tools/list", "params": {"cursor": LONG}},
        {"id": 1, "method": "tools/list", "params": {"_meta": {LONG: 1}}},
        {"id": 1, "method": LONG, "params": LONG},
        {"id": 1, "method": "logging/setLevel", "params": {"level": LONG}},
    ],
)
async def test_no_line_of_the_log_repeats_a_long_text_of_a_client(
    revision: str, message: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = Server("s")
    server.add_tool(lambda: "x", name="x")
    async with talking(server, revision) as client:
        client.send(msgspec.json.encode({"jsonrpc": "2.0", **message}))
        await client.ask(client.speaker.request("now", "tools/list"))
        answered = [frame for frame in client.came if "result" not in frame]
    lines = [logging.Formatter().format(record) for record in caplog.records]
    assert max(map(len, lines), default=0) < 3 * SHOWN
    assert len(lines) <= 4
    assert all(len(frame["error"]["message"]) < MAX_ERROR_LENGTH + 100 for frame in answered)


async def test_no_line_of_the_log_repeats_a_long_text_of_a_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    peer = MemoryPeer(opening(HANDSHAKE))
    async with Client("c") as client:
        session = await client.connect(await peer.start(), revision=HANDSHAKE)
        for message in (
            {"id": 1, "method": LONG},
            {"id": LONG, "result": {}},
            {"method": LONG},
            {"method": "notifications/cancelled", "params": {"requestId": LONG, "reason": LONG}},
            {"id": LONG, "method": "ping"},
        ):
            peer.say(msgspec.json.encode({"jsonrpc": "2.0", **message}))
        call = asyncio.ensure_future(session.call_tool("x", {}))
        asked = await peer.heard("tools/call")
        error = {"code": 1, "message": LONG}
        peer.say(msgspec.json.encode({"jsonrpc": "2.0", "id": asked["id"], "error": error}))
        with pytest.raises(McpError):
            await asyncio.wait_for(call, WAIT_S)
    lines = [logging.Formatter().format(record) for record in caplog.records]
    assert lines
    assert max(map(len, lines)) < 3 * SHOWN


@pytest.mark.parametrize("name", ["mcp_gen.server", "mcp_gen.client"])
def test_a_traceback_with_a_long_text_is_cut(name: str, caplog: pytest.LogCaptureFixture) -> None:
    try:
        try:
            raise ValueError(LONG)
        except ValueError as error:
            raise RuntimeError("short") from error
    except RuntimeError:
        logging.getLogger(name).exception("%s failed", "it")
    (record,) = caplog.records
    text = logging.Formatter().format(record)
    assert "RuntimeError: short" in text
    assert len(text) < 10 * SHOWN


def test_a_text_of_a_peer_stays_on_its_line() -> None:
    assert shortened("one\nERROR another\r\x1b[31m") == "one\\nERROR another\\r\\x1b[31m"


def test_a_short_text_is_shown_as_it_is() -> None:
    assert shortened("tools/call é") == "tools/call é"


# --- hooks and rates ---


@each_lifecycle
@pytest.mark.parametrize("what", ["requests", "notifications"])
async def test_slow_hooks_of_a_flood_are_bounded(
    revision: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, go_on = Server("s", peer_limits=PeerLimits(max_hook_tasks=20)), asyncio.Event()
    heard: list[str] = []

    @server.hooks.on_error
    async def slow(ctx: Context, method: str, params: Any, error: BaseException) -> None:
        heard.append(method)
        await go_on.wait()

    @server.hooks.on_cancelled
    async def slow_too(ctx: Context, params: Any) -> None:
        heard.append("cancelled")
        await go_on.wait()

    async with talking(server, revision) as client:
        tasks = len(asyncio.all_tasks())
        for id in range(1, 501):
            client.send(
                client.speaker.request(id, "unknown/one")
                if what == "requests"
                else client.speaker.cancel(id)
            )
        client.send(client.speaker.request("now", "tools/list"))
        await client.answer("now")
        assert len(asyncio.all_tasks()) <= tasks + 21
        assert len(heard) == 20
        assert len([one for one in caplog.records if "left out" in one.message]) == 1
        go_on.set()
        await asyncio.wait_for(until(lambda: len(asyncio.all_tasks()) < tasks + 10), WAIT_S)
        await asyncio.sleep(0)  # a task that has ended makes room in the next turn of the loop
        client.send(client.speaker.request("more", "unknown/one"))
        await client.answer("more")
        await asyncio.wait_for(until(lambda: len(heard) == 21), WAIT_S)


def test_the_rates_of_many_owners_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_gen.server.tasks.options.MAX_OWNERS", 10)
    rates = CreationRates(1000.0, 1)
    for number in range(1000):
        rates.check(f"owner {number}")
    assert len(rates._owners) <= 10


def test_clients_without_a_principal_create_as_many_tasks_as_several_clients() -> None:
    rates = CreationRates(2.0, 3)
    for _ in range(2):
        rates.check("a session")
    with pytest.raises(InvalidRequest):
        rates.check("a session")
    for _ in range(6):
        rates.check(None)
    with pytest.raises(InvalidRequest):
        rates.check(None)
