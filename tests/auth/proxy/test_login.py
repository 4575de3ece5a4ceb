"""A login through the proxy: what clients, users and the provider get to see."""

from __future__ import annotations

import json

import pytest

from mcp_gen.core.transport.access_token import AccessToken
from tests.auth.proxy.people import (
    BASE,
    ISSUER,
    REDIRECT,
    RESOURCE,
    SECRET,
    params_of,
    world,
)


def text(answer: object) -> str:
    """Return the text of a tool's result."""
    found = json.loads(getattr(answer, "content", b""))
    return str(found["result"]["content"][0]["text"])


async def test_a_user_who_consents_and_logs_in_gets_a_token_of_the_proxy() -> None:
    async with world() as at:
        app = await at.application()
        redirect = await at.browser().log_in(app.url())
        params = params_of(redirect)
        answer = await app.exchange(params.pop("code"))
        assert params == {"state": "its state", "iss": BASE}
        assert answer.headers["cache-control"] == "no-store"
        told = answer.json()
        assert (told["token_type"], told["expires_in"], told["scope"]) == ("Bearer", 900, "mcp")
        called = await app.call(told["access_token"])
    principal = AccessToken("", issuer=ISSUER, subject="demo").principal
    assert text(called) == f"{principal} ['mcp']"


async def test_the_metadata_of_a_server_without_scopes_names_none() -> None:
    async with world(scopes=(), scopes_supported=()) as at:
        server = await at.http().get(f"{BASE}/.well-known/oauth-authorization-server")
    assert "scopes_supported" not in server.json()


async def test_the_metadata_names_what_is_there_and_nothing_else() -> None:
    async with world() as at:
        http = at.http()
        server = (await http.get(f"{BASE}/.well-known/oauth-authorization-server")).json()
        resource = (await http.get(f"{BASE}/.well-known/oauth-protected-resource/mcp")).json()
    assert server == {
        "issuer": BASE,
        "authorization_endpoint": f"{BASE}/authorize",
        "token_endpoint": f"{BASE}/token",
        "registration_endpoint": f"{BASE}/register",
        "revocation_endpoint": f"{BASE}/revoke",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "scopes_supported": ["mcp", "write"],
    }
    assert (resource["authorization_servers"], resource["resource"]) == ([BASE], RESOURCE)


async def test_the_consent_page_shows_who_asks_and_cannot_be_framed() -> None:
    async with world(name="Our server") as at:
        app = await at.application("https://app.example/back", name='<b>"App"\u202e\n</b>')
        page = await at.browser().open(app.url(scope="mcp write"))
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert "<script" not in page.text
    assert "&lt;b&gt;&quot;App&quot; &lt;/b&gt;" in page.text
    for shown in ("Our server", "app.example", RESOURCE, "mcp, write", "login.example"):
        assert shown in page.text
    cookie = page.headers["set-cookie"]
    assert cookie.startswith("__Host-mcp-login=")
    assert cookie.endswith("; HttpOnly; SameSite=Lax; Secure")


async def test_the_provider_gets_its_own_state_and_code_challenge() -> None:
    async with world() as at:
        app = await at.application()
        browser = at.browser()
        sent = await browser.decide(await browser.open(app.url()))
        params = params_of(sent.headers["location"])
    own = params_of(app.url())
    assert (params["client_id"], params["redirect_uri"]) == ("proxy", f"{BASE}/callback")
    assert params["code_challenge_method"] == "S256"
    assert not {params["state"], params["code_challenge"]} & set(own.values())


async def test_a_user_who_denies_goes_back_and_the_provider_learns_nothing() -> None:
    async with world() as at:
        app = await at.application()
        browser = at.browser()
        denied = await browser.decide(await browser.open(app.url()), "deny")
        assert at.logins_at_provider() == 0
    assert denied.headers["location"].startswith(f"{REDIRECT}?")
    assert params_of(denied.headers["location"]) == {
        "error": "access_denied",
        "state": "its state",
        "iss": BASE,
    }


async def test_a_user_whom_the_provider_declines_goes_back() -> None:
    async with world(provider={"consent": "denied"}) as at:
        app = await at.application()
        redirect = await at.browser().log_in(app.url())
    assert params_of(redirect)["error"] == "access_denied"


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        (REDIRECT, "http://127.0.0.1:9/callback"),
        ("http://localhost/back", "http://localhost:9/back"),
        ("http://[::1]:1/back?x=1", "http://[::1]:2/back?x=1"),
        ("https://app.example/back?x=1", "https://app.example/back?x=1"),
    ],
)
async def test_a_registered_redirect_uri_is_taken_on_loopback_with_any_port(
    registered: str, asked: str
) -> None:
    async with world() as at:
        app = await at.application(registered)
        redirect = await at.browser().log_in(app.url(redirect_uri=asked))
    assert redirect.startswith(asked)


async def test_a_request_without_resource_and_scope_is_for_this_server() -> None:
    async with world() as at:
        app = await at.application()
        redirect = await at.browser().log_in(app.url(resource=None, state=None))
        params = params_of(redirect)
        answer = await app.exchange(params["code"])
        assert "state" not in params
        assert (await app.call(answer.json()["access_token"])).status_code == 200


async def test_scopes_that_are_unknown_are_left_out_and_the_client_is_told() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app, scope="mcp write admin")
        called = await app.call(told["access_token"], "write")
    assert told["scope"] == "mcp write"
    assert called.status_code == 200


async def test_a_tool_with_a_scope_that_was_not_granted_is_refused() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        called = await app.call(told["access_token"], "write")
    assert called.status_code == 403
    assert 'scope="mcp write"' in called.headers["www-authenticate"]


async def test_access_tokens_are_short_and_renewed_with_rotation() -> None:
    async with world() as at:
        app = await at.application()
        first = await at.tokens(app)
        at.clock.now += 901
        assert (await app.call(first["access_token"])).status_code == 401
        second = (await app.renew(first["refresh_token"])).json()
        assert (await app.call(second["access_token"])).status_code == 200
        third = (await app.renew(second["refresh_token"])).json()
        # Calls that run while tokens are renewed are not disturbed.
        assert (await app.call(second["access_token"])).status_code == 200
    assert len({one["refresh_token"] for one in (first, second, third)}) == 3


async def test_tools_get_the_token_of_the_provider_renewed_when_it_ends() -> None:
    async with world(access_token_s=7200.0) as at:
        app = await at.application()
        told = await at.tokens(app)
        first = text(await app.call(told["access_token"], "upstream"))
        again = text(await app.call(told["access_token"], "upstream"))
        at.clock.now += 600
        later = text(await app.call(told["access_token"], "upstream"))
        assert at.provider.tokens.access(later) is not None
    assert first == again != later


async def test_a_renewal_ends_with_the_login_at_the_provider() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        upstream = text(await app.call(told["access_token"], "upstream"))
        at.provider.tokens.revoke(upstream)
        refused = await app.renew(told["refresh_token"])
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
        assert (await app.call(told["access_token"])).status_code == 401


async def test_a_token_of_the_provider_that_cannot_be_renewed_ends_the_grant() -> None:
    async with world(provider={"refresh_tokens": "never"}) as at:
        app = await at.application()
        told = await at.tokens(app)
        at.clock.now += 600
        refused = await app.renew(told["refresh_token"])
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


async def test_a_revoked_token_ends_all_of_its_grant() -> None:
    async with world() as at:
        app, other = await at.application(), await at.application()
        told = await at.tokens(app)
        form = {"token": told["refresh_token"], "client_id": other.client_id}
        await app.http.post(f"{BASE}/revoke", data=form)
        assert (await app.call(told["access_token"])).status_code == 200
        form["client_id"] = app.client_id
        assert (await app.http.post(f"{BASE}/revoke", data=form)).status_code == 200
        assert (await app.call(told["access_token"])).status_code == 401
        assert (await app.renew(told["refresh_token"])).json()["error"] == "invalid_grant"


async def test_pages_of_other_origins_may_register_and_exchange_but_not_consent() -> None:
    headers = {"origin": "https://page.example", "access-control-request-method": "POST"}
    async with world() as at:
        http = at.http()
        open_to_all = [
            (await http.options(f"{BASE}/{one}", headers=headers)).headers.get(
                "access-control-allow-origin"
            )
            for one in ("register", "token", "revoke", "authorize", "consent", "callback")
        ]
    assert open_to_all == ["*", "*", "*", None, None, None]


async def test_no_secret_of_the_provider_reaches_clients() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        upstream = text(await app.call(told["access_token"], "upstream"))
        (sent,) = at.provider.received("userinfo")
    assert SECRET not in str(told)
    assert upstream not in str(told)
    assert told["access_token"] not in sent.headers["authorization"]
