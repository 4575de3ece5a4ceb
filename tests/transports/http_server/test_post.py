"""HTTP endpoint: one POST, one JSON response."""

from __future__ import annotations

import asyncio
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from mcp_gen import Context, InvalidParams, InvalidRequest, MethodNotFound, ParseError, Server
from mcp_gen.compat.recording import Frame
from mcp_gen.server.context.context import origin_of
from mcp_gen.transports.http_server.app import AsgiApp
from tests.support.frames import (
    HANDSHAKE,
    PER_REQUEST,
    Speaker,
    server_violations,
    with_sessions,
)
from tests.support.http.asgi import Reply, headers_of, open_request, request, surfing
from tests.support.requirement import requirement

PEER = Speaker(PER_REQUEST)
OLD = Speaker(HANDSHAKE)
VERSION = str(PEER.profile.version_header)
METHOD = str(PEER.profile.method_header)
NAME = str(PEER.profile.name_header)
SESSION = str(OLD.profile.session_header)
ERRORS = PEER.profile.errors


def server(**options: Any) -> Server:
    made = Server("http", **options)

    @made.tool
    async def echo(text: str) -> str:
        return text

    return made


async def post(app: AsgiApp, speaker: Speaker, message: bytes, **more: str) -> Reply:
    """Post a message with its headers; the server's response is checked."""
    reply = await request(app, message, {**headers_of(speaker, message), **more})
    if reply.body:
        assert reply.headers["content-type"] == "application/json"
        frames = [Frame("client", message), Frame("server", reply.body)]
        assert server_violations(speaker.revision, frames) == []
    return reply


def told(reply: Reply) -> tuple[int, int]:
    """Return the status and the JSON-RPC code of a refusal."""
    return reply.status, reply.json["error"]["code"]


# --- the revision of every request ---


async def test_a_tool_is_called() -> None:
    reply = await post(server().asgi(), PEER, PEER.call(7, "echo", text="é"))
    assert (reply.status, reply.json["id"]) == (200, 7)
    assert reply.json["result"]["content"] == [{"type": "text", "text": "é"}]


async def test_tools_are_listed() -> None:
    reply = await post(server().asgi(), PEER, PEER.request(1, "tools/list"))
    assert [tool["name"] for tool in reply.json["result"]["tools"]] == ["echo"]


async def test_a_server_says_what_it_speaks() -> None:
    reply = await post(server().asgi(), PEER, PEER.request(1, "server/discover"))
    assert reply.json["result"]["supportedVersions"] == [PER_REQUEST]


async def test_no_session_begins() -> None:
    reply = await post(server().asgi(), PEER, PEER.request(1, "server/discover"))
    assert SESSION.lower() not in reply.headers


async def test_a_body_may_come_in_pieces() -> None:
    message = PEER.call(1, "echo", text="a")
    pieces = [message[:10], b"", message[10:11], message[11:]]
    reply = await request(server().asgi(), pieces, headers_of(PEER, message))
    assert "result" in reply.json


@requirement("http:version:mismatch")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (VERSION, HANDSHAKE),
        (VERSION, "1999-12-31"),
        (VERSION, None),
        (METHOD, "tools/list"),
        (METHOD, "TOOLS/CALL"),
        (METHOD, None),
        (NAME, "other"),
        (NAME, ""),
        (NAME, None),
    ],
)
async def test_a_header_that_says_something_else_than_the_body_is_a_mismatch(
    name: str, value: str | None
) -> None:
    message = PEER.call(1, "echo", text="a")
    headers = {**headers_of(PEER, message), name: value}
    sent = {name: value for name, value in headers.items() if value is not None}
    reply = await request(server().asgi(), message, sent)
    assert told(reply) == (400, ERRORS.header_mismatch)
    assert reply.json["id"] == 1


async def test_header_names_are_of_any_case() -> None:
    message = PEER.call(1, "echo", text="a")
    headers = {name.upper(): value for name, value in headers_of(PEER, message).items()}
    assert (await request(server().asgi(), message, headers)).status == 200


@requirement("http:version:unsupported-listed", "http:status-400")
async def test_a_revision_that_is_not_spoken_is_refused_with_those_that_are() -> None:
    strange = PEER.call(1, "echo", text="a").replace(PER_REQUEST.encode(), b"1999-12-31")
    headers = {**headers_of(PEER, strange), VERSION: "1999-12-31"}
    reply = await request(server().asgi(), strange, headers)
    assert told(reply) == (400, ERRORS.unsupported_protocol_version)
    assert reply.json["error"]["data"] == {"supported": [PER_REQUEST], "requested": "1999-12-31"}


@pytest.mark.parametrize("offered", [[PER_REQUEST, HANDSHAKE], [HANDSHAKE]])
async def test_an_unknown_version_header_is_refused_with_what_is_spoken(
    offered: list[str],
) -> None:
    reply = await request(
        server(revisions=offered).asgi(), OLD.request(1, "tools/list"), {VERSION: "1999-12-31"}
    )
    assert reply.status == 400
    assert reply.json["error"]["data"] == {"supported": offered[:1], "requested": "1999-12-31"}


@requirement("base:metadata:missing-status")
@pytest.mark.parametrize(
    "key", [PEER.profile.protocol_version_key, PEER.profile.client_capabilities_key]
)
async def test_a_missing_key_in_meta_is_invalid_params(key: str) -> None:
    message = PEER.call(1, "echo", text="a").replace(key.encode(), b"another/key")
    reply = await request(server().asgi(), message, headers_of(PEER, message))
    assert told(reply) == (400, InvalidParams.code)
    assert key in reply.json["error"]["message"]


@requirement("http:unknown-method")
@pytest.mark.parametrize("method", ["no/such", "ping", "logging/setLevel", "prompts/list"])
async def test_an_unknown_method_is_not_found(method: str) -> None:
    reply = await post(server().asgi(), PEER, PEER.request(1, method))
    assert told(reply) == (PEER.profile.unknown_method_status, MethodNotFound.code)
    assert reply.status == 404


async def test_an_unknown_tool_is_invalid_params() -> None:
    reply = await post(server().asgi(), PEER, PEER.call(1, "nope"))
    assert reply.json["error"]["code"] == InvalidParams.code


@requirement("http:version:missing")
async def test_where_all_requests_name_their_revision_a_header_must_too() -> None:
    message = PEER.call(1, "echo", text="a")
    headers = {name: v for name, v in headers_of(PEER, message).items() if name != VERSION}
    reply = await request(server(revisions=[PER_REQUEST]).asgi(), message, headers)
    assert told(reply) == (400, ERRORS.header_mismatch)


@requirement("http:accepted")
async def test_what_asks_for_nothing_is_accepted_with_nothing_to_say(revision: str) -> None:
    async with surfing(server().asgi(), revision) as client:
        replies = [await client.ask(client.speaker.cancel(99))]
        if client.session:
            replies.append(await client.ask(b'{"jsonrpc":"2.0","id":99,"result":{}}'))
    assert {(reply.status, reply.body) for reply in replies} == {(202, b"")}


@requirement("http:not-accepted")
async def test_what_cannot_be_taken_has_an_error_status(revision: str) -> None:
    async with surfing(server().asgi(), revision) as client:
        replies = [await client.ask(b'{"jsonrpc":"1.0","method":"notifications/cancelled"}')]
        if client.session:
            elsewhere = {SESSION: "guess"}
            replies.append(await client.ask(client.speaker.cancel(99), **elsewhere))
        else:
            # No handler was called.
            replies.append(await client.ask(b'{"jsonrpc":"2.0","id":99,"result":{}}'))
        wrong, unknown = (reply.status for reply in replies)
    assert (wrong, unknown) == (400, 404 if client.session else 400)


@requirement("base:metadata:capability-status")
async def test_a_client_that_cannot_be_asked_is_a_bad_request() -> None:
    async def choose(ctx: Context) -> str:
        return (await ctx.sample("Which?", max_tokens=9)).model

    made = server()
    made.tool(choose)
    reply = await post(made.asgi(), PEER, PEER.call(1, "choose"))
    assert told(reply) == (400, ERRORS.missing_required_client_capability)


@requirement("http:older-clients")
async def test_a_handshake_with_a_server_that_has_none_is_told_what_it_speaks() -> None:
    message = OLD.initialize(1)
    reply = await request(server(revisions=[PER_REQUEST]).asgi(), message, {})
    assert reply.status == 400
    assert reply.json["error"]["data"]["supported"] == [PER_REQUEST]


# --- invalid messages ---


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", ParseError.code),
        (b"nonsense", ParseError.code),
        (b"\xff", ParseError.code),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b"[" * 100_000, ParseError.code),
        (b"17", InvalidRequest.code),
        (b"[]", InvalidRequest.code),
        (b"[" + PEER.call(1, "echo", text="a") + b"]", InvalidRequest.code),
        (b'{"jsonrpc":"1.0","method":"m"}', InvalidRequest.code),
    ],
)
async def test_what_is_no_message_is_a_bad_request_without_an_id(body: bytes, code: int) -> None:
    reply = await request(server().asgi(), body, {VERSION: PER_REQUEST})
    assert told(reply) == (400, code)
    assert "id" not in reply.json


async def test_a_malformed_message_is_refused_with_the_id_that_could_be_read() -> None:
    reply = await request(server().asgi(), b'{"jsonrpc":"1.0","id":7,"method":"m"}', {})
    assert told(reply) == (400, InvalidRequest.code)
    assert reply.json["id"] == 7


@pytest.mark.parametrize("method", ["PUT", "HEAD", "OPTIONS", "PATCH"])
async def test_another_http_method_is_not_allowed(method: str) -> None:
    reply = await request(server().asgi(), method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, POST, DELETE")


@requirement("http:endpoint:post")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_a_server_without_sessions_takes_posts_alone(method: str) -> None:
    reply = await request(server(revisions=[PER_REQUEST]).asgi(), method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("path", ["/", "/mcp/", "/other", "/mcp/mcp", ""])
async def test_another_path_is_not_found(path: str) -> None:
    assert (await request(server().asgi(), path=path)).status == 404


@pytest.mark.parametrize(("root_path", "path"), [("/app", "/app/mcp"), ("", "/mcp")])
async def test_the_app_may_be_mounted(root_path: str, path: str) -> None:
    message = PEER.call(1, "echo", text="a")
    reply = await request(
        server().asgi(), message, headers_of(PEER, message), path=path, root_path=root_path
    )
    assert reply.status == 200


@pytest.mark.parametrize("pieces", [1, 7])
async def test_a_body_over_the_limit_is_too_large(pieces: int) -> None:
    app = limited(1000)
    message = PEER.call(1, "echo", text="a" * 1000)
    size = len(message) // pieces + 1
    parts = [message[i : i + size] for i in range(0, len(message), size)]
    assert (await request(app, parts, headers_of(PEER, message))).status == 413


async def test_a_body_over_the_limit_is_not_read_to_its_end() -> None:
    read = 0

    async def receive() -> Any:
        nonlocal read
        read += 1
        assert read < 10
        return {"type": "http.request", "body": b"a" * 500, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}
    await limited(1000)(scope, receive, send)
    assert sent[0]["status"] == 413


async def test_a_body_of_just_the_limit_is_read() -> None:
    message = PEER.call(1, "echo", text="a")
    reply = await request(limited(len(message)), message, headers_of(PEER, message))
    assert reply.status == 200


async def test_a_client_that_hangs_up_before_its_body_has_come_is_not_served() -> None:
    called: list[str] = []
    made = Server("http")

    @made.tool
    async def echo(text: str) -> None:
        called.append(text)

    message = PEER.call(1, "echo", text="a")
    opened = open_request(made.asgi(), [message], headers_of(PEER, message), hangs_up=True)
    await opened.task
    assert (called, opened.sent) == ([], [])


def limited(max_body_bytes: int) -> AsgiApp:
    return server().asgi(max_body_bytes=max_body_bytes)


# --- sessions ---


async def begin(app: AsgiApp, speaker: Speaker) -> str:
    """Do the handshake and return the id of the session."""
    reply = await post(app, speaker, speaker.initialize(0))
    assert reply.json["result"]["protocolVersion"] == speaker.revision
    id = reply.headers[SESSION.lower()]
    accepted = await request(app, speaker.initialized, {SESSION: id})
    assert (accepted.status, accepted.body) == (202, b"")
    return id


@with_sessions
async def test_a_session_begins_with_a_handshake_and_serves(revision: str) -> None:
    speaker, app = Speaker(revision), server().asgi()
    id = await begin(app, speaker)
    tools = await post(app, speaker, speaker.request(1, "tools/list"), **{SESSION: id})
    called = await post(app, speaker, speaker.call(2, "echo", text="a"), **{SESSION: id})
    assert [tool["name"] for tool in tools.json["result"]["tools"]] == ["echo"]
    assert called.json["result"]["content"] == [{"type": "text", "text": "a"}]


@requirement("http:session:ended")
async def test_a_session_that_was_ended_is_not_found(revision: str) -> None:
    speaker, app = Speaker(revision), server().asgi()
    id = await begin(app, speaker)
    ended = await request(app, b"", {SESSION: id}, method="DELETE")
    assert (ended.status, ended.body) == (204, b"")
    gone = await post(app, speaker, speaker.request(1, "tools/list"), **{SESSION: id})
    assert (gone.status, gone.json["id"]) == (404, 1)


@requirement("http:session:missing")
async def test_a_request_without_its_session_is_a_bad_request(revision: str) -> None:
    speaker, app = Speaker(revision), server().asgi()
    await begin(app, speaker)
    reply = await post(app, speaker, speaker.request(1, "tools/list"))
    assert told(reply) == (400, InvalidRequest.code)
    assert SESSION in reply.json["error"]["message"]


@with_sessions
async def test_a_session_that_never_was_is_not_found(revision: str) -> None:
    speaker, app = Speaker(revision), server().asgi()
    reply = await post(app, speaker, speaker.request(1, "tools/list"), **{SESSION: "guess"})
    assert reply.status == 404


async def test_ending_a_session_that_never_was_is_not_found() -> None:
    reply = await request(server().asgi(), b"", {SESSION: "guess"}, method="DELETE")
    assert reply.status == 404


@with_sessions
async def test_a_second_handshake_in_a_session_is_refused(revision: str) -> None:
    speaker, app = Speaker(revision), server().asgi()
    id = await begin(app, speaker)
    reply = await post(app, speaker, speaker.initialize(1), **{SESSION: id})
    assert told(reply) == (400, InvalidRequest.code)


@requirement("http:session:secure")
async def test_session_ids_are_long_and_never_the_same(revision: str) -> None:
    app = server().asgi()
    ids = {await begin(app, Speaker(revision)) for _ in range(20)}
    assert len(ids) == 20
    assert all(len(id) >= 20 for id in ids)


@requirement("http:session:ascii")
async def test_session_ids_are_visible_ascii(revision: str) -> None:
    id = await begin(server().asgi(), Speaker(revision))
    assert all("!" <= one <= "~" for one in id)


@requirement("http:version:unsupported")
@with_sessions
async def test_a_version_header_that_is_unknown_is_a_bad_request_in_a_session_too(
    revision: str,
) -> None:
    speaker, app = Speaker(revision), server().asgi()
    id = await begin(app, speaker)
    message = speaker.request(1, "tools/list")
    reply = await request(app, message, {SESSION: id, VERSION: "1999-12-31"})
    assert reply.status == 400


async def test_both_kinds_of_client_are_served_at_one_endpoint() -> None:
    app = server().asgi()
    id = await begin(app, OLD)
    new = await post(app, PEER, PEER.call(1, "echo", text="a"))
    old = await post(app, OLD, OLD.call(1, "echo", text="a"), **{SESSION: id})
    assert ("resultType" in new.json["result"], "resultType" in old.json["result"]) == (True, False)


async def test_a_failed_handshake_begins_no_session() -> None:
    message = OLD.initialize(1).replace(b"clientInfo", b"nobody")
    reply = await request(server().asgi(), message, {})
    assert told(reply) == (400, InvalidParams.code)
    assert SESSION.lower() not in reply.headers


# --- the rest of ASGI ---


async def test_the_lifespan_is_answered() -> None:
    coming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return coming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await server().asgi()({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@pytest.fixture
def url() -> Iterator[str]:
    """Return the endpoint of a real uvicorn on a free port."""
    config = uvicorn.Config(server().asgi(), port=0, log_level="warning")
    running = uvicorn.Server(config)
    ready = threading.Event()
    startup = running.startup

    async def tell(*sockets: Any, **named: Any) -> None:
        await startup(*sockets, **named)
        ready.set()

    # uvicorn has no other way to say that it listens.
    running.startup = tell  # type: ignore[method-assign]
    thread = threading.Thread(target=asyncio.run, args=(running.serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        (port,) = {s.getsockname()[1] for one in running.servers for s in one.sockets}
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.should_exit = True
        thread.join(10)


def test_a_real_http_server_serves_it(url: str) -> None:
    message = PEER.call(1, "echo", text="a")
    headers = {**headers_of(PEER, message), "Content-Type": "application/json"}
    asked = urllib.request.Request(url, message, headers)
    with urllib.request.urlopen(asked, timeout=10) as reply:
        body = reply.read()
    frames = [Frame("client", message), Frame("server", body)]
    assert server_violations(PER_REQUEST, frames) == []
    assert b'"text":"a"' in body


@with_sessions
async def test_a_channel_knows_the_task_that_answers_the_request(revision: str) -> None:
    made = Server("http")

    @made.tool
    async def known(ctx: Context) -> bool:
        return origin_of(ctx).channel.task(ctx.request_id) is asyncio.current_task()

    async with surfing(made.asgi(), revision) as client:
        reply = await client.ask(client.speaker.call(1, "known"))
    assert reply.json["result"]["content"][0]["text"] == "true"
