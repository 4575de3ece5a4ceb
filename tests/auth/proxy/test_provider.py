"""Answers of the provider: failures are told without secrets, users are named safely."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx2
import pytest
from starlette.responses import JSONResponse, Response

from examples.oauth.authorization_server.requests import Received
from mcp_gen.auth import AuthError, LoginProvider, MemoryProxyStore, OAuthProxy
from mcp_gen.auth.flows.token_requests import Tokens
from mcp_gen.auth.proxy.grants import IssuedTokens, ProxyGrant
from mcp_gen.auth.proxy.sealing import ProxyKeys
from mcp_gen.auth.proxy.web import WebReply, WebRequest
from mcp_gen.core.errors import UsageError
from tests.auth.proxy.people import (
    BASE,
    ISSUER,
    KEY,
    REDIRECT,
    RESOURCE,
    SECRET,
    Clock,
    InProcess,
    RecordingStore,
    World,
    params_of,
    world,
)

LEAK = "gho_leak4711secret0815token"


async def outcome(at: World) -> dict[str, str]:
    """Log a user in, and return the parameters of the redirect to the client."""
    app = await at.application()
    return params_of(await at.browser().log_in(app.url()))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, {"error": "server_error", "error_description": LEAK}),
        (500, {"message": LEAK}),
        (400, {"error": "invalid_grant", "error_description": f"code {LEAK} of {SECRET}"}),
        (200, {"error": "bad_verification_code", "error_description": LEAK}),
        (200, {"access_token": f"{LEAK}\n", "token_type": "Bearer"}),
        (200, {"access_token": LEAK, "token_type": "mac"}),
        (302, {}),
    ],
)
async def test_a_code_that_the_provider_refuses_is_told_without_secrets(
    status: int, body: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_gen")
    async with world() as at:
        at.let_provider_answer("token", status, body)
        told = await outcome(at)
    assert told == {"error": "server_error", "state": "its state", "iss": BASE}
    assert len([one for one in caplog.records if one.levelno >= logging.WARNING]) == 1
    assert LEAK not in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"error": LEAK}),
        (500, {"error": LEAK}),
        (200, {}),
        (200, {"sub": None}),
        (200, {"sub": ""}),
        (200, {"sub": True}),
        (200, {"sub": 1.0}),
        (200, {"sub": ["demo"]}),
        (200, {"sub": "x" * 256}),
        (200, []),
    ],
)
async def test_a_user_who_is_not_named_is_not_logged_in(
    status: int, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with world() as at:
        at.let_provider_answer("userinfo", status, body)
        told = await outcome(at)
    assert told["error"] == "server_error"
    assert LEAK not in caplog.text


async def test_an_error_of_identify_says_nothing_of_the_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []

    async def identify(token: str) -> str:
        seen.append(token)
        raise ValueError(f"no user of {token}")

    async with world(identify=identify) as at:
        told = await outcome(at)
    assert told["error"] == "server_error"
    assert "ValueError" in caplog.text
    assert seen[0] not in caplog.text


async def test_a_provider_without_metadata_and_sub_is_described_by_hand() -> None:
    described = LoginProvider(
        issuer=ISSUER,
        authorization_endpoint=f"{ISSUER}/authorize",
        token_endpoint=f"{ISSUER}/token",
        userinfo_endpoint=f"{ISSUER}/userinfo",
        subject_claim="id",
        scopes=("read:user",),
        parameters={"access_type": "offline", "state": "replaces nothing"},
    )
    async with world(upstream=described, provider={"documents": (), "iss_parameter": False}) as at:
        at.let_provider_answer("userinfo", 200, {"id": 583231})
        app = await at.application()
        told = await at.tokens(app)
        called = await app.call(told["access_token"])
        (asked,) = at.provider.received("authorize")
    assert "user:21:https://login.example 583231" in called.text
    assert (asked.query["scope"], asked.query["access_type"]) == ("read:user", "offline")
    assert asked.query["state"] != "replaces nothing"


async def test_a_user_who_becomes_another_one_at_the_provider_is_logged_out() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        at.let_provider_answer("userinfo", 200, {"sub": "other"})
        refused = await app.renew(told["refresh_token"])
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


@pytest.mark.parametrize(
    ("endpoint", "status", "body"),
    [
        ("token", 503, {}),
        ("token", 400, {"error": "invalid_client"}),
        ("userinfo", 503, {}),
        ("userinfo", 429, {}),
        ("userinfo", 404, {}),
        ("userinfo", 200, []),
    ],
)
async def test_a_provider_that_fails_for_a_while_ends_no_login(
    endpoint: str, status: int, body: Any
) -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        at.clock.now += 600
        whole = at.let_provider_answer(endpoint, status, body)
        refused = await app.renew(told["refresh_token"])
        at.replace_endpoint(endpoint, whole)
        again = await app.renew(told["refresh_token"])
    assert (refused.status_code, refused.json()["error"]) == (503, "temporarily_unavailable")
    assert again.status_code == 200


async def test_a_login_that_the_provider_does_not_renew_ends() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        at.clock.now += 600
        endpoint = "token"
        whole = at.let_provider_answer(endpoint, 400, {"error": "invalid_grant"})
        refused = await app.renew(told["refresh_token"])
        at.replace_endpoint(endpoint, whole)
        again = await app.renew(told["refresh_token"])
    for one in (refused, again):
        assert (one.status_code, one.json()["error"]) == (400, "invalid_grant")


async def test_a_provider_that_replaces_no_refresh_token_is_asked_with_the_old_one() -> None:
    async with world(provider={"rotate_refresh_tokens": False}) as at:
        app = await at.application()
        told = await at.tokens(app)
        issue = at.provider.token

        async def without(asked: Received) -> Response:
            found = json.loads(bytes((await issue(asked)).body))
            return JSONResponse({**found, "refresh_token": None})

        at.replace_endpoint("token", without)
        for _ in range(2):
            at.clock.now += 600
            answer = await app.renew(told["refresh_token"])
            assert answer.status_code == 200
            told = answer.json()


async def test_a_renewal_by_another_process_is_used() -> None:
    clock = Clock()
    store = MemoryProxyStore(clock=clock)
    async with world(store=store, clock=clock) as at:
        app = await at.application()
        told = await at.tokens(app)
        sent = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=at.provider.app))
        async with sent, world(store=store, clock=clock, fetcher=InProcess(sent)) as other:
            token = await at.proxy.verify(told["access_token"])
            assert token is not None
            issue, renewed = at.provider.token, list[str]()

            async def late(asked: Received) -> Response:
                at.replace_endpoint("token", issue)
                renewed.append(await other.proxy.upstream_token(token))
                return JSONResponse({"error": "invalid_grant"}, 400)

            clock.now += 280
            at.replace_endpoint("token", late)
            assert await at.proxy.upstream_token(token) == renewed[0]


async def test_the_id_token_of_a_login_is_not_stored() -> None:
    clock = Clock()
    store = RecordingStore(clock)
    upstream = LoginProvider(issuer=ISSUER, scopes=("openid",))
    async with world(store=store, clock=clock, upstream=upstream) as at:
        await at.tokens(await at.application())
    sealed = [one for one in store.given if isinstance(one, bytes)]
    grants = [ProxyKeys(KEY).unseal(one, ProxyGrant) for one in sealed[1:]]
    assert [one and one.upstream.id_token for one in grants] == [None, None]
    assert all(one and one.upstream.access_token for one in grants)


async def test_a_provider_whose_metadata_is_of_another_issuer_gets_no_user() -> None:
    async with world() as at:
        other = {**at.provider.document(), "issuer": "https://evil.example"}
        at.let_provider_answer("metadata", 200, other)
        at.let_provider_answer("openid_configuration", 200, other)
        told = await outcome(at)
        assert at.logins_at_provider() == 0
    assert told["error"] == "temporarily_unavailable"


async def test_the_metadata_of_the_provider_is_asked_for_once() -> None:
    asked: list[Received] = []
    async with world() as at:

        async def metadata(request: Received) -> Response:
            asked.append(request)
            return JSONResponse(at.provider.document())

        for name in ("metadata", "openid_configuration"):
            at.replace_endpoint(name, metadata)
        for _ in range(2):
            assert "code" in await outcome(at)
    assert len(asked) == 1


async def test_no_repr_has_a_secret() -> None:
    upstream = Tokens(LEAK, refresh_token=LEAK, id_token=LEAK)
    grant = ProxyGrant(
        client_id="app",
        subject="demo",
        resource=RESOURCE,
        scopes=(),
        redirect_uri=REDIRECT,
        challenge="",
        upstream=upstream,
        ends_at=0.0,
    )
    request = WebRequest("POST", LEAK.encode(), LEAK.encode(), {"cookie": LEAK})
    parts = [grant, ProxyKeys(LEAK * 2), IssuedTokens(LEAK, LEAK, ()), request]
    async with world(client_secret=LEAK, secret=LEAK * 2) as at:
        shown = repr([*parts, WebReply(303, {"location": LEAK}), at.proxy, vars(at.proxy)])
    assert LEAK not in shown


async def test_a_token_of_a_login_that_has_ended_gives_none_of_the_provider() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        token = await at.proxy.verify(told["access_token"])
        assert token is not None
        await app.renew("x")
        form = {"token": told["access_token"], "client_id": app.client_id}
        await app.http.post(f"{BASE}/revoke", data=form)
        with pytest.raises(AuthError, match="log in again"):
            await at.proxy.upstream_token(token)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"resource": "http://api.example/mcp"}, "https"),
        ({"resource": f"{BASE}/other"}, "ends with '/mcp'"),
        ({"resource": f"{BASE}/token", "path": "/token"}, "expected none of"),
        ({"upstream": "http://login.example"}, "https"),
        ({"upstream": LoginProvider(issuer=ISSUER, auth_method="none")}, "auth_method"),
        ({"upstream": LoginProvider(issuer=ISSUER, token_endpoint="http://x.example")}, "https"),
        ({"client_secret": ""}, "client_secret"),
        ({"secret": "short"}, "32 bytes"),
        ({"secret": []}, "32 bytes"),
        ({"secret": None, "store": MemoryProxyStore()}, "secret"),
        ({"code_s": 0}, "above 0"),
        ({"scopes": "mcp"}, "list of scopes"),
    ],
)
def test_an_option_that_cannot_work_is_refused(option: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "upstream": ISSUER,
        "client_id": "proxy",
        "client_secret": SECRET,
        "resource": RESOURCE,
        "secret": KEY,
        **option,
    }
    with pytest.raises(UsageError, match=message):
        OAuthProxy(**given)
