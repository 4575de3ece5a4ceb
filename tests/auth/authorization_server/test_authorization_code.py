"""The authorization code flow of the example authorization server."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from tests.auth.authorization_server.visitor import (
    ISSUER,
    REDIRECT,
    RESOURCE,
    given,
    redirect_params,
    refusal,
    visiting,
)


async def test_a_code_is_sent_back_with_state_and_issuer() -> None:
    async with visiting() as visitor:
        response = await visitor.authorize()
    found = redirect_params(response)
    assert response.headers["location"].startswith(f"{REDIRECT}?code=")
    assert found == {"code": found["code"], "state": "its state", "iss": ISSUER}


async def test_an_access_token_is_a_jwt_for_the_resource() -> None:
    async with visiting() as visitor:
        tokens = await visitor.login()
        claims = await visitor.claims(tokens["access_token"])
    now = int(visitor.clock())
    assert claims == {
        "iss": ISSUER,
        "aud": RESOURCE,
        "sub": "demo",
        "client_id": "app",
        "scope": "files",
        "iat": now,
        "exp": now + 300,
        "jti": claims["jti"],
    }
    assert tokens == {
        "access_token": tokens["access_token"],
        "token_type": "Bearer",
        "expires_in": 300,
        "scope": "files",
        "refresh_token": tokens["refresh_token"],
    }


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"scope": "root"}, "invalid_scope"),
        ({"resource": "not absolute"}, "invalid_target"),
        ({"resource": f"{RESOURCE}#part"}, "invalid_target"),
        ({"resource": "https://other.example/"}, "invalid_target"),
        ({"request": "e30."}, "request_not_supported"),
        ({"request_uri": "urn:x"}, "request_uri_not_supported"),
    ],
)
async def test_a_wrong_request_is_refused_by_a_redirect_with_state_and_issuer(
    changed: dict[str, str | None], error: str
) -> None:
    resources = frozenset({RESOURCE})
    async with visiting(scopes_supported=("files",), resources=resources) as visitor:
        found = await visitor.redirected(**changed)
    del found["error_description"]
    assert found == {"error": error, "state": "its state", "iss": ISSUER}


async def test_a_repeated_parameter_is_refused() -> None:
    async with visiting() as visitor:
        query = urlencode([*visitor.authorization.items(), ("scope", "more")])
        response = await visitor.http.get(f"{visitor.server.url('authorize')}?{query}")
    assert redirect_params(response)["error"] == "invalid_request"


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": None},
        {"client_id": "another"},
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": f"{REDIRECT}/more"},
        {"redirect_uri": f"{REDIRECT}?more"},
        {"redirect_uri": "http://127.0.0.1:4711@evil.example/callback"},
        {"redirect_uri": "http://localhost:4711/callback"},
        {"redirect_uri": "https://127.0.0.1:4711/callback"},
    ],
)
async def test_a_wrong_client_or_redirect_uri_is_an_error_without_a_redirect(
    changed: dict[str, str | None],
) -> None:
    async with visiting() as visitor:
        response = await visitor.authorize(**changed)
    assert (response.status_code, "location" in response.headers) == (400, False)


@pytest.mark.parametrize("port", ["", ":1", ":65535"])
async def test_the_port_of_a_redirect_uri_on_loopback_may_differ(port: str) -> None:
    redirect_uri = f"http://127.0.0.1{port}/callback"
    async with visiting() as visitor:
        code = await visitor.code(redirect_uri=redirect_uri)
        response = await visitor.exchange(code, redirect_uri=redirect_uri)
    assert given(response)["token_type"] == "Bearer"


@pytest.mark.parametrize(
    ("registered", "sent", "taken"),
    [
        ("http://[::1]:1/callback", "http://[::1]:2/callback", True),
        ("http://[::1]:1/callback", "http://[::2]:1/callback", False),
        ("http://[::1]:1/callback", "http://127.0.0.1:1/callback", False),
        ("http://localhost:1/callback", "http://localhost:1/callback", True),
        ("http://localhost:1/callback", "http://localhost:2/callback", False),
        ("https://app.example/callback", "https://app.example:8443/callback", False),
        ("com.example.app:/callback", "com.example.app:/callback", True),
        ("com.example.app:/callback", "com.example.app:/other", False),
    ],
)
async def test_redirect_uris_are_compared_as_they_are_but_for_ports_on_loopback(
    registered: str, sent: str, taken: bool
) -> None:
    async with visiting() as visitor:
        visitor.server.clients.add(replace(visitor.client, redirect_uris=(registered,)))
        response = await visitor.authorize(redirect_uri=sent)
    assert (response.status_code == 303) is taken


@pytest.mark.parametrize(
    ("uris", "status"), [((REDIRECT,), 303), ((REDIRECT, f"{REDIRECT}2"), 400)]
)
async def test_a_redirect_uri_may_be_left_out_where_there_is_one(
    uris: tuple[str, ...], status: int
) -> None:
    async with visiting() as visitor:
        visitor.server.clients.add(replace(visitor.client, redirect_uris=uris))
        assert (await visitor.authorize(redirect_uri=None)).status_code == status


async def test_a_redirect_uri_with_a_query_keeps_it() -> None:
    uri = "https://app.example/callback?tenant=one"
    async with visiting() as visitor:
        visitor.server.clients.add(replace(visitor.client, redirect_uris=(uri,)))
        response = await visitor.authorize(redirect_uri=uri)
    assert response.headers["location"].startswith(f"{uri}&code=")


async def test_a_server_that_takes_plain_challenges_compares_them() -> None:
    async with visiting(pkce_methods=("S256", "plain")) as visitor:
        code = await visitor.code(code_challenge=visitor.verifier, code_challenge_method=None)
        assert (await visitor.exchange(code)).status_code == 200


async def test_a_server_that_requires_no_challenge_gives_tokens_without_one() -> None:
    async with visiting(pkce_required=False) as visitor:
        code = await visitor.code(code_challenge=None, code_challenge_method=None)
        assert (await visitor.exchange(code, code_verifier=None)).status_code == 200


async def test_a_server_can_require_a_resource() -> None:
    async with visiting(resource_required=True) as visitor:
        assert (await visitor.redirected(resource=None))["error"] == "invalid_target"


async def test_a_client_that_did_not_register_the_grant_is_sent_back() -> None:
    async with visiting() as visitor:
        visitor.server.clients.add(replace(visitor.client, grant_types=frozenset()))
        assert (await visitor.redirected())["error"] == "unauthorized_client"


async def test_a_client_gets_no_scope_beyond_those_that_it_registered() -> None:
    async with visiting() as visitor:
        visitor.server.clients.add(replace(visitor.client, scope="files more"))
        found = [(await visitor.redirected(scope=one)).get("error") for one in ("files", "root")]
    assert found == [None, "invalid_scope"]


async def test_without_the_switch_no_issuer_is_sent() -> None:
    async with visiting(iss_parameter=False) as visitor:
        assert (await visitor.redirected()).keys() == {"code", "state"}


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "other"},
        {"redirect_uri": None},
        {"redirect_uri": "http://127.0.0.1:4712/callback"},
        {"code_verifier": None},
        {"code_verifier": "x" * 43},
    ],
)
async def test_a_code_is_exchanged_only_with_what_belongs_to_it(
    changed: dict[str, str | None],
) -> None:
    async with visiting() as visitor:
        other = replace(visitor.client, client_id="other")
        visitor.server.clients.add(other)
        code = await visitor.code()
        response = await visitor.exchange(code, **changed)
    assert refusal(response) == (400, "invalid_grant")


async def test_a_verifier_without_a_challenge_is_refused() -> None:
    async with visiting(pkce_required=False) as visitor:
        code = await visitor.code(code_challenge=None, code_challenge_method=None)
        response = await visitor.exchange(code)
    assert refusal(response) == (400, "invalid_grant")


async def test_a_code_that_is_made_up_is_refused() -> None:
    async with visiting() as visitor:
        assert refusal(await visitor.exchange("made up")) == (400, "invalid_grant")


async def test_a_code_expires() -> None:
    async with visiting() as visitor:
        code = await visitor.code()
        visitor.clock.now += 61
        assert refusal(await visitor.exchange(code)) == (400, "invalid_grant")


async def test_a_code_that_is_used_twice_revokes_what_it_gave() -> None:
    async with visiting() as visitor:
        code = await visitor.code()
        tokens = given(await visitor.exchange(code))
        again = await visitor.exchange(code)
        refreshed = await visitor.refresh(tokens["refresh_token"])
    assert [refusal(one) for one in (again, refreshed)] == [(400, "invalid_grant")] * 2


async def test_a_resource_that_was_not_asked_for_is_refused() -> None:
    async with visiting() as visitor:
        code = await visitor.code()
        response = await visitor.exchange(code, resource="https://other.example/")
    assert refusal(response) == (400, "invalid_target")


async def test_without_a_resource_the_audience_is_the_server_itself() -> None:
    async with visiting() as visitor:
        tokens = await visitor.login(resource=None)
        assert (await visitor.claims(tokens["access_token"]))["aud"] == ISSUER


async def test_an_id_token_is_given_to_whoever_asks_for_openid() -> None:
    async with visiting() as visitor:
        tokens = await visitor.login(scope="openid files", nonce="its nonce")
        claims = await visitor.claims(tokens["id_token"])
    assert (claims["aud"], claims["sub"], claims["nonce"]) == ("app", "demo", "its nonce")


@pytest.mark.parametrize(
    ("setting", "scope", "refreshes"),
    [
        ({}, "files", True),
        ({"refresh_tokens": "never"}, "files offline_access", False),
        ({"refresh_tokens": "offline_access"}, "files", False),
        ({"refresh_tokens": "offline_access"}, "files offline_access", True),
        ({"grant_types": ("authorization_code",)}, "files", False),
    ],
)
async def test_the_settings_say_who_gets_a_refresh_token(
    setting: dict[str, Any], scope: str, refreshes: bool
) -> None:
    async with visiting(**setting) as visitor:
        assert ("refresh_token" in await visitor.login(scope=scope)) is refreshes


async def test_a_log_shows_what_came_and_what_did_not() -> None:
    async with visiting() as visitor:
        await visitor.code()
        (authorized,) = visitor.server.received("authorize")
        assert authorized.query["resource"] == RESOURCE
        assert visitor.server.received("token") == []
