"""Notifications to a peer that reads slowly: what waits, what is dropped, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.core.transport.protocols import Receiver
from mcp_gen.session.duplex.unread import ENTRY_BYTES, MAX_BYTES, Notice, UnreadNotifications
from mcp_wire.method import Method
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker

WAIT_S = 30.0
PROFILE = mcp_wire.profile(HANDSHAKE)
LOG_SIZE = 1_000


def method(place: str) -> Method[Any, None]:
    found: Method[Any, None] = getattr(PROFILE, place)
    return found


def progress(token: str | int, value: float) -> Any:
    return method("progress").params(progress_token=token, progress=value)


def log(text: str) -> Any:
    return method("log").params(level="info", data=text)


class SlowTransport:
    """Transport whose peer reads when the test says so."""

    def __init__(self) -> None:
        self.full = False
        self.reads_one = False
        """True if the peer stops to read after each message."""
        self.sent: list[Any] = []
        self._receiver: Receiver | None = None
        self._when_writable: Callable[[], None] | None = None
        self._news = asyncio.Event()

    async def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def receive(self, message: bytes) -> None:
        assert self._receiver is not None
        self._receiver.receive(message)

    def send(self, message: bytes) -> None:
        self.sent.append(msgspec.json.decode(message))
        self.full = self.full or self.reads_one
        self._news.set()

    def call_when_writable(self, act: Callable[[], None]) -> None:
        self._when_writable = act

    def read(self) -> None:
        """Let the peer read everything."""
        self.full = False
        act, self._when_writable = self._when_writable, None
        if act is not None:
            act()

    async def drain(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def answer(self, id: Any) -> Any:
        async with asyncio.timeout(WAIT_S):
            while not (found := [one for one in self.sent if one.get("id") == id]):
                self._news.clear()
                await self._news.wait()
        return found[0]

    def end(self) -> None:
        assert self._receiver is not None
        self._receiver.closed(None)

    @property
    def told(self) -> list[tuple[str, Any]]:
        """Methods and params of the notifications, in order."""
        return [(one["method"], one.get("params")) for one in self.sent if "method" in one]


@asynccontextmanager
async def slow(revision: str = HANDSHAKE) -> AsyncIterator[tuple[SlowTransport, Any]]:
    """Return a transport whose peer does not read after its opening, and its connection."""
    server, transport, speaker = (
        Server("told", declare=["logging"]),
        SlowTransport(),
        Speaker(revision),
    )

    @server.tool
    async def work(ctx: Context) -> str:
        for step in range(3):
            await ctx.report_progress(step, 3)
            await ctx.log("info", step)
        return "done"

    serving = asyncio.create_task(server.serve(transport))
    await asyncio.sleep(0)
    for message in speaker.opening or [speaker.request(0, "tools/list")]:
        transport.receive(message)
        await transport.answer(0)
    transport.sent.clear()
    transport.full = True
    (session,) = server.sessions()
    yield transport, session
    transport.end()
    await asyncio.wait_for(serving, WAIT_S)


async def test_changes_of_one_list_are_told_once() -> None:
    async with slow() as (transport, session):
        for _ in range(1_000):
            session.notify(method("tools_changed"))
            session.notify(method("prompts_changed"))
        assert transport.told == []
        transport.read()
        names = [method("tools_changed").name, method("prompts_changed").name]
        assert [name for name, _ in transport.told] == names


async def test_changes_of_one_resource_are_told_once() -> None:
    updated = method("resource_updated")
    async with slow() as (transport, session):
        for number in range(1_000):
            session.notify(updated, updated.params(uri=f"note://{number % 2}"))
        transport.read()
        assert [params["uri"] for _, params in transport.told] == ["note://0", "note://1"]


async def test_of_the_progress_of_a_request_the_newest_is_told() -> None:
    async with slow() as (transport, session):
        for value in range(1_000):
            session.notify(method("progress"), progress("a", value))
            session.notify(method("progress"), progress(1, value + 0.5))
        transport.read()
        assert [(params["progressToken"], params["progress"]) for _, params in transport.told] == [
            ("a", 999),
            (1, 999.5),
        ]


async def test_progress_is_told_before_the_result_of_its_request() -> None:
    async with slow() as (transport, _):
        params = {"name": "work", "_meta": {"progressToken": "mine"}}
        transport.receive(Speaker(HANDSHAKE).request(1, "tools/call", params))
        await transport.answer(1)
        last, answer = transport.sent
        assert (last["params"]["progress"], answer["id"]) == (2, 1)


async def test_log_messages_that_a_request_asks_for_are_told_before_its_result() -> None:
    async with slow(PER_REQUEST) as (transport, _):
        meta = {str(mcp_wire.profile(PER_REQUEST).log_level_key): "info"}
        params = {"name": "work", "_meta": meta}
        transport.receive(Speaker(PER_REQUEST).request(1, "tools/call", params))
        await transport.answer(1)
        *logs, answer = transport.sent
        assert [log["params"]["data"] for log in logs] == [0, 1, 2]
        assert answer["id"] == 1


async def test_changes_are_told_once_without_a_handshake_too() -> None:
    changed = mcp_wire.profile(PER_REQUEST).tools_changed
    async with slow(PER_REQUEST) as (transport, session):
        for _ in range(1_000):
            session.notify(changed)
        transport.read()
        assert len(transport.told) == 1


async def test_the_newest_log_messages_are_told_and_the_others_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with slow() as (transport, session):
        count = 2 * MAX_BYTES // LOG_SIZE
        for number in range(count):
            session.notify(method("log"), log(f"{number} {'x' * LOG_SIZE}"))
        transport.read()
        numbers = [int(params["data"].split()[0]) for _, params in transport.told]
        dropped = count - len(numbers)
        assert numbers == list(range(dropped, count))
        assert 0.7 * MAX_BYTES < len(numbers) * LOG_SIZE < MAX_BYTES
        assert f"dropped {dropped} log messages" in caplog.text


async def test_what_waits_is_told_in_order_and_what_comes_later_after_it() -> None:
    async with slow() as (transport, session):
        session.notify(method("log"), log("first"))
        session.notify(method("tools_changed"))
        transport.full = False
        session.notify(method("log"), log("second"))
        transport.read()
        session.notify(method("log"), log("third"))
        said = [params and params["data"] for _, params in transport.told]
        assert said == ["first", None, "second", "third"]


async def test_responses_do_not_wait() -> None:
    async with slow() as (transport, _):
        for id in range(1, 1_001):
            transport.receive(Speaker(HANDSHAKE).request(id, "ping"))
        await transport.answer(1_000)
        assert [one["id"] for one in transport.sent] == list(range(1, 1_001))


async def test_what_waits_is_sent_when_the_connection_closes() -> None:
    async with slow() as (transport, session):
        session.notify(method("log"), log("last"))
    assert [params["data"] for _, params in transport.told] == ["last"]


async def test_a_peer_that_reads_a_little_gets_a_little() -> None:
    async with slow() as (transport, session):
        for text in ("first", "second"):
            session.notify(method("log"), log(text))
        transport.reads_one = True
        transport.read()
        assert [params["data"] for _, params in transport.told] == ["first"]
        transport.read()
        assert [params["data"] for _, params in transport.told] == ["first", "second"]


def test_custom_notifications_wait_up_to_a_limit() -> None:
    unread = UnreadNotifications()
    custom: Method[Any, None] = Method(
        "acme/moved",
        kind="notification",
        direction="server_to_client",
        params=dict,
        params_required=False,
    )
    for number in range(100_000):
        unread.add(PROFILE, custom, UNSET, Notice(b"%100d" % number))
    numbers = [int(notice.message) for notice in unread.take()]
    assert numbers == list(range(MAX_BYTES // (100 + ENTRY_BYTES)))


def test_notifications_of_two_streams_do_not_say_the_same() -> None:
    profile = mcp_wire.profile(mcp_wire.LATEST)
    changed, unread = profile.tools_changed, UnreadNotifications()
    assert changed is not None
    for id in ("one", "other", "one"):
        params = changed.params(meta={str(profile.subscription_id_key): id})
        unread.add(profile, changed, params, Notice(id.encode()))
    assert [notice.message for notice in unread.take()] == [b"other", b"one"]
