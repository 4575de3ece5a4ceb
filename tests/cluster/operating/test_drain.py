"""The end of a server over HTTP: what is refused, what goes on, and what clients are told."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import mcp_wire
from mcp_gen import Server, UsageError
from mcp_gen.server.serving.http import Draining, serve_http
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, with_sessions
from tests.support.http.asgi import headers_of, request, surfing
from tests.support.processes.child import WAIT_S, started

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)
REFUSED = {"code": -32603, "message": "the server is about to end"}
WANTED = {"notifications": {"toolsListChanged": True}}
PROGRAM = Path(__file__).with_name("asking_server.py")
ANSWER = {"action": "accept", "content": {"name": "Ada"}}


def shop() -> Server:
    server = Server("shop")

    @server.tool
    async def count() -> int:
        return 4

    return server


@with_sessions
async def test_a_stream_ends_with_the_time_to_come_back_where_clients_know_it(
    revision: str,
) -> None:
    app = shop().asgi()
    async with surfing(app, revision) as client:
        stream = client.get()
        await stream.head()
        await app.drain()
        retries = [event.retry for event in (await stream.whole()).events if event.retry]
    if mcp_wire.profile(revision).primes_streams:
        assert len(retries) == 1
        assert 500 <= retries[0] <= 1500
    else:
        assert retries == []


@with_sessions
async def test_no_session_is_opened_by_a_server_that_drains(revision: str) -> None:
    app, speaker = shop().asgi(), Speaker(revision)
    await app.drain()
    reply = await request(app, speaker.initialize(7))
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert (reply.json["id"], reply.json["error"]) == (7, REFUSED)


@with_sessions
async def test_a_session_goes_on_in_a_server_that_drains(revision: str) -> None:
    app, speaker = shop().asgi(), Speaker(revision)
    async with surfing(app, revision) as client:
        await app.drain()
        reply = await client.ask(speaker.call(1, "count"))
        assert reply.json["result"]["content"][0]["text"] == "4"
        refused = await client.get().whole()
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")


async def test_no_listening_begins_in_a_server_that_drains() -> None:
    app = shop().asgi()
    await app.drain()
    message = NEW.request(3, "subscriptions/listen", WANTED)
    reply = await request(app, message, headers_of(NEW, message))
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert (reply.json["id"], reply.json["error"]) == (3, REFUSED)


async def test_no_stream_of_http_and_sse_begins_in_a_server_that_drains() -> None:
    app = shop().asgi(legacy_sse_path="/sse")
    await app.drain()
    reply = await request(app, method="GET", path="/sse")
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    await app.aclose()


@pytest.mark.parametrize(("version", "told"), [("1.1", "close"), ("1.0", "close"), ("2", None)])
async def test_responses_ask_for_a_new_connection_once_a_server_drains(
    version: str, told: str | None
) -> None:
    app, message = shop().asgi(), NEW.call(1, "count")
    headers = headers_of(NEW, message)
    before = await request(app, message, headers, http_version=version)
    await app.drain()
    after = await request(app, message, headers, http_version=version)
    assert (before.headers.get("connection"), after.headers.get("connection")) == (None, told)
    assert after.status == 200


async def test_an_app_that_has_ended_can_begin_again() -> None:
    app = shop().asgi(legacy_sse_path="/sse", health=True)
    await app.drain()
    await app.aclose()
    assert (await request(app, OLD.initialize(0))).status == 200
    assert (await request(app, method="GET", path="/readyz")).status == 200
    await app.aclose()


async def test_a_time_below_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="drain_s=-1: expected a number of seconds"):
        await shop().run_async("http", port=0, drain_s=-1)
    with pytest.raises(UsageError, match="drain_delay_s=-1: expected a number of seconds"):
        await shop().run_async("http", port=0, drain_delay_s=-1)


# --- as a process ---

ACCEPT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def until_draining(client: httpx2.Client) -> None:
    """Ask a server for its state until it says that it drains, over connections of its own."""
    deadline = time.monotonic() + WAIT_S
    while client.get("/readyz").json()["status"] != "draining":
        assert time.monotonic() < deadline
        time.sleep(0.02)  # until the signal has arrived; bounded above


def messages_of(response: httpx2.Response) -> Iterator[Any]:
    """Yield the messages of a stream as they come."""
    for line in response.iter_lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data:
            yield json.loads(data)


@contextmanager
def client_at(url: str) -> Iterator[httpx2.Client]:
    base = url.removesuffix("/mcp")
    with httpx2.Client(base_url=base, trust_env=False, timeout=WAIT_S, headers=ACCEPT) as client:
        yield client


def test_a_call_that_waits_for_its_client_gets_the_answer_after_sigterm() -> None:
    hello = json.loads(OLD.initialize(0))
    hello["params"]["capabilities"] = {"elicitation": {}}
    with started([sys.executable, str(PROGRAM)]) as child:
        child.says(")\n")
        with client_at(child.stderr.split()[1]) as client:
            opened = client.post("/mcp", json=hello)
            client.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
            client.post("/mcp", content=OLD.initialized)
            with client.stream("POST", "/mcp", content=OLD.call(1, "greet")) as response:
                messages = messages_of(response)
                asked = next(messages)
                assert asked["method"] == "elicitation/create"
                child.signal(signal.SIGTERM)
                until_draining(client)
                answer = {"jsonrpc": "2.0", "id": asked["id"], "result": ANSWER}
                assert client.post("/mcp", json=answer).status_code == 202
                assert next(messages)["result"]["content"][0]["text"] == "Ada"
        assert child.ended() == 0


async def test_a_server_answers_for_the_delay_even_if_it_has_nothing_to_do() -> None:
    app, urls, listening = shop().asgi(health=True), list[str](), asyncio.Event()

    def listens(url: str) -> None:
        urls.append(url)
        listening.set()

    def call(client: httpx2.Client) -> int:
        until_draining(client)
        message = NEW.call(1, "count")
        headers = headers_of(NEW, message)
        return client.post("/mcp", content=message, headers=headers).status_code

    serving = asyncio.create_task(
        serve_http(app, "127.0.0.1", 0, draining=Draining(delay_s=0.5), listening=listens)
    )
    async with asyncio.timeout(WAIT_S):
        await listening.wait()
        serving.cancel()
        with client_at(urls[0]) as client:
            assert await asyncio.to_thread(call, client) == 200
            await asyncio.wait([serving])
            with pytest.raises(httpx2.ConnectError):
                await asyncio.to_thread(client.get, "/readyz")
