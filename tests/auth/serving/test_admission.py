"""Every request of a protected server is admitted before its body is read."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Context, Server, UsageError
from mcp_gen.transports.http_server.app import AsgiApp
from tests.auth.serving.servers import ALICE, guarded, open_tools
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle, every_revision
from tests.support.http.asgi import begin, headers_of, open_request, request
from tests.support.http.gated import FakeGate, access_token, bearer, gated_client

ROUTES = [
    pytest.param("POST", "/mcp", id="a message"),
    pytest.param("GET", "/mcp", id="a stream"),
    pytest.param("DELETE", "/mcp", id="the end of a session"),
    pytest.param("PUT", "/mcp", id="a method that nobody has"),
    pytest.param("GET", "/sse", id="a stream of HTTP+SSE"),
    pytest.param("POST", "/sse/messages", id="a message of HTTP+SSE"),
]


def whoami(*tokens: Any, **options: Any) -> AsgiApp:
    return guarded(open_tools(Server("guarded")), *tokens, **options)


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_request_without_a_token_is_refused_with_a_challenge(
    method: str, path: str
) -> None:
    reply = await request(whoami(), Speaker(HANDSHAKE).initialize(0), method=method, path=path)
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Bearer resource_metadata=")
    assert reply.json["error"]["message"] == "expected an access token"
    assert "id" not in reply.json or reply.json["id"] is None


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_refused_request_is_answered_while_its_body_has_not_come(
    method: str, path: str
) -> None:
    opened = open_request(whoami(), [], method=method, path=path)
    assert (await opened.whole()).status == 401
    assert not opened._watched.is_set(), "the body was asked for"


@every_revision
async def test_a_request_with_a_valid_token_is_answered_for_its_principal(revision: str) -> None:
    async with gated_client(whoami(), revision, ALICE) as client:
        answered = await client.call("who")
    assert answered.text == f"{ALICE.principal} ['files:read']"


async def test_a_session_without_a_token_is_refused_after_it_began_with_one() -> None:
    app, speaker = whoami(), Speaker(HANDSHAKE)
    session = await begin(app, speaker, bearer(ALICE))
    assert (await request(app, speaker.initialized, session)).status == 401
    assert (await request(app, speaker.initialized, session | bearer(ALICE))).status == 202


async def test_a_token_that_was_verified_is_not_verified_again() -> None:
    gate = FakeGate(ALICE)
    async with gated_client(whoami(gate=gate), PER_REQUEST, ALICE) as client:
        for _ in range(3):
            await client.call("who")
    assert gate.admits == 1


async def test_a_check_that_fails_lets_nobody_in() -> None:
    gate = FakeGate(ALICE)
    gate.failure = RuntimeError("no keys")
    reply = await request(whoami(gate=gate), b"{}", bearer(ALICE))
    assert reply.status == 503
    assert "no keys" not in reply.body.decode()


async def test_a_path_that_is_not_served_is_not_found_with_or_without_a_token() -> None:
    app = whoami()
    for headers in ({}, bearer(ALICE)):
        reply = await request(
            app, b"", headers, method="GET", path="/.well-known/oauth-authorization-server"
        )
        assert reply.status == 404


async def test_the_principal_of_other_middleware_is_not_believed() -> None:
    app, speaker = whoami(), Speaker(PER_REQUEST)
    message = speaker.call(1, "who")
    headers = headers_of(speaker, message) | bearer(ALICE)
    reply = await request(app, message, headers, **{"mcp_gen.principal": "mallory"})
    assert reply.json["result"]["content"][0]["text"].startswith(str(ALICE.principal))


async def test_the_gate_is_closed_with_the_app() -> None:
    gate = FakeGate(ALICE)
    await whoami(gate=gate).aclose()
    assert gate.closed == 1


# --- web pages ---

ORIGIN = "https://page.example"


async def test_a_preflight_needs_no_token_and_grants_the_headers_of_tokens() -> None:
    app = whoami(cors=True, allowed_origins=[ORIGIN])
    asked = {
        "origin": ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,dpop,content-type",
    }
    for path in ("/mcp", "/sse", "/sse/messages"):
        reply = await request(app, b"", asked, method="OPTIONS", path=path)
        assert reply.status == 204
        granted = reply.headers["access-control-allow-headers"]
        assert granted == "authorization, dpop, content-type"


async def test_a_page_may_read_the_challenge_of_a_refusal() -> None:
    app = whoami(cors=True, allowed_origins=[ORIGIN])
    reply = await request(app, b"{}", {"origin": ORIGIN})
    assert reply.status == 401
    exposed = reply.headers["access-control-expose-headers"].split(", ")
    assert {"www-authenticate", "dpop-nonce"} <= set(exposed)
    assert reply.headers["access-control-allow-origin"] == ORIGIN


async def test_a_page_of_another_origin_is_refused_before_its_token_is_looked_at() -> None:
    gate = FakeGate(ALICE)
    app = whoami(gate=gate, cors=True, allowed_origins=[ORIGIN])
    reply = await request(app, b"{}", {"origin": "https://evil.example"} | bearer(ALICE))
    assert (reply.status, gate.admits) == (403, 0)


# --- the token in handlers ---


@each_lifecycle
async def test_a_handler_sees_the_token_of_its_own_request(revision: str) -> None:
    server = Server("guarded")

    @server.tool
    async def token(ctx: Context) -> str:
        assert ctx.token is not None
        return ctx.token.raw()

    @server.tool
    def blocking(ctx: Context) -> str:
        assert ctx.blocking.token is not None
        return f"{ctx.blocking.principal} {ctx.blocking.token.raw()}"

    more = access_token("alice", "files:read", "files:write")
    async with gated_client(guarded(server, ALICE, more), revision, ALICE) as client:
        assert (await client.call("token")).text == ALICE.raw()
        client.token = more
        assert (await client.call("token")).text == more.raw()
        assert (await client.call("blocking")).text == f"{more.principal} {more.raw()}"


async def test_a_session_keeps_no_token() -> None:
    server = open_tools(Server("guarded"))
    async with gated_client(guarded(server), HANDSHAKE, ALICE) as client:
        await client.call("who")
        (session,) = server.sessions()
        assert session.origin is not None
        assert session.origin.admission is not None
        assert session.origin.admission.token is None


async def test_there_is_no_token_without_a_gate() -> None:
    app, speaker = open_tools(Server("open")).asgi(), Speaker(PER_REQUEST)
    message = speaker.call(1, "who")
    reply = await request(app, message, headers_of(speaker, message) | bearer(ALICE))
    assert reply.json["result"]["content"][0]["text"] == "None None"


# --- options ---


def test_a_principal_and_a_gate_are_not_given_together() -> None:
    with pytest.raises(UsageError, match=r"principal= and auth="):
        Server("both").asgi(auth=FakeGate(), principal=lambda scope: "alice")


@pytest.mark.parametrize("auth", [FakeGate, "https://as.example", object()])
def test_what_is_no_gate_is_refused_with_what_to_write(auth: Any) -> None:
    with pytest.raises(UsageError, match=r"auth=.*ResourceServer\(issuer="):
        Server("wrong").asgi(auth=auth)
