"""Real HTTP servers on loopback: streams in pieces, disconnects, and an orderly shutdown."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from mcp_gen import Server
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import events_of, headers_of
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import Talker, soon
from tests.support.ports import free_port
from tests.support.processes.child import Child, started
from tests.support.requirement import requirement

NEW, OLD = Speaker(PER_REQUEST), Speaker(HANDSHAKE)
SESSION = str(OLD.profile.session_header)
SCRIPT = Path(__file__).parents[2] / "support/http/http_server.py"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def headers(speaker: Speaker, message: bytes, **more: str) -> dict[str, str]:
    return {**ACCEPT, **headers_of(speaker, message), **more}


@asynccontextmanager
async def listening(app: Any, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Connect a client to an app that uvicorn serves in this loop."""
    config = uvicorn.Config(app, port=0, log_level="warning", **options)
    ready = asyncio.Event()

    class Announced(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

    server = Announced(config)
    # Not `serve`: the test's own signal handlers stay.
    serving = asyncio.get_running_loop().create_task(server._serve())
    try:
        await soon(ready)
        (port,) = {s.getsockname()[1] for one in server.servers for s in one.sockets}
        # Without a proxy, whatever the environment says.
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=WAIT_S
        ) as client:
            yield client
    finally:
        server.should_exit = True
        await serving
        # Generators of streams that were not read to their end are closed by tasks.
        for _ in range(10):
            await asyncio.sleep(0)


async def frame(lines: AsyncIterator[str]) -> Any:
    """Return the next message on a stream."""
    async for line in lines:
        if line.startswith("data:") and line.removeprefix("data:").strip():
            return json.loads(line.removeprefix("data:"))
    raise AssertionError("the stream ended")


@asynccontextmanager
async def streaming(
    client: httpx2.AsyncClient, speaker: Speaker, message: bytes, path: str = "/mcp", **more: str
) -> AsyncIterator[tuple[httpx2.Response, AsyncIterator[str]]]:
    sent = headers(speaker, message, **more)
    async with (
        client.stream("POST", path, content=message, headers=sent) as response,
        aclosing(response.aiter_lines()) as lines,
    ):
        yield response, lines


async def begin(client: httpx2.AsyncClient, path: str = "/mcp") -> dict[str, str]:
    reply = await client.post(path, content=OLD.initialize(0), headers=ACCEPT)
    return {SESSION: reply.headers[SESSION]}


LOOPS = ["h11", "httptools"]


@pytest.mark.parametrize("http", LOOPS)
async def test_a_stream_arrives_while_its_answer_is_made(http: Any) -> None:
    talker = Talker()
    message = NEW.call(1, "wait", say="now")
    async with (
        listening(talker.server.asgi(), http=http) as client,
        streaming(client, NEW, message) as (response, lines),
    ):
        assert response.headers["content-type"] == "text/event-stream"
        assert (await frame(lines))["params"]["data"] == "now"
        talker.go_on.set()
        assert (await frame(lines))["id"] == 1


@pytest.mark.parametrize("http", LOOPS)
@pytest.mark.parametrize("say", ["", "now"])
async def test_a_client_that_hangs_up_cancels_its_request(http: Any, say: str) -> None:
    talker = Talker()
    async with listening(talker.server.asgi(), http=http) as client:
        message = NEW.call(1, "wait", say=say)
        asking = asyncio.create_task(
            client.post("/mcp", content=message, headers=headers(NEW, message))
        )
        await soon(talker.began)
        asking.cancel()
        await soon(talker.ended)
    assert isinstance(talker.seen, asyncio.CancelledError)


async def test_a_client_that_hangs_up_in_a_session_has_cancelled_nothing() -> None:
    talker = Talker()
    async with listening(talker.server.asgi()) as client:
        session = await begin(client)
        async with streaming(client, OLD, OLD.call(1, "wait", say="now"), **session) as (_, lines):
            await frame(lines)
        await client.get("/nowhere")
        assert not talker.ended.is_set()
        talker.go_on.set()
        await soon(talker.ended)
        await client.delete("/mcp", headers=session)
    assert talker.seen is None


async def test_a_stream_for_everything_else_is_open_until_its_session_ends() -> None:
    talker = Talker()
    async with listening(talker.server.asgi()) as client:
        session = await begin(client)
        accept = {**session, "accept": "text/event-stream"}
        async with client.stream("GET", "/mcp", headers=accept) as response:
            lines = response.aiter_lines()
            (opened,) = talker.server.sessions()
            await opened.client.notify_logging_message("info", "news")
            assert (await frame(lines))["params"]["data"] == "news"
            assert (await client.delete("/mcp", headers=session)).status_code == 204
            assert [line async for line in lines if line.startswith("data:")] == []


async def test_large_answers_arrive_whole() -> None:
    text = "x" * 3_000_000
    async with listening(Talker().server.asgi()) as client:
        message = NEW.call(1, "echo", text=text)
        for more in ({}, {"accept": "text/event-stream"}):
            sent = {**headers(NEW, message), **more}
            reply = await client.post("/mcp", content=message, headers=sent)
            body = events_of(reply.content)[0].data if more else reply.content
            assert json.loads(body)["result"]["content"][0]["text"] == text


async def test_a_client_that_expects_to_be_asked_for_its_body_is() -> None:
    async with listening(Talker().server.asgi()) as client:
        message = NEW.call(1, "echo", text="a")
        sent = headers(NEW, message, Expect="100-continue")
        assert (await client.post("/mcp", content=message, headers=sent)).status_code == 200


# --- mounted elsewhere ---


def mounted(server: Server) -> Starlette:
    async def home(request: Any) -> PlainTextResponse:
        return PlainTextResponse("home")

    return Starlette(
        routes=[
            Route("/", home),
            Mount("/sub", server.asgi(legacy_sse_path="/sse")),
            Route("/exact", server.asgi("/exact")),
            Mount("/root", server.asgi("/")),
        ]
    )


@pytest.mark.parametrize("path", ["/sub/mcp", "/exact", "/root/"])
async def test_the_app_starts_itself_under_any_mount(path: str) -> None:
    async with listening(mounted(Talker().server)) as client:
        assert (await client.get("/")).text == "home"
        message = NEW.call(1, "say", words=["a"])
        async with streaming(client, NEW, message, path) as (response, lines):
            assert response.status_code == 200
            assert (await frame(lines))["params"]["data"] == "a"
            assert (await frame(lines))["id"] == 1
        session = await begin(client, path)
        assert (await client.delete(path, headers=session)).status_code == 204


async def test_an_older_client_is_told_the_address_under_the_mount() -> None:
    async with (
        listening(mounted(Talker().server)) as client,
        client.stream("GET", "/sub/sse") as response,
        aclosing(response.aiter_lines()) as lines,
    ):
        assert await anext(lines) == "event: endpoint"
        address = (await anext(lines)).removeprefix("data: ")
        await client.post(address, content=OLD.initialize(0), headers=ACCEPT)
        assert "result" in await frame(lines)


class Passing(BaseHTTPMiddleware):
    """Middleware of Starlette's kind, which runs the app in a task of its own."""

    async def dispatch(self, request: Any, call_next: Any) -> Any:
        return await call_next(request)


async def test_the_app_works_behind_middleware_that_wraps_what_it_sends_and_receives() -> None:
    talker = Talker()
    app = Starlette(routes=[Mount("/", talker.server.asgi())], middleware=[Middleware(Passing)])
    async with listening(app) as client:
        message = NEW.call(1, "wait", say="now")
        async with streaming(client, NEW, message) as (_, lines):
            assert (await frame(lines))["params"]["data"] == "now"
            talker.go_on.set()
            assert (await frame(lines))["id"] == 1
        talker.go_on.clear()
        talker.ended.clear()
        async with streaming(client, NEW, message) as (_, lines):
            await frame(lines)
        await soon(talker.ended)
    assert isinstance(talker.seen, asyncio.CancelledError)


async def test_the_app_may_be_used_on_one_event_loop_after_another() -> None:
    app = Talker().server.asgi()

    async def call() -> int:
        async with listening(app) as client:
            message = NEW.call(1, "say", words=["a"])
            reply = await client.post("/mcp", content=message, headers=headers(NEW, message))
            return reply.status_code

    assert await call() == 200
    assert await asyncio.to_thread(lambda: asyncio.run(call())) == 200


# --- a process of its own ---


@contextmanager
def serving(**options: Any) -> Iterator[tuple[Child, httpx2.Client]]:
    """Start a server process and a client of it."""
    port = free_port()
    words = [sys.executable, str(SCRIPT), str(port), json.dumps(options)]
    url = f"http://127.0.0.1:{port}"
    with (
        started(words) as child,
        httpx2.Client(base_url=url, trust_env=False, timeout=WAIT_S) as client,
    ):
        deadline = time.monotonic() + 2 * WAIT_S
        while True:
            try:
                client.get("/")
                break
            except httpx2.ConnectError:
                assert time.monotonic() < deadline
                time.sleep(0.02)
        yield child, client


@requirement("http:loopback")
def test_a_server_listens_on_loopback_unless_it_is_told_to(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listens: list[str] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self: listens.append(self.config.host))
    paths = {"legacy_sse_path": "/sse"} if Speaker(revision).profile.handshake else {}
    server = Server("local", revisions=[revision])
    server.run("http", **paths)
    server.run("http", host="192.0.2.7", **paths)
    assert listens == ["127.0.0.1", "192.0.2.7"]


def test_a_server_runs_by_itself_and_ends_when_it_is_told_to() -> None:
    with serving() as (child, client):
        message = NEW.call(1, "echo", text="a")
        assert client.post("/mcp", content=message, headers=headers(NEW, message)).json()["result"]
        child.signal(signal.SIGTERM)
        assert child.ended() == 0
    assert child.stderr == ""


def test_what_is_being_answered_when_the_server_is_told_to_end_is_answered() -> None:
    with serving() as (child, client):
        message = NEW.call(1, "hold", seconds=0.3)
        sent = headers(NEW, message)
        with client.stream("POST", "/mcp", content=message, headers=sent) as response:
            lines = response.iter_lines()
            assert "held" in next(lines)
            child.signal(signal.SIGTERM)
            assert any("let go" in line for line in lines)
        assert child.ended() == 0
    assert child.stderr == ""


def test_a_server_that_is_told_to_end_ends_its_streams() -> None:
    with serving() as (child, client):
        reply = client.post("/mcp", content=OLD.initialize(0), headers=ACCEPT)
        session = {SESSION: reply.headers[SESSION], "accept": "text/event-stream"}
        with client.stream("GET", "/mcp", headers=session) as response:
            chunks = response.iter_raw()
            next(chunks)
            child.signal(signal.SIGTERM)
            assert b"".join(chunks) is not None
        assert child.ended() == 0
    assert child.stderr == ""


def test_a_server_that_may_take_any_port_logs_which_it_took() -> None:
    code = (
        "import logging; from tests.support.http.http_server import server;"
        "logging.basicConfig(level=logging.INFO); server.run('http', port=0, path='/here')"
    )
    with started([sys.executable, "-c", code]) as child:
        child.says("/here\n")
        url = child.stderr.rpartition(" ")[2].strip()
        message = NEW.call(1, "echo", text="a")
        with httpx2.Client(trust_env=False, timeout=WAIT_S) as client:
            answer = client.post(url, content=message, headers=headers(NEW, message))
        assert answer.json()["result"]
        child.signal(signal.SIGTERM)
        assert child.ended() == 0


def test_a_path_may_be_chosen() -> None:
    with serving(path="/elsewhere") as (child, client):
        message = NEW.call(1, "echo", text="a")
        sent = headers(NEW, message)
        assert client.post("/elsewhere", content=message, headers=sent).status_code == 200
        assert client.post("/mcp", content=message, headers=sent).status_code == 404
        child.signal(signal.SIGINT)
        assert child.ended() == 0
