"""Lifespan: entered once before the first client, and left after the last."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Context, LifespanError, Server
from mcp_gen.transports.memory import memory_pair
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle
from tests.support.http import asgi
from tests.support.peers.raw import WAIT_S, talking
from tests.support.processes import child


class Life:
    """Server with a lifespan; `said` records its events in order."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.fails: Exception | None = None
        self.fails_at_the_end: Exception | None = None
        self.server = Server("life", lifespan=self.lifespan)
        self.tasks: set[Any] = set()

        offer_value(self.server)

    @asynccontextmanager
    async def lifespan(self, server: Server) -> AsyncIterator[str]:
        self.tasks.add(asyncio.current_task())
        await asyncio.sleep(0)
        if self.fails:
            raise self.fails
        self.said.append(f"enter {server.name}")
        yield "the database"
        await asyncio.sleep(0)
        assert asyncio.current_task() in self.tasks
        self.said.append("leave")
        if self.fails_at_the_end:
            raise self.fails_at_the_end


def offer_value(server: Server) -> None:
    """Add a tool that returns the lifespan's value."""

    @server.tool
    async def value(ctx: Context) -> str:
        return str(ctx.lifespan)


async def value(server: Server, revision: str) -> str:
    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "value"))
        return str(answer["result"]["content"][0]["text"])


@each_lifecycle
async def test_a_handler_gets_what_the_lifespan_gave(revision: str) -> None:
    life = Life()
    assert await value(life.server, revision) == "the database"
    assert life.said == ["enter life", "leave"]


async def test_a_server_without_a_lifespan_gives_none() -> None:
    server = Server("none")
    offer_value(server)
    assert await value(server, HANDSHAKE) == "None"


@each_lifecycle
async def test_clients_at_the_same_time_share_one_lifespan(revision: str) -> None:
    life = Life()
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(talking(life.server, revision)) for _ in range(3)
        ]
        await asyncio.gather(*(one.ask(one.speaker.call(1, "value")) for one in clients))
        assert life.said == ["enter life"]
    assert life.said == ["enter life", "leave"]


async def test_the_lifespan_outlasts_the_client_that_caused_it() -> None:
    life = Life()
    async with talking(life.server, HANDSHAKE) as first:
        await first.ask(first.speaker.request(1, "ping"))
        second = talking(life.server, HANDSHAKE)
        client = await second.__aenter__()
    assert life.said == ["enter life"]
    answer = await client.ask(client.speaker.call(1, "value"))
    assert answer["result"]["content"][0]["text"] == "the database"
    await second.__aexit__(None, None, None)
    assert life.said == ["enter life", "leave"]


async def test_after_the_last_client_the_next_enters_it_anew() -> None:
    life = Life()
    for _ in range(2):
        assert await value(life.server, HANDSHAKE) == "the database"
    assert life.said == ["enter life", "leave"] * 2


async def test_who_comes_while_it_is_left_enters_it_anew() -> None:
    said, leaving, go_on = list[str](), asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        said.append("enter")
        yield "the database"
        leaving.set()
        await go_on.wait()
        said.append("leave")

    server = Server("life", lifespan=lifespan)
    offer_value(server)
    async with asyncio.timeout(WAIT_S):
        first = asyncio.create_task(value(server, HANDSHAKE))
        await leaving.wait()
        second = asyncio.create_task(value(server, HANDSHAKE))
        await asyncio.sleep(0)
        go_on.set()
        assert [await first, await second] == ["the database"] * 2
    assert said == ["enter", "leave"] * 2


async def test_a_lifespan_that_does_not_start_is_one_error_that_names_the_cause() -> None:
    life = Life()
    life.fails = ConnectionRefusedError("no database")
    _, theirs = memory_pair()
    with pytest.raises(LifespanError) as caught:
        await life.server.serve(theirs)
    assert str(caught.value) == (
        "server 'life': its lifespan did not start: ConnectionRefusedError: no database"
    )
    assert caught.value.__cause__ is life.fails


async def test_a_lifespan_that_cancels_its_own_start_is_an_error_of_its_users() -> None:
    @asynccontextmanager
    async def cancelled(server: Server) -> AsyncIterator[None]:
        raise asyncio.CancelledError
        yield

    server = Server("cancelled", lifespan=cancelled)
    serving = asyncio.create_task(server.serve(memory_pair()[1]))
    with pytest.raises(LifespanError, match="'cancelled': its lifespan did not start: it was"):
        await asyncio.wait_for(serving, WAIT_S)


async def test_several_clients_of_a_lifespan_that_does_not_start_hear_of_it_alike() -> None:
    life = Life()
    life.fails = RuntimeError("no")
    serving = [life.server.serve(memory_pair()[1]) for _ in range(3)]
    raised = await asyncio.gather(*serving, return_exceptions=True)
    assert [type(one) for one in raised] == [LifespanError] * 3
    assert len(life.tasks) == 1


async def test_a_client_of_a_server_that_does_not_start_is_hung_up_on() -> None:
    life = Life()
    life.fails = RuntimeError("no")
    ours, theirs = memory_pair()
    hung_up = asyncio.Event()

    class Waits:
        def closed(self, error: BaseException | None) -> None:
            hung_up.set()

    await ours.start(Waits())
    with pytest.raises(LifespanError):
        await life.server.serve(theirs)
    await asyncio.wait_for(hung_up.wait(), WAIT_S)


async def test_after_a_failed_start_the_next_client_tries_again() -> None:
    life = Life()
    life.fails = RuntimeError("not yet")
    with pytest.raises(LifespanError):
        await life.server.serve(memory_pair()[1])
    life.fails = None
    assert await value(life.server, HANDSHAKE) == "the database"


async def test_a_lifespan_that_fails_at_its_end_is_an_error_of_the_last() -> None:
    life = Life()
    life.fails_at_the_end = OSError("cannot flush")
    ours, theirs = memory_pair()
    serving = asyncio.create_task(life.server.serve(theirs))
    await ours.aclose()
    with pytest.raises(LifespanError, match="its lifespan failed: OSError: cannot flush"):
        await serving


async def test_giving_up_while_it_starts_leaves_nothing_behind() -> None:
    life, began = Life(), asyncio.Event()

    @asynccontextmanager
    async def never(server: Server) -> AsyncIterator[None]:
        began.set()
        await asyncio.Event().wait()
        yield

    server = Server("never", lifespan=never)
    serving = asyncio.create_task(server.serve(memory_pair()[1]))
    await asyncio.wait_for(began.wait(), WAIT_S)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert life.said == []


async def test_one_who_gives_up_does_not_stop_it_for_the_others() -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def slow(server: Server) -> AsyncIterator[str]:
        began.set()
        await goes_on.wait()
        yield "ready"

    server = Server("slow", lifespan=slow)
    pairs = [memory_pair() for _ in range(2)]
    first, second = (asyncio.create_task(server.serve(theirs)) for _, theirs in pairs)
    await asyncio.wait_for(began.wait(), WAIT_S)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    goes_on.set()
    await pairs[1][0].aclose()
    await asyncio.wait_for(second, WAIT_S)


async def test_a_lifespan_that_breaks_while_it_is_needed_ends_the_sessions(
    caplog: pytest.LogCaptureFixture,
) -> None:
    breaks = asyncio.Event()

    @asynccontextmanager
    async def breaking(server: Server) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(broken())
            yield

    async def broken() -> None:
        await breaks.wait()
        raise OSError("the database is gone")

    server = Server("breaks", lifespan=breaking)
    ours, theirs = memory_pair()
    serving = asyncio.create_task(server.serve(theirs))
    for _ in range(5):
        await asyncio.sleep(0)
    breaks.set()
    await asyncio.wait([serving], timeout=WAIT_S)
    with pytest.raises(LifespanError, match="ExceptionGroup: the database is gone"):
        serving.result()
    assert "its lifespan has ended while it serves" in caplog.text
    await ours.aclose()


# --- over HTTP ---


async def call(app: Any, speaker: Speaker) -> Any:
    session = await asgi.begin(app, speaker)
    message = speaker.call(1, "value")
    return await asgi.request(app, message, {**session, **asgi.headers_of(speaker, message)})


@each_lifecycle
async def test_the_first_http_request_enters_it_and_aclose_leaves_it(revision: str) -> None:
    life = Life()
    app = life.server.asgi()
    replies = await asyncio.gather(*(call(app, Speaker(revision)) for _ in range(3)))
    texts = {one.json["result"]["content"][0]["text"] for one in replies}
    assert (texts, life.said) == ({"the database"}, ["enter life"])
    await life.server.aclose()
    assert life.said == ["enter life", "leave"]


async def test_an_app_that_is_closed_twice_can_be_used_again() -> None:
    life = Life()
    app = life.server.asgi()
    await call(app, Speaker(HANDSHAKE))
    await app.aclose()
    await app.aclose()
    await call(app, Speaker(HANDSHAKE))
    await app.aclose()
    assert life.said == ["enter life", "leave"] * 2


@each_lifecycle
async def test_what_an_app_holds_is_not_left_with_another_client(revision: str) -> None:
    life, outer = Life(), Server("outer")
    outer.mount(None, life.server)
    await call(outer.asgi(), Speaker(revision))
    assert await value(outer, revision) == "the database"
    assert life.said == ["enter life"]
    await outer.aclose()
    assert life.said == ["enter life", "leave"]


async def events(app: Any, *kinds: str) -> list[Any]:
    """Return the app's messages for lifespan events."""
    coming = [{"type": f"lifespan.{kind}"} for kind in kinds]
    sent: list[Any] = []

    async def receive() -> Any:
        return coming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "lifespan"}, receive, send)
    return sent


async def test_an_http_server_enters_and_leaves_it_by_its_events() -> None:
    life = Life()
    sent = await events(life.server.asgi(), "startup", "shutdown")
    assert [one["type"] for one in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert life.said == ["enter life", "leave"]


async def test_an_http_server_is_told_why_it_does_not_start() -> None:
    life = Life()
    life.fails = OSError("no database")
    (sent,) = await events(life.server.asgi(), "startup")
    assert sent["type"] == "lifespan.startup.failed"
    assert "OSError: no database" in sent["message"]


async def test_a_request_to_a_server_that_does_not_start_is_answered_with_503(
    caplog: pytest.LogCaptureFixture,
) -> None:
    life = Life()
    life.fails = OSError("no database")
    app = life.server.asgi()
    speaker = Speaker(PER_REQUEST)
    assert (await asgi.request(app, speaker.call(1, "value"))).status == 503
    assert "no database" in caplog.text
    life.fails = None
    assert (await call(app, speaker)).status == 200
    await life.server.aclose()


def test_an_app_outlives_the_loop_it_was_first_used_in() -> None:
    life = Life()
    app = life.server.asgi()
    replies: list[Any] = []

    async def ask() -> None:
        replies.append((await call(app, Speaker(PER_REQUEST))).json)

    async def ask_and_close() -> None:
        await ask()
        await life.server.aclose()

    for run in (ask, ask_and_close):
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(run())
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()
    texts = [one["result"]["content"][0]["text"] for one in replies]
    assert texts == ["the database"] * 2


# --- in a process of its own ---

SCRIPT = """
import sys
from contextlib import asynccontextmanager
from mcp_gen import Server

@asynccontextmanager
async def lifespan(server):
    if "fail" in sys.argv:
        raise OSError("no database")
    print("entered", file=sys.stderr, flush=True)
    yield
    print("left", file=sys.stderr, flush=True)

Server("script", lifespan=lifespan).run("stdio")
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., list[str]]:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return lambda *words: [sys.executable, str(path), *words]


def test_a_process_enters_it_before_it_answers_and_leaves_it_at_its_end(script: Any) -> None:
    with child.started(script()) as process:
        process.send(Speaker(HANDSHAKE).request(1, "ping"))
        assert process.answer(1)["result"] == {}
        process.close_stdin()
        assert process.ended() == 0
        assert process.stderr.split() == ["entered", "left"]


def test_a_process_whose_lifespan_does_not_start_says_why_and_fails(script: Any) -> None:
    with child.started(script("fail")) as process:
        assert process.ended() == 1
        last = process.stderr.strip().splitlines()[-1]
        assert last.endswith("its lifespan did not start: OSError: no database")
