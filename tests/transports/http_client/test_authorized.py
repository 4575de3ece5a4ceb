"""Clients with an authorizer: each request has its headers, refusals are told to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

import mcp_wire
from mcp_gen import (
    AuthError,
    CacheHints,
    Client,
    ClientSession,
    Context,
    HttpError,
    RequestTimeout,
    Server,
    TransportError,
    UsageError,
)
from mcp_gen.transports.http_client.authorized import MAX_ATTEMPTS, AuthorizedSender
from mcp_gen.transports.http_client.endpoint import HttpEndpoint
from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport
from mcp_gen.transports.http_client.pool import Pool, origin_of
from tests.client.scripted import opening
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision
from tests.support.http.authorizers import FakeAuthorizer, guarded
from tests.support.http.loopback import Got, Line, Web, scripted_web, serving

BOUND_S = 30.0
HTTPS = "https://example.org/mcp"
ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no"}}'


def server() -> Server:
    made = Server("guarded")

    @made.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @made.tool
    async def slow(ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        return "done"

    return made


@asynccontextmanager
async def connected(
    auth: FakeAuthorizer, revision: str | None, *tokens: str, **options: Any
) -> AsyncIterator[tuple[ClientSession, Web]]:
    app = guarded(server().asgi(legacy_sse_path="/sse"), *tokens)
    async with serving(app) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        older = revision is not None and mcp_wire.profile(revision).http_transport == "sse_pair"
        url = f"{web.origin}/sse" if older else web.url
        yield await client.connect(url, revision=revision, auth=auth, **options), web


@every_revision
async def test_every_request_of_a_session_has_the_token(revision: str) -> None:
    auth = FakeAuthorizer("t1")
    async with connected(auth, revision, "t1") as (session, web):
        assert await session.call_tool("add", {"a": 1, "b": 2}, returns=int) == 3
    assert web.got
    assert {one.headers.get("authorization") for one in web.got} == {"Bearer t1"}
    assert {method for method, _ in auth.lines} == {one.method for one in web.got}


@every_revision
async def test_a_refused_first_request_leads_to_a_login_and_to_no_other_revision(
    revision: str,
) -> None:
    auth = FakeAuthorizer("", "t1")
    async with connected(auth, revision, "t1") as (session, web):
        assert session.revision == revision
    assert [(one.status, one.challenge, one.sent) for one in auth.asked] == [
        (401, 'Bearer scope="mcp"', [])
    ]
    first, second = web.got[:2]
    assert "authorization" not in first.headers
    assert second.headers["authorization"] == "Bearer t1"
    assert (second.method, second.path) == (first.method, first.path)
    if mcp_wire.profile(revision).http_transport != "sse_pair":
        # The endpoint of an SSE stream does not read the body of a POST.
        assert second.body == first.body != b""


async def test_the_newest_revision_is_negotiated_after_a_login() -> None:
    async with connected(FakeAuthorizer("", "t1"), None, "t1") as (session, web):
        assert session.revision == mcp_wire.LATEST
    assert web.asked("initialize") == []


@pytest.mark.parametrize("body", [b"", ERROR])
@pytest.mark.parametrize("status", [401, 403])
async def test_a_login_that_does_not_help_is_the_status_and_no_older_revision(
    status: int, body: bytes
) -> None:
    async def refuses(got: Got, line: Line) -> None:
        await line.answer(status, body)

    async with scripted_web(refuses) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        with pytest.raises(HttpError) as caught:
            await client.connect(web.url, auth=FakeAuthorizer("t1", "t2"))
    assert caught.value.status == status
    assert [one.asks for one in web.got] == ["server/discover"] * 2


@every_revision
async def test_the_error_of_a_failed_login_reaches_the_caller_as_it_is(revision: str) -> None:
    auth = FakeAuthorizer("t1")
    auth.refuse()
    with pytest.raises(AuthError) as caught:
        async with connected(auth, revision, "other"):
            pass
    assert caught.value is auth.error
    assert str(caught.value) == "the user said no: run `mcp-gen login URL`"


async def test_an_authorizer_that_never_gives_up_is_stopped() -> None:
    auth = FakeAuthorizer("t1", again=True)
    with pytest.raises(HttpError, match=f"refused the request {MAX_ATTEMPTS} times") as caught:
        async with connected(auth, None, "other"):
            pass
    assert caught.value.status == 401
    assert len(auth.asked) == MAX_ATTEMPTS


@pytest.mark.parametrize("progress", [False, True])
@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_no_timeout_runs_while_the_user_logs_in(revision: str, progress: bool) -> None:
    auth = FakeAuthorizer("t1", "t2")
    timeout_s = 0.2
    async with connected(auth, revision, "t1", "t2") as (session, _):
        auth.tokens[0] = "expired"
        auth.login.clear()
        heard = (lambda *_: None) if progress else None
        call = asyncio.create_task(
            session.call_tool("slow", timeout_s=timeout_s, progress=heard, returns=str)
        )
        await auth.waits.wait()
        # The user takes longer than the limit: twice, so that the timer has fired.
        await asyncio.wait([call], timeout=2.5 * timeout_s)
        auth.login.set()
        assert await call == "done"


async def test_a_probe_waits_for_the_user() -> None:
    auth = FakeAuthorizer("", "t1")
    auth.login.clear()
    app = guarded(server().asgi(), "t1")
    async with serving(app) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        connecting = asyncio.create_task(
            client.connect(web.url, auth=auth, probe_timeout_s=0.2, timeout_s=5)
        )
        await auth.waits.wait()
        await asyncio.wait([connecting], timeout=0.5)
        auth.login.set()
        assert (await connecting).revision == mcp_wire.LATEST
    assert web.asked("initialize") == []


async def test_the_time_of_the_server_is_limited_after_a_login() -> None:
    async def hangs(got: Got, line: Line) -> None:
        replies = opening(PER_REQUEST)
        if got.asks in replies:
            reply = replies[got.asks](got.json["params"])
            assert reply is not None
            await line.result(got, reply["result"])
        elif "authorization" in got.headers:
            await line.silence()
        else:
            await line.answer(401)

    auth = FakeAuthorizer("", "t1")
    async with scripted_web(hangs) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        session = await client.connect(web.url, auth=auth, revision=PER_REQUEST)
        with pytest.raises(RequestTimeout):
            await session.call_tool("t", timeout_s=0.3)
    assert len(auth.asked) == 1


async def test_the_stream_of_2024_11_05_waits_for_the_user() -> None:
    auth = FakeAuthorizer("", "t1")
    auth.login.clear()
    app = guarded(server().asgi(legacy_sse_path="/sse"), "t1")
    async with serving(app) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        url = f"{web.origin}/sse"
        transport = LegacySseTransport(url, auth=auth, endpoint_timeout_s=0.2)
        connecting = asyncio.create_task(client.connect(transport, revision=mcp_wire.REVISIONS[0]))
        await auth.waits.wait()
        await asyncio.wait([connecting], timeout=0.5)
        auth.login.set()
        session = await connecting
        assert await session.call_tool("add", {"a": 1, "b": 2}, returns=int) == 3


@pytest.mark.parametrize("revision", [HANDSHAKE])
async def test_the_end_of_a_session_asks_no_user(revision: str) -> None:
    auth = FakeAuthorizer("t1", "t2")
    async with connected(auth, revision, "t1") as (_, web):
        auth.tokens[0] = "expired"
    assert [one.headers["authorization"] for one in web.by("DELETE")] == ["Bearer expired"]
    assert [one for one in auth.asked if one.method == "DELETE"] == []


async def test_a_refused_notification_is_sent_again() -> None:
    auth = FakeAuthorizer("t1", "t2")
    app = guarded(server().asgi(), "t1", "t2")
    client = Client("c", roots=["file:///a"])
    async with serving(app) as web, client, asyncio.timeout(BOUND_S):
        await client.connect(web.url, revision=HANDSHAKE, auth=auth)
        auth.tokens[0] = "expired"
        await client.add_roots("file:///b")
        # Closing waits for what is queued.
        await client.aclose()
    sent = web.asked("notifications/roots/list_changed")
    assert [one.headers["authorization"] for one in sent] == ["Bearer expired", "Bearer t2"]


async def test_a_redirect_asks_for_headers_of_the_new_url() -> None:
    async def moves(got: Got, line: Line) -> None:
        if got.path == "/mcp":
            await line.answer(307, location="/moved")
        else:
            await line.answer(403)

    auth = FakeAuthorizer("t1")
    async with scripted_web(moves) as web, asyncio.timeout(BOUND_S):
        endpoint = HttpEndpoint(web.url, auth=auth)
        response = await endpoint.send("POST", [], b"{}")
        assert response.status == 403
        await endpoint.aclose()
    assert auth.lines == [("POST", web.url), ("POST", f"{web.origin}/moved")]
    assert [one.url for one in auth.asked] == [f"{web.origin}/moved"]


async def test_no_token_goes_to_another_origin() -> None:
    async def elsewhere(got: Got, line: Line) -> None:
        await line.answer(307, location=f"{other.origin}/mcp")

    async def never(got: Got, line: Line) -> None:
        raise AssertionError("it was asked")

    auth = FakeAuthorizer("t1")
    async with scripted_web(never) as other, scripted_web(elsewhere) as web:
        endpoint = HttpEndpoint(web.url, auth=auth)
        with pytest.raises(TransportError, match="another origin"):
            await endpoint.send("POST", [], b"{}")
        await endpoint.aclose()
    assert other.got == []
    assert auth.lines == [("POST", web.url)]


async def test_a_sender_has_no_token_for_a_url_of_another_origin() -> None:
    auth = FakeAuthorizer("t1")
    sender = AuthorizedSender(auth, origin_of(HTTPS))
    with pytest.raises(TransportError, match="the origin of the server alone"):
        await sender.send(Pool(1), "POST", "https://other.example/mcp", [], b"", own=[], limit=None)
    assert auth.lines == []


async def test_a_refusal_keeps_its_body_for_the_error() -> None:
    async def refuses(got: Got, line: Line) -> None:
        await line.answer(403, ERROR)

    async with scripted_web(refuses) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        with pytest.raises(HttpError) as caught:
            await client.connect(web.url, auth=FakeAuthorizer("t1"), revision=PER_REQUEST)
    assert caught.value.error is not None
    assert caught.value.error.code == -32001


async def test_every_response_is_shown_to_the_authorizer() -> None:
    async def nonce(got: Got, line: Line) -> None:
        await line.answer(401 if not auth.seen else 200, dpop_nonce=f"n{len(auth.seen)}")

    auth = FakeAuthorizer("t1", "t2")
    async with scripted_web(nonce) as web:
        endpoint = HttpEndpoint(web.url, auth=auth)
        await (await endpoint.send("POST", [], b"{}")).aclose()
        await endpoint.aclose()
    assert [one["dpop-nonce"] for one in auth.seen] == ["n0", "n1"]


async def test_what_is_cached_is_kept_apart_by_identity() -> None:
    auth = FakeAuthorizer("t1")
    endpoint = HttpEndpoint(HTTPS, auth=auth)
    found = []
    for auth.user in (None, ("https://as.example", "ann"), ("https://as.example", "bob")):
        found.append(endpoint.principal)
        assert found[-1] == endpoint.principal
    assert found[0] is None
    assert len(set(found)) == 3


@pytest.mark.parametrize(("before", "asked"), [("ann", 2), (None, 1)])
async def test_a_result_that_came_while_another_user_logged_in_is_not_kept_for_that_user(
    before: str | None, asked: int
) -> None:
    auth = FakeAuthorizer("t1")
    auth.user = before
    made = Server("private")
    made.cache_hints(list_resources=CacheHints(60_000), read_resource=CacheHints(60_000))

    @made.resource("me://")
    async def me() -> str:
        auth.user = "bob"
        return "mine"

    async with serving(made.asgi()) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        session = await client.connect(web.url, auth=auth, revision=PER_REQUEST)
        for _ in range(2):
            await session.read_resource("me://")
        assert len(web.asked("resources/read")) == asked


async def test_an_error_of_the_connection_shows_no_token() -> None:
    class Quotes:
        async def send(self, *given: Any) -> Any:
            raise TransportError(f"illegal header {given[2]}")

        async def aclose(self) -> None: ...

    endpoint = HttpEndpoint(HTTPS, auth=FakeAuthorizer("secret-token"))
    endpoint.intercept(lambda requests: Quotes())
    with pytest.raises(TransportError) as caught:
        await endpoint.send("POST", [], b"{}")
    assert "illegal header" in str(caught.value)
    assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "options", "says"),
    [
        ("python server.py", {}, "auth is for URLs; a command takes its credentials from `env="),
        ("http://example.org/mcp", {}, "expected a URL that begins with https://"),
        (HTTPS, {"bearer_token": "t"}, "it sends the header 'authorization' itself"),
        (HTTPS, {"headers": {"Authorization": "Basic x"}}, "sends the header 'authorization'"),
        (HTTPS, {"headers": {"DPoP": "x"}}, "sends the header 'dpop'"),
        ("https://u:p@example.org/mcp", {}, "user and password of the URL"),
        (HTTPS, {"auth": "token"}, "expected an authorizer of `mcp_gen.auth`, such as `OAuth"),
        (HTTPS, {"http_client": httpx2.AsyncClient(auth=("u", "p"))}, "credentials of its own"),
        (
            HTTPS,
            {"http_client": httpx2.AsyncClient(headers={"Authorization": "Bearer x"})},
            "credentials of its own",
        ),
    ],
)
async def test_credentials_that_contradict_each_other_are_a_usage_error(
    url: str, options: dict[str, Any], says: str
) -> None:
    async with Client("c") as client:
        with pytest.raises(UsageError, match=says):
            await client.connect(url, **{"auth": FakeAuthorizer("t1"), **options})


async def test_a_function_that_returns_other_credentials_is_a_usage_error() -> None:
    auth = FakeAuthorizer("t1")
    endpoint = HttpEndpoint(HTTPS, auth=auth, headers=lambda: {"authorization": "Bearer x"})
    with pytest.raises(UsageError, match="it sends the header 'authorization' itself"):
        await endpoint.send("POST", [], b"{}")
    assert auth.lines == []


NEXT_STEP = "give `auth=OAuth()` of mcp_gen.auth to log in, or `bearer_token=`"


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_without_credentials_a_refusal_says_how_to_log_in(path: str) -> None:
    app = guarded(server().asgi(legacy_sse_path="/sse"))
    async with serving(app) as web, Client("c") as client, asyncio.timeout(BOUND_S):
        with pytest.raises(HttpError) as caught:
            await client.connect(f"{web.origin}{path}")
        assert str(caught.value).endswith(NEXT_STEP)
        with pytest.raises(HttpError) as caught:
            await client.connect(f"{web.origin}{path}", bearer_token="another-token")
        assert NEXT_STEP not in str(caught.value)
