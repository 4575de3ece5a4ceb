"""Work and memory that a server causes in an HTTP client."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, TransportError
from mcp_gen.transports.http_client import pool
from mcp_gen.transports.http_client.outbox import MAX_AT_ONCE
from mcp_gen.transports.http_client.pool import Pool
from tests.client.scripted import opening
from tests.support.frames import HANDSHAKE
from tests.support.http.loopback import Got, Line, scripted_web

WAIT_S = 30.0
PROFILE = mcp_wire.profile(HANDSHAKE)
MANY = 100_000
FEW_MB = 4_000_000

Answer = Callable[[Got, Line], Awaitable[None]]


@asynccontextmanager
async def connected(
    on_call: Answer, on_progress: Answer | None = None, http_client: Any = None
) -> AsyncIterator[ClientSession]:
    """Connect a client to a server that answers calls, and progress, in a hostile way."""
    replies = opening(HANDSHAKE)

    async def script(got: Got, line: Line) -> None:
        if got.method != "POST":
            await line.answer(405)
        elif got.asks in replies:
            reply = replies[got.asks](got.json["params"])
            assert reply is not None
            await line.result(got, reply["result"])
        elif "id" in got.json:
            await on_call(got, line)
        elif got.asks == PROFILE.progress.name and on_progress is not None:
            await on_progress(got, line)
        else:
            await line.answer(202)

    async with asyncio.timeout(WAIT_S), scripted_web(script) as web, Client("test") as client:
        yield await client.connect(web.url, revision=HANDSHAKE, http_client=http_client)


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd"])
async def test_a_body_that_may_grow_without_bound_is_not_decoded(coding: str) -> None:
    async def answer(got: Got, line: Line) -> None:
        bomb = gzip.compress(gzip.compress(b"\0" * 100_000_000))
        await line.answer(200, bomb, content_encoding=coding)

    async with (
        httpx2.AsyncClient(trust_env=False) as http_client,
        connected(answer, http_client=http_client) as session,
    ):
        with pytest.raises(TransportError, match="expected a body in gzip or deflate"):
            await session.call_tool("any")


async def test_response_headers_of_any_size_are_not_read() -> None:
    async def answer(got: Got, line: Line) -> None:
        await line.answer(401, www_authenticate="x" * 10_000_000)

    async with connected(answer) as session:
        with pytest.raises(TransportError):
            await session.call_tool("any")


async def test_notifications_that_a_server_does_not_accept_cost_little_memory() -> None:
    async def silent(got: Got, line: Line) -> None:
        await line.silence()

    async with connected(silent, silent) as session:
        connection: Any = session._connection
        tracemalloc.start()
        try:
            for number in range(MANY):
                params = PROFILE.progress.params(progress_token=number % 3, progress=number)
                connection.notify(PROFILE.progress, params)
                if number % 1_000 == 0:
                    await asyncio.sleep(0)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < FEW_MB


async def test_notifications_that_waited_are_sent_when_the_server_accepts_them() -> None:
    heard: list[Any] = []
    last = asyncio.Event()

    async def accept(got: Got, line: Line) -> None:
        heard.append(got.json["params"]["progress"])
        await line.answer(202)
        if heard[-1] == MANY:
            last.set()

    async with connected(accept, accept) as session:
        connection: Any = session._connection
        for number in range(MANY + 1):
            params = PROFILE.progress.params(progress_token="mine", progress=number)
            connection.notify(PROFILE.progress, params)
        await asyncio.wait_for(last.wait(), WAIT_S)
    assert heard == [*range(100), MANY]


async def test_few_urls_of_a_server_that_redirects_to_many_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "MAX_URLS", 3)
    requests = Pool(WAIT_S)
    for number in range(10):
        with pytest.raises(TransportError):
            await requests.send("GET", f"http://127.0.0.1:1/{number}", [], None)
    assert len(requests._urls) <= 3
    await requests.aclose()


async def test_a_server_that_asks_without_end_gets_few_answers_at_once() -> None:
    """It sends requests on an SSE stream and accepts no response: few are open, few are read."""
    most = at_once = sent = 0
    enough = asyncio.Event()

    async def ask_without_end(got: Got, line: Line) -> None:
        nonlocal sent
        await line.head(200, "text/event-stream")
        for id in range(10 * MANY):
            await line.raw(b'data: {"jsonrpc":"2.0","id":%d,"method":"ping"}\n\n' % id)
            sent += 1

    async def script(got: Got, line: Line) -> None:
        nonlocal most, at_once
        answers = got.method == "POST" and "method" not in got.json
        if got.asks == "initialize":
            await line.result(got, opening(HANDSHAKE)["initialize"](None)["result"])
        elif answers:
            at_once += 1
            most = max(most, at_once)
            if most == MAX_AT_ONCE:
                enough.set()
            await line.silence()
        elif got.method == "GET":
            await ask_without_end(got, line)
        else:
            await line.answer(202)

    async with asyncio.timeout(WAIT_S), scripted_web(script) as web, Client("test") as client:
        session = await client.connect(web.url, revision=HANDSHAKE)
        await asyncio.wait_for(enough.wait(), WAIT_S)
        connection: Any = session._connection
        for _ in range(2_000):  # turns in which it could open and read more
            await asyncio.sleep(0)
        outbox = connection._transport._outbox
        assert (most, len(outbox._unsent) < 10_000, sent < 10 * MANY) == (MAX_AT_ONCE, True, True)
