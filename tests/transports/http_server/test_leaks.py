"""Ended requests, sessions and clients leave nothing in memory."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_gen import Context, ProtocolError, Server
from mcp_gen.core.stores.events import MemoryEventStore, StoredEvent
from mcp_gen.session.http_server.streams import Stream
from tests.support.frames import HANDSHAKE, Speaker, every_revision, with_sessions
from tests.support.http.asgi import WebClient, begin, end, request, surfing
from tests.support.peers.answering import EVERYTHING, Capable
from tests.support.peers.raw import WAIT_S, talking
from tests.support.peers.talker import Talker, soon

OLD = Speaker(HANDSHAKE)
MALFORMED = [b"nonsense", b"[]", b'{"jsonrpc":"1.0","id":7,"method":"m"}', b"{}"]


@pytest.fixture
def silent(caplog: Any) -> None:
    """Disable logging: captured records would keep the objects they are about."""
    caplog.set_level(logging.CRITICAL, "mcp_gen.server")


@pytest.fixture(autouse=True)
def nothing_before() -> None:
    """Leave out what other tests have left in memory: a million objects, looked at each time."""
    gc.collect()
    gc.freeze()


def errors_that_are_kept() -> list[BaseException]:
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, ProtocolError)]


@every_revision
@pytest.mark.usefixtures("silent")
async def test_nothing_is_kept_of_a_message_that_was_refused(revision: str, caplog: Any) -> None:
    async with talking(Talker().server, revision) as client:
        client.send(*MALFORMED)
        await client.ask(client.speaker.call("after", "echo", text="a"))
        assert errors_that_are_kept() == []


@with_sessions
@pytest.mark.usefixtures("silent")
async def test_nothing_is_kept_of_a_message_that_was_refused_in_a_session(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        for message in MALFORMED:
            await request(client.app, message, client.session)
        assert errors_that_are_kept() == []


class Store(MemoryEventStore):
    """Event store whose content a test can read."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: set[str] = set()

    def append(self, session: str, stream: str, number: int, message: bytes) -> None:
        self.sessions.add(session)
        super().append(session, stream, number, message)

    async def kept(self) -> list[StoredEvent]:
        found = [await self.after(one, "r1", 0) for one in self.sessions]
        return [event for events in found for event in events or ()]


@with_sessions
async def test_what_is_said_when_the_session_has_ended_is_not_kept(revision: str) -> None:
    talker, store = Talker(), Store()
    app = talker.server.asgi(event_store=store)
    client = WebClient(app, Speaker(revision))
    client.session = await begin(app, client.speaker)
    opened = client.post(client.speaker.call(1, "wait", say="now", then="later"))
    await opened.frame()
    assert len(await store.kept()) == 1
    await end(app, client.session)
    talker.go_on.set()
    reply = await opened.whole()
    assert [event.json.get("id") for event in reply.events if event.data] == [None, None, 1]
    assert await store.kept() == []


@pytest.fixture
def without_gc() -> Iterator[None]:
    """Disable garbage collection: only objects without cycles are freed."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@with_sessions
@pytest.mark.usefixtures("without_gc")
async def test_a_session_that_has_ended_needs_no_garbage_collection(revision: str) -> None:
    talker, freed = Talker(), asyncio.Event()
    app = talker.server.asgi()
    async with surfing(app, revision) as client:
        await client.ask(client.speaker.call(1, "say", words=["a"]))
        for session in talker.server.sessions():
            await session.client.notify_logging_message("info", "a")
            weakref.finalize(session, freed.set)
        del session
        await end(app, client.session)
        await soon(freed)


@with_sessions
@pytest.mark.usefixtures("without_gc")
async def test_a_stream_that_has_ended_needs_no_garbage_collection(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        before = len(streams())
        opened = client.get()
        await opened.head()
        assert len(streams()) == before + 1
        opened.hang_up()
        await opened.ended()
        assert len(streams()) == before


def streams() -> list[Stream]:
    """Return all streams in memory."""
    return [one for one in gc.get_objects() if isinstance(one, Stream)]


def asking() -> tuple[Server, asyncio.Event, asyncio.Event]:
    server, asked, over = Server("asking"), asyncio.Event(), asyncio.Event()

    async def ask(ctx: Context) -> str:
        asking = asyncio.ensure_future(ctx.sample("Well?", max_tokens=1))
        asked.set()
        try:
            return str(await asking)
        finally:
            over.set()

    @server.tool
    async def tool(ctx: Context) -> str:
        return await ask(ctx)

    @server.tool
    async def tool_in_a_group(ctx: Context) -> str:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ask(ctx))
            tasks.create_task(ask(ctx))
        return "never"

    @server.prompt
    async def prompt(ctx: Context) -> str:
        return await ask(ctx)

    return server, asked, over


@pytest.mark.parametrize(
    ("method", "name"),
    [("tools/call", "tool"), ("tools/call", "tool_in_a_group"), ("prompts/get", "prompt")],
)
async def test_a_client_that_ends_its_session_instead_of_answering_is_no_failure(
    method: str, name: str, caplog: Any
) -> None:
    server, asked, over = asking()
    app = server.asgi()
    client = WebClient(app, Capable(HANDSHAKE, EVERYTHING))
    client.session = await begin(app, client.speaker)
    opened = client.post(client.speaker.request(1, method, {"name": name}))
    await soon(asked)
    await opened.frame()
    with caplog.at_level(logging.INFO):
        await end(app, client.session)
        await soon(over)
        await asyncio.wait([opened.task], timeout=WAIT_S)
    assert caplog.records == []


async def test_what_fails_for_another_reason_too_is_logged(caplog: Any) -> None:
    server, asked, _ = asking()

    @server.tool
    async def both(ctx: Context) -> str:
        async def fail() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("as well")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())
            asked.set()
            await ctx.sample("Well?", max_tokens=1)
        return "never"

    app = server.asgi()
    client = WebClient(app, Capable(HANDSHAKE, EVERYTHING))
    client.session = await begin(app, client.speaker)
    opened = client.post(client.speaker.call(1, "both"))
    await opened.frame()
    await end(app, client.session)
    await asyncio.wait([opened.task], timeout=WAIT_S)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
