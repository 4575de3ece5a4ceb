"""Sessions over HTTP: choice of the stream, input requests, and state beyond a connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, RequestTimeout, Server, SessionLost
from mcp_gen.session.http_server.session import HttpSession
from mcp_gen.session.http_server.streams import MAX_PENDING
from mcp_wire import latest
from tests.support.frames import ALL, HANDSHAKE, PER_REQUEST, Speaker, with_sessions
from tests.support.http.asgi import (
    Open,
    Reply,
    WebClient,
    begin,
    end,
    open_request,
    request,
    surfing,
)
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import Talker, soon
from tests.support.requirement import requirement

HANDSHAKES = [one for one in ALL if mcp_wire.profile(one).handshake]
OLD = Speaker(HANDSHAKE)
SESSION = str(OLD.profile.session_header)
VERSION = str(OLD.profile.version_header)
WORDS = ["one", "two", "three"]
ROOTS = {"roots": [{"uri": "file:///a"}]}


def said(reply: Reply) -> list[Any]:
    """Return the log messages of a stream, and True if it ended in a response."""
    frames = [event.json for event in reply.events if event.data]
    return [frame["params"]["data"] if "params" in frame else "result" in frame for frame in frames]


async def tell(server: Server, data: str) -> None:
    """Log a message outside of any request, in every session."""
    for session in server.sessions():
        await session.client.notify_logging_message("info", data)


async def told(opened: Open) -> str:
    return str((await opened.frame())["params"]["data"])


# --- the stream of a request ---


@with_sessions
async def test_the_client_is_asked_on_the_stream_of_the_request(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        opened = client.post(client.speaker.call(1, "roots"))
        await client.answer(await opened.frame(), ROOTS)
        answer = await opened.frame()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (1, "file:///a")


@with_sessions
async def test_a_client_that_refuses_to_answer_is_an_error_of_the_tool(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        opened = client.post(client.speaker.call(1, "roots"))
        id = (await opened.frame())["id"]
        await client.ask(b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no"}}' % id)
        reply = await opened.whole()
    assert b"-32601" in reply.body


async def test_several_requests_at_once_have_a_stream_each() -> None:
    async with surfing(Talker().server.asgi(), HANDSHAKE) as client:
        opened = [client.post(OLD.call(id, "roots")) for id in range(1, 4)]
        asked = [await one.frame() for one in opened]
        for number in (2, 0, 1):
            uri = f"file:///{number}"
            await client.answer(asked[number], {"roots": [{"uri": uri}]})
        answers = [await one.frame() for one in opened]
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert [answer["result"]["content"][0]["text"] for answer in answers] == [
        "file:///0",
        "file:///1",
        "file:///2",
    ]


@requirement("http:get:unrelated", "http:get:no-answers")
async def test_what_belongs_to_a_request_comes_on_its_own_stream_alone(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        listening = client.get()
        await listening.head()
        opened = client.post(client.speaker.call(1, "roots"))
        await client.answer(await opened.frame(), ROOTS)
        await opened.whole()
        assert listening.messages == []


async def test_an_answer_to_nothing_is_accepted() -> None:
    async with surfing(Talker().server.asgi(), HANDSHAKE) as client:
        await client.answer({"id": 99}, {})


async def test_another_session_cannot_answer() -> None:
    app = Talker().server.asgi()
    async with surfing(app, HANDSHAKE) as client, surfing(app, HANDSHAKE) as other:
        opened = client.post(OLD.call(1, "roots"))
        asked = await opened.frame()
        await other.answer(asked, ROOTS)
        await asyncio.sleep(0)
        assert not opened.task.done()
        await client.answer(asked, ROOTS)
        assert "result" in await opened.frame()


async def test_the_answer_of_a_client_that_takes_only_streams_is_one() -> None:
    app = Talker().server.asgi()
    async with surfing(app, HANDSHAKE) as client:
        reply = await client.ask(OLD.call(1, "echo", text="a"), accept="text/event-stream")
    assert said(reply) == [True]


async def test_the_stream_of_a_call_that_was_cancelled_ends_without_an_answer() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        call = OLD.call(1, "wait", say="one")
        opened = client.post(call, accept="text/event-stream")
        await soon(talker.began)
        await client.ask(OLD.cancel(1))
        reply = await opened.whole()
    assert (reply.status, said(reply)) == (200, ["one"])


async def test_a_session_may_begin_on_a_stream() -> None:
    reply = await request(
        Talker().server.asgi(), OLD.initialize(1), {"accept": "text/event-stream"}
    )
    assert SESSION.lower() in reply.headers
    assert said(reply) == [True]


async def test_a_server_that_is_about_to_end_still_asks_the_client_of_a_running_request() -> None:
    began, go_on, server = asyncio.Event(), asyncio.Event(), Server("late")

    @server.tool
    async def late(ctx: Context) -> str:
        began.set()
        await go_on.wait()
        return (await ctx.client.list_roots(timeout_s=WAIT_S)).roots[0].uri

    app = server.asgi()
    async with surfing(app, HANDSHAKE) as client:
        listening, opened = client.get(), client.post(OLD.call(1, "late"))
        await listening.head()
        await soon(began)
        closing = asyncio.create_task(app.aclose())
        # The stream ends when the server begins to end.
        await listening.ended()
        go_on.set()
        await client.answer(await opened.frame(), ROOTS)
        reply = await opened.whole()
        await closing
    assert b"file:///a" in reply.body


# --- lost connections ---


@requirement("http:disconnect")
async def test_a_client_that_hangs_up_has_cancelled_nothing(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        opened = client.post(client.speaker.call(1, "wait", say="now"))
        await opened.watched()
        opened.hang_up()
        await asyncio.wait([opened.task], timeout=WAIT_S)
        assert not talker.ended.is_set()
        talker.go_on.set()
        await soon(talker.ended)
    assert talker.seen is None


async def test_a_client_that_hangs_up_before_its_stream_began_is_asked_elsewhere() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        opened = client.post(OLD.call(1, "wait", then="after"))
        await opened.watched()
        opened.hang_up()
        await asyncio.wait([opened.task], timeout=WAIT_S)
        listening = client.get()
        talker.go_on.set()
        assert await told(listening) == "after"


# --- the GET streams ---


@requirement("http:endpoint", "http:get")
async def test_what_belongs_to_no_request_comes_on_the_stream_that_the_client_opened(
    revision: str,
) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        listening = client.get()
        head = await listening.head()
        assert (head.status, head.headers["content-type"]) == (200, "text/event-stream")
        await tell(talker.server, "news")
        assert await told(listening) == "news"


@requirement("http:no-broadcast")
async def test_a_message_goes_to_one_stream_of_several(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        listening = [client.get() for _ in range(3)]
        for one in listening:
            await one.head()
        await tell(talker.server, "news")
        for _ in range(5):
            await asyncio.sleep(0)
        heard = [event for one in listening for event in one.messages]
    assert len(heard) == 1


async def test_when_one_stream_ends_another_is_used() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        first, second = client.get(), client.get()
        await first.watched()
        await second.watched()
        second.hang_up()
        await asyncio.wait([second.task], timeout=WAIT_S)
        await tell(talker.server, "news")
        assert await told(first) == "news"


async def test_what_comes_while_no_stream_is_open_waits_for_one() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        for word in WORDS:
            await tell(talker.server, word)
        listening = client.get()
        assert [await told(listening) for _ in WORDS] == WORDS


async def test_only_so_much_waits_for_a_stream() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        for number in range(MAX_PENDING + 5):
            await tell(talker.server, str(number))
        listening = client.get()
        assert await told(listening) == "5"


async def test_the_client_is_asked_on_its_own_stream_outside_of_requests() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        listening = client.get()
        (session,) = talker.server.sessions()
        asking = asyncio.create_task(session.client.list_roots())
        await client.answer(await listening.frame(), ROOTS)
        assert (await asking).roots[0].uri == "file:///a"


async def test_asking_a_client_without_a_stream_takes_its_time_and_no_more() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE):
        (session,) = talker.server.sessions()
        with pytest.raises(RequestTimeout):
            await session.client.list_roots(timeout_s=0.01)


async def test_a_tool_can_ask_a_client_that_takes_no_stream_on_its_own_one() -> None:
    async with surfing(Talker().server.asgi(json_only=True), HANDSHAKE) as client:
        listening = client.get()
        opened = client.post(OLD.call(1, "roots"))
        await client.answer(await listening.frame(), ROOTS)
        reply = await opened.whole()
    assert reply.json["result"]["content"][0]["text"] == "file:///a"


async def test_a_stream_ends_with_its_session() -> None:
    talker = Talker()
    app = talker.server.asgi()
    client = WebClient(app, OLD)
    client.session = await begin(app, OLD)
    listening = client.get()
    await listening.watched()
    await end(app, client.session)
    await listening.whole()


async def test_who_waits_for_a_client_is_told_when_its_session_ends() -> None:
    talker = Talker()
    app = talker.server.asgi()
    session = await begin(app, OLD)
    (opened,) = talker.server.sessions()
    asking = asyncio.create_task(opened.client.list_roots())
    await asyncio.sleep(0)
    await end(app, session)
    with pytest.raises(SessionLost):
        await asking


async def test_a_client_that_does_not_read_its_stream_loses_it() -> None:
    talker, word = Talker(), "x" * 100_000
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        listening = client.get()
        await listening.watched()
        listening.reading.clear()
        for _ in range(20):
            await tell(talker.server, word)
        again = client.get()
        assert await told(again) == word
        listening.reading.set()
        await listening.whole()


@pytest.mark.parametrize("headers", [{}, {SESSION: "guess"}])
async def test_a_stream_needs_a_session(headers: dict[str, str]) -> None:
    reply = await request(Talker().server.asgi(), headers=headers, method="GET")
    assert reply.status == (404 if headers else 400)


async def test_a_client_that_takes_no_stream_cannot_open_one() -> None:
    app = Talker().server.asgi()
    session = await begin(app, OLD)
    reply = await request(app, headers={**session, "accept": "application/json"}, method="GET")
    assert reply.status == 406
    await end(app, session)


async def test_where_requests_stand_for_themselves_there_is_no_other_stream() -> None:
    app = Talker().server.asgi()
    session = await begin(app, OLD)
    reply = await request(app, headers={**session, VERSION: PER_REQUEST}, method="GET")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    await end(app, session)


# --- the agreed revision ---


def at(*offered: str) -> tuple[Server, list[str]]:
    """Return a server, and the revision of each ping that it has answered."""
    server = Server("at", revisions=offered)
    seen: list[str] = []
    server.hooks.before_ping(lambda ctx, params: seen.append(ctx.revision))
    return server, seen


@with_sessions
async def test_a_session_stays_at_the_agreed_revision_whatever_the_header_names(
    revision: str,
) -> None:
    server, seen = at(*HANDSHAKES)
    server.add_tool(lambda: "x", name="x", title="X", icons=[latest.Icon(src="data:,")])
    app, speaker = server.asgi(), Speaker(revision)
    session = await begin(app, speaker)
    tools: list[Any] = []
    for number, named in enumerate(HANDSHAKES):
        headers = {**session, VERSION: named}
        assert (await request(app, speaker.request(2 * number, "ping"), headers)).status == 200
        listed = await request(app, speaker.request(2 * number + 1, "tools/list"), headers)
        tools += listed.json["result"]["tools"]
    assert seen == [revision] * len(HANDSHAKES)
    known = mcp_wire.types(revision).Tool.__struct_fields__
    assert [("title" in tool, "icons" in tool) for tool in tools] == [
        ("title" in known, "icons" in known)
    ] * len(HANDSHAKES)
    await end(app, session)


@pytest.mark.parametrize(
    "agreed", [one for one in HANDSHAKES[:-1] if mcp_wire.profile(one).version_header]
)
async def test_the_header_names_the_agreed_revision_and_not_the_one_that_was_asked_for(
    agreed: str,
) -> None:
    server, seen = at(*HANDSHAKES[: HANDSHAKES.index(agreed) + 1])
    app = server.asgi()
    begun = await request(app, OLD.initialize(0))
    assert begun.json["result"]["protocolVersion"] == agreed
    session = {SESSION: begun.headers[SESSION.lower()]}
    named = {**session, VERSION: agreed}
    assert (await request(app, OLD.initialized, named)).status == 202
    assert (await request(app, OLD.request(1, "ping"), named)).status == 200
    refused = await request(app, OLD.request(2, "ping"), {**session, VERSION: HANDSHAKE})
    assert refused.status == 400
    assert refused.json["error"]["message"] == f"unsupported protocol version {HANDSHAKE!r}"
    assert seen == [agreed]
    await end(app, session)


async def test_arguments_that_talk_of_revisions_name_none_in_a_session() -> None:
    key = mcp_wire.VERSION_KEYS[PER_REQUEST]
    async with surfing(Talker().server.asgi(), HANDSHAKE) as client:
        reply = await client.ask(OLD.call(1, "echo", text=key))
    assert reply.json["result"]["content"][0]["text"] == key


# --- session ownership ---


def as_user(name: str) -> dict[str, Any]:
    return {"mcp_gen.principal": name}


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_session_of_somebody_else_is_not_found(method: str) -> None:
    app = Talker().server.asgi()
    begun = await open_request(app, OLD.initialize(0), **as_user("ada")).whole()
    session = {SESSION: begun.headers[SESSION.lower()]}
    body = OLD.request(1, "ping") if method == "POST" else b""
    for scope in (as_user("bob"), {}):
        reply = await request(app, body, session, method=method, **scope)
        assert reply.status == 404
    assert (await request(app, OLD.request(2, "ping"), session, **as_user("ada"))).status == 200
    await request(app, headers=session, method="DELETE", **as_user("ada"))


async def test_the_app_can_be_told_who_the_client_is() -> None:
    seen: list[str | None] = []
    server = Server("who")
    server.hooks.before_ping(lambda ctx, params: seen.append(ctx.principal))
    app = server.asgi(principal=lambda scope: scope["user"])
    begun = await open_request(app, OLD.initialize(0), user="ada").whole()
    session = {SESSION: begun.headers[SESSION.lower()]}
    await request(app, OLD.request(1, "ping"), session, user="ada")
    assert seen == ["ada"]
    await request(app, headers=session, method="DELETE", user="ada")


# --- limits ---


def silent_for(server: Server, seconds: float) -> None:
    for session in server.sessions():
        session.heard_s -= seconds  # type: ignore[attr-defined]


async def test_when_there_are_too_many_sessions_the_next_is_told_to_come_back() -> None:
    app = Talker().server.asgi(max_sessions=1)
    session = await begin(app, OLD)
    reply = await request(app, OLD.initialize(7))
    assert (reply.status, reply.json["id"]) == (503, 7)
    assert int(reply.headers["retry-after"]) > 0
    assert (await request(app, OLD.request(1, "ping"), session)).status == 200
    await end(app, session)
    await end(app, await begin(app, OLD))


async def test_a_session_that_has_been_silent_makes_room() -> None:
    talker = Talker()
    app = talker.server.asgi(max_sessions=2)
    first = await begin(app, OLD)
    silent_for(talker.server, 100)
    second = await begin(app, OLD)
    third = await begin(app, OLD)
    statuses = [
        (await request(app, OLD.request(1, "ping"), one)).status for one in (first, second, third)
    ]
    assert statuses == [404, 200, 200]
    for one in (second, third):
        await end(app, one)


async def test_who_could_make_room_is_not_looked_for_each_time() -> None:
    talker = Talker()
    app = talker.server.asgi(max_sessions=1)
    session = await begin(app, OLD)
    assert (await request(app, OLD.initialize(7))).status == 503
    silent_for(talker.server, 100)
    assert (await request(app, OLD.initialize(7))).status == 503
    # As after the second in which the full registry is not searched; the test does not wait.
    app._exchange._sessions._full_until_s = 0  # type: ignore[attr-defined]
    other = await begin(app, OLD)
    assert (await request(app, OLD.request(1, "ping"), session)).status == 404
    await end(app, other)


async def test_a_session_with_something_open_makes_no_room() -> None:
    talker = Talker()
    app = talker.server.asgi(max_sessions=1)
    async with surfing(app, HANDSHAKE) as client:
        await client.get().watched()
        silent_for(talker.server, 100)
        assert (await request(app, OLD.initialize(7))).status == 503


async def test_a_silent_session_ends() -> None:
    talker, closed = Talker(), asyncio.Event()
    talker.server.hooks.session_closed(lambda _: closed.set())
    app = talker.server.asgi(session_idle_s=0.02)
    session = await begin(app, OLD)
    await soon(closed)
    assert (await request(app, OLD.request(1, "ping"), session)).status == 404
    assert talker.server.sessions() == []


async def test_a_session_with_something_open_is_not_silent() -> None:
    talker = Talker()
    app = talker.server.asgi(session_idle_s=0.02)
    async with surfing(app, HANDSHAKE) as client:
        opened = client.post(OLD.call(1, "wait"))
        # Longer than that: a request is watched after 50 ms.
        await opened.watched()
        talker.go_on.set()
        assert (await opened.whole()).status == 200


AGO_S = 1000.0


def last_heard_long_ago(server: Server) -> HttpSession:
    (session,) = server.sessions()
    assert isinstance(session, HttpSession)
    session.heard_s -= AGO_S
    return session


async def test_silence_begins_when_a_stream_is_closed() -> None:
    talker = Talker()
    # Sessions are looked at four times as often, and a stream is only watched later.
    async with surfing(talker.server.asgi(session_idle_s=0.04), HANDSHAKE) as client:
        listening = client.get()
        await listening.head()
        session = last_heard_long_ago(talker.server)
        await listening.watched()
        listening.hang_up()
        await asyncio.wait([listening.task], timeout=WAIT_S)
        assert session.silent_s() < AGO_S


async def test_silence_begins_when_a_request_is_answered() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(session_idle_s=0.04), HANDSHAKE) as client:
        opened = client.post(OLD.call(1, "wait"))
        await soon(talker.began)
        session = last_heard_long_ago(talker.server)
        await opened.watched()
        talker.go_on.set()
        await opened.whole()
        assert session.silent_s() < AGO_S


async def test_a_session_is_not_silent_while_its_client_reads_an_answer() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        opened = client.post(OLD.call(1, "say", words=["a"]))
        opened.reading.clear()
        await soon(talker.ended)
        session = last_heard_long_ago(talker.server)
        await asyncio.sleep(0)
        assert session.requests() == []
        assert session.silent_s() == 0
        opened.reading.set()
        await opened.whole()


async def test_no_session_lasts_for_ever() -> None:
    talker, closed = Talker(), asyncio.Event()
    talker.server.hooks.session_closed(lambda _: closed.set())
    app = talker.server.asgi(session_lifetime_s=0.05)
    client = WebClient(app, OLD)
    client.session = await begin(app, OLD)
    listening = client.get()
    await soon(closed)
    await listening.whole()


# --- without sessions ---


@with_sessions
async def test_without_sessions_each_request_stands_alone(revision: str) -> None:
    speaker, app = Speaker(revision), Talker().server.asgi(stateless=True)
    begun = await request(app, speaker.initialize(0))
    assert begun.json["result"]["protocolVersion"] == revision
    assert SESSION.lower() not in begun.headers
    version = {VERSION: revision}
    assert (await request(app, speaker.initialized, version)).status == 202
    reply = await request(app, speaker.call(1, "say", words=WORDS), version)
    assert said(reply) == [*WORDS, True]


@requirement("http:version:assumed")
async def test_without_sessions_the_revision_is_the_one_in_the_header(revision: str) -> None:
    server = Server("at")
    seen: list[str] = []
    server.hooks.before_ping(lambda ctx, params: seen.append(ctx.revision))
    app = server.asgi(stateless=True)
    for headers in ({VERSION: revision}, {}):
        assert (await request(app, OLD.request(1, "ping"), headers)).status == 200
    assert seen == [revision, "2025-03-26"]


@with_sessions
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("no/such", (200, -32601)),
        ("tools/call", (200, -32602)),
        # Before its handshake a client is not known: the POST itself is at fault.
        ("initialize", (400, -32602)),
    ],
)
async def test_without_sessions_an_error_has_the_status_of_its_kind(
    revision: str, method: str, expected: tuple[int, int]
) -> None:
    speaker, app = Speaker(revision), Talker().server.asgi(stateless=True)
    reply = await request(app, speaker.request(1, method, {}), {VERSION: revision})
    assert (reply.status, reply.json["error"]["code"]) == expected


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_without_sessions_there_is_nothing_but_posts(method: str) -> None:
    reply = await request(Talker().server.asgi(stateless=True), method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


async def test_without_sessions_nobody_is_asked() -> None:
    app = Talker().server.asgi(stateless=True)
    reply = await request(app, OLD.call(1, "roots"), {VERSION: HANDSHAKE})
    assert reply.json["result"]["isError"]


async def test_without_sessions_what_a_tool_logs_comes_before_its_answer() -> None:
    server = Server("logging")

    @server.tool
    async def tell(ctx: Context) -> str:
        await ctx.log("error", "a")
        return "told"

    reply = await request(server.asgi(stateless=True), OLD.call(1, "tell"), {VERSION: HANDSHAKE})
    assert said(reply) == ["a", True]


async def test_without_sessions_nobody_can_subscribe() -> None:
    server = Talker().server
    server.resource("a://b")(lambda: "b")
    message = OLD.request(1, "resources/subscribe", {"uri": "a://b"})
    reply = await request(server.asgi(stateless=True), message, {VERSION: HANDSHAKE})
    assert "a subscription needs a session" in reply.json["error"]["message"]


@with_sessions
async def test_an_answer_that_cannot_be_written_is_an_internal_error(revision: str) -> None:
    server = Server("broken")

    @server.method("acme/broken", params=dict[str, Any], result=dict[str, Any])
    async def broken(ctx: Context, params: dict[str, Any]) -> dict[str, Any]:
        """Return a value that JSON cannot carry."""
        return {"a": object()}

    async with surfing(server.asgi(), revision) as client:
        reply = await client.ask(client.speaker.request(1, "acme/broken"))
    assert (reply.status, reply.json["error"]["message"]) == (200, "internal error")


# --- memory per session ---


async def test_sessions_share_the_names_of_their_attributes() -> None:
    server = Talker().server
    await begin(server.asgi(), OLD)
    (session,) = server.sessions()
    # From the thirtieth on Python keeps them with each object, which is then half as heavy again.
    assert len(vars(session)) < 30
