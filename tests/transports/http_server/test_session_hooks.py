"""Session hooks and notification hooks over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_wire.method import Method
from tests.session.peer.test_session_hooks import Sessions
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, encoded, with_sessions
from tests.support.http.asgi import begin, end, headers_of, request
from tests.support.peers.minimal_peers import minimal_params, notice_names, rows
from tests.support.peers.raw import WAIT_S

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)
VERSION = str(NEW.profile.version_header)
SESSION = str(OLD.profile.session_header)
STREAMABLE = [
    one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).http_transport == "streamable"
]


async def soon(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), WAIT_S)


async def turns() -> None:
    """Let the loop run longer than any hook of these tests needs, unless it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


# --- sessions ---


@with_sessions
async def test_a_session_is_told_of_once_when_it_begins_and_once_when_it_ends(
    revision: str,
) -> None:
    server, speaker = Server("sessions"), Speaker(revision)
    sessions, app = Sessions(server.hooks), server.asgi()
    session = await begin(app, speaker)
    for id in range(3):
        await request(app, speaker.request(id, "ping"), session)
        await request(app, speaker.initialized, session)
    await soon(sessions.opened)
    assert [kind for kind, _ in sessions.heard] == ["opened"]
    assert [(await end(app, session)).status for _ in range(2)] == [204, 404]
    await turns()
    assert sessions.was_one()


@with_sessions
async def test_what_is_told_of_is_the_session_of_its_requests(revision: str) -> None:
    server, speaker = Server("sessions"), Speaker(revision)
    sessions, app = Sessions(server.hooks), server.asgi()
    seen: list[Any] = []
    server.hooks.before_ping(lambda ctx, params: seen.append(ctx.caller.session))
    await request(app, speaker.request(1, "ping"), await begin(app, speaker))
    await soon(sessions.opened)
    assert [session for _, session in sessions.heard] == seen
    assert seen[0].profile is speaker.profile


async def test_a_session_that_makes_room_for_another_has_ended() -> None:
    server = Server("sessions")
    sessions, app = Sessions(server.hooks), server.asgi(max_sessions=2)
    for _ in range(3):
        await begin(app, OLD)
        for number, session in enumerate(sorted(server.sessions(), key=lambda one: one.began_s)):
            session.heard_s -= 100 - number
    await soon(sessions.closed)
    await turns()
    opened = [session for kind, session in sessions.heard if kind == "opened"]
    assert len(opened) == 3
    assert [session for kind, session in sessions.heard if kind == "closed"] == opened[:1]


@pytest.mark.parametrize("point", ["before_initialize", "after_initialize"])
async def test_a_handshake_that_is_refused_opens_no_session(point: str) -> None:
    server = Server("sessions")

    def veto(*_: Any) -> None:
        raise McpError(-31000, "no")

    getattr(server.hooks, point)(veto)
    sessions = Sessions(server.hooks)
    reply = await request(server.asgi(), OLD.initialize(1))
    await turns()
    assert reply.json["error"]["code"] == -31000
    assert sessions.heard == []


async def test_what_names_its_revision_itself_opens_no_session() -> None:
    server = Server("sessions")
    sessions, app = Sessions(server.hooks), server.asgi()
    for message in (NEW.request(1, "server/discover"), NEW.cancel(1)):
        await request(app, message, headers_of(NEW, message))
    await turns()
    assert sessions.heard == []


async def test_a_session_that_ends_while_a_request_is_open_does_not_begin_again() -> None:
    server, began, release = Server("sessions"), asyncio.Event(), asyncio.Event()

    @server.tool
    async def hold() -> str:
        began.set()
        await release.wait()
        return "held"

    sessions, app = Sessions(server.hooks), server.asgi()
    session = await begin(app, OLD)
    held = asyncio.create_task(request(app, OLD.call(1, "hold"), session))
    await soon(began)
    await end(app, session)
    await soon(sessions.closed)
    release.set()
    reply = await asyncio.wait_for(held, WAIT_S)
    await turns()
    assert (reply.status, SESSION.lower() in reply.headers) == (200, False)
    assert (await request(app, OLD.request(2, "ping"), session)).status == 404
    assert sessions.was_one()


async def test_hooks_hear_of_the_end_after_all_else_they_were_told_of_the_session() -> None:
    server, release = Server("sessions"), asyncio.Event()
    said: list[str] = []

    async def slowly(what: str) -> None:
        await release.wait()
        said.append(what)

    server.hooks.session_opened(lambda _: slowly("opened"))
    server.hooks.on_initialized(lambda ctx, params: slowly("initialized"))
    sessions, app = Sessions(server.hooks), server.asgi()
    session = await begin(app, OLD)
    await request(app, OLD.initialized, session)
    await end(app, session)
    await turns()
    assert sessions.heard == []
    release.set()
    await soon(sessions.closed)
    assert said == ["opened", "initialized"]
    assert sessions.was_one()


async def test_the_end_does_not_wait_for_ever_for_other_hooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_gen.session.http_server.exchange.GRACE_S", 0.01)
    server = Server("sessions")

    @server.hooks.on_initialized
    async def wait(ctx: Context, params: Any) -> None:
        await asyncio.Event().wait()

    sessions, app = Sessions(server.hooks), server.asgi()
    session = await begin(app, OLD)
    await request(app, OLD.initialized, session)
    await end(app, session)
    await soon(sessions.closed)
    assert sessions.was_one()


async def test_hooks_of_sessions_that_fail_or_exit_harm_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("sessions")

    def broken(session: Any) -> None:
        raise SystemExit(3)

    server.hooks.session_opened(broken)
    server.hooks.session_closed(broken)
    sessions, app = Sessions(server.hooks), server.asgi()
    session = await begin(app, OLD)
    assert (await request(app, OLD.request(1, "ping"), session)).status == 200
    assert (await end(app, session)).status == 204
    await soon(sessions.closed)
    assert sessions.was_one()
    assert [record.message for record in caplog.records] == ["a hook failed"] * 2


# --- notifications ---


class Heard:
    """Records the notifications that hooks received."""

    def __init__(self, server: Server, name: str = "on_cancelled") -> None:
        self.heard: list[tuple[Context, Any]] = []
        self.news = asyncio.Event()
        getattr(server.hooks, name)(self._hear)

    async def _hear(self, ctx: Context, params: Any) -> None:
        self.heard.append((ctx, params))
        self.news.set()

    async def one(self) -> tuple[Context, Any]:
        await soon(self.news)
        (heard,) = self.heard
        return heard


async def tell(app: AsgiApp, speaker: Speaker, message: bytes) -> None:
    """Send a notification, in a session if the revision has sessions."""
    session = await begin(app, speaker)
    reply = await request(app, message, {**session, VERSION: speaker.revision})
    assert (reply.status, reply.body) == (202, b"")


def each_notification() -> Any:
    found = [
        (one, method)
        for one in STREAMABLE
        for method in rows(one, kind="notification", to="server")
    ]
    ids = [f"{revision} {method.name}" for revision, method in found]
    return pytest.mark.parametrize(("revision", "method"), found, ids=ids)


@each_notification()
async def test_hooks_hear_every_notification_at_the_revision_that_is_spoken(
    revision: str, method: Method[Any, Any]
) -> None:
    server = Server("told")
    heard = Heard(server, f"on_{notice_names(server.hooks)[method.name]}")
    params = minimal_params(revision, method)
    frame = {"jsonrpc": "2.0", "method": method.name, "params": params}
    await tell(server.asgi(), Speaker(revision), encoded(frame))
    ctx, got = await heard.one()
    assert got == method.decode_params(msgspec.Raw(encoded(params)))
    assert ctx.revision == revision
    assert ctx.request_id is None


async def test_a_hook_of_a_notification_sees_who_told_it_and_its_own_headers() -> None:
    server = Server("told")
    sessions, heard, app = Sessions(server.hooks), Heard(server), server.asgi()
    session = await begin(app, OLD)
    await request(app, OLD.cancel(1), {**session, "X-User": "Ada"})
    ctx, _ = await heard.one()
    assert (ctx.client_info.name, (ctx.headers or {})["x-user"]) == ("raw", "Ada")
    assert sessions.heard == [("opened", ctx.caller.session)]


async def test_a_notification_that_names_its_revision_itself_is_of_no_session() -> None:
    server = Server("told")
    heard, app = Heard(server), server.asgi()
    session = await begin(app, OLD)
    await request(app, NEW.cancel(1), {**session, VERSION: PER_REQUEST})
    ctx, _ = await heard.one()
    assert (ctx.revision, ctx.caller.session) == (PER_REQUEST, None)


@pytest.mark.parametrize("speaker", [OLD, NEW])
async def test_a_hook_that_takes_its_time_does_not_delay_the_answer(speaker: Speaker) -> None:
    server, release, done = Server("told"), asyncio.Event(), asyncio.Event()

    @server.hooks.on_cancelled
    async def wait(ctx: Context, params: Any) -> None:
        await release.wait()
        done.set()

    await tell(server.asgi(), speaker, speaker.cancel(1))
    assert not done.is_set()
    release.set()
    await soon(done)


@pytest.mark.parametrize("speaker", [OLD, NEW])
async def test_a_hook_that_fails_is_logged_and_the_next_one_runs(
    speaker: Speaker, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("told")
    server.hooks.on_cancelled(lambda ctx, params: [][0])
    heard = Heard(server)
    await tell(server.asgi(), speaker, speaker.cancel(1))
    await heard.one()
    assert [record.message for record in caplog.records] == ["a hook failed"]


@pytest.mark.parametrize("speaker", [OLD, NEW])
async def test_params_that_are_malformed_are_logged_and_no_hook_hears_them(
    speaker: Speaker, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("told")
    heard = Heard(server)
    await tell(server.asgi(), speaker, speaker.cancel([]))
    await turns()
    assert heard.heard == []
    assert "notifications/cancelled: Expected" in caplog.text


async def test_an_unknown_notification_is_accepted_and_harms_nobody() -> None:
    message = encoded({"jsonrpc": "2.0", "method": "no/such", "params": {"requestId": 1}})
    await tell(Server("told").asgi(), OLD, message)


async def test_no_hook_hears_an_answer() -> None:
    server = Server("told")
    heard = Heard(server)
    await tell(server.asgi(), OLD, encoded({"jsonrpc": "2.0", "id": 1, "result": {}}))
    await turns()
    assert heard.heard == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 400), ({SESSION: "guess"}, 404), ({VERSION: "1999-12-31"}, 400)],
    ids=["of no session", "of a session that never was", "of an unknown revision"],
)
async def test_no_hook_hears_a_notification_that_has_no_place(
    headers: dict[str, str], status: int
) -> None:
    server = Server("told")
    heard = Heard(server)
    reply = await request(server.asgi(), OLD.cancel(1), headers)
    await turns()
    assert (reply.status, heard.heard) == (status, [])
    assert "id" not in reply.json


async def test_an_unknown_revision_is_refused_for_a_notification_in_a_session_too() -> None:
    server = Server("told")
    heard, app = Heard(server), server.asgi()
    session = await begin(app, OLD)
    reply = await request(app, OLD.cancel(1), {**session, VERSION: "1999-12-31"})
    await turns()
    assert (reply.status, heard.heard) == (400, [])
