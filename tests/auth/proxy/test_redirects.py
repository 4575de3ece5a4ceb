"""Registration and redirect URIs: users are led to no place that a client did not register."""

from __future__ import annotations

import pytest

from mcp_gen.auth import MemoryProxyStore
from tests.auth.proxy.people import BASE, REDIRECT, Application, Clock, params_of, world


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        ("https://app.example/back", "https://app.example/back/evil"),
        ("https://app.example/back", "https://app.example/bac"),
        ("https://app.example/back", "https://app.example/back?x=1"),
        ("https://app.example/back", "https://app.example:8443/back"),
        ("https://app.example/back", "https://app.example:443/back"),
        ("https://app.example/back", "https://APP.example/back"),
        ("https://app.example/back", "https://app.example.evil.example/back"),
        ("https://app.example/back", "https://app.example@evil.example/back"),
        ("https://app.example/back", "http://app.example/back"),
        (REDIRECT, "http://localhost:4711/callback"),
        (REDIRECT, "http://127.0.0.1:4711/callback/x"),
        (REDIRECT, "http://127.0.0.1:4711@evil.example/callback"),
        (REDIRECT, "http://127.0.0.1.evil.example:4711/callback"),
        (REDIRECT, "https://127.0.0.1:4711/callback"),
        (REDIRECT, "http://127.0.0.2:4711/callback"),
        (REDIRECT, ""),
    ],
)
async def test_a_redirect_uri_that_is_not_registered_gets_a_page_and_no_redirect(
    registered: str, asked: str
) -> None:
    async with world() as at:
        app = await at.application(registered)
        browser = at.browser()
        refused = await browser.open(app.url(redirect_uri=asked))
        allowed = await browser.open(app.url())
        assert at.logins_at_provider() == 0
    assert (refused.status_code, allowed.status_code) == (400, 200)
    assert "location" not in refused.headers
    assert "evil.example" not in refused.text


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "app://callback",
        "http://app.example/back",
        "http://127.0.0.1.evil.example/back",
        "http://127.0.0.1@evil.example/back",
        "http://localhost.evil.example/",
        "https://user@app.example/back",
        "https://app.example/back#part",
        "https://*.example/back",
        "https:///back",
        "https://app.example:99999/back",
        "https:\\\\app.example/back",
        "https://app.example/\nback",
        "https://app.exämple/back",
        "HTTPS://app.example/back",
        "//app.example/back",
        "",
    ],
)
async def test_a_redirect_uri_that_is_neither_https_nor_loopback_is_not_registered(
    uri: str,
) -> None:
    async with world() as at:
        answer = await Application(at.http()).register("https://app.example/ok", uri)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"redirect_uris": "https://app.example"}',
        b'{"redirect_uris": [1]}',
        b"[" * 10_000,
        b'{"redirect_uris": ["https://app.example/"], "grant_types": ["implicit"]}',
        b'{"redirect_uris": ["https://app.example/"], "response_types": ["token"]}',
    ],
)
async def test_a_registration_that_is_no_registration_is_refused(body: bytes) -> None:
    async with world() as at:
        answer = await at.http().post(f"{BASE}/register", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"] in ("invalid_client_metadata", "invalid_redirect_uri")


async def test_a_client_that_asks_for_a_secret_is_told_that_it_has_none() -> None:
    body = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_basic"}
    async with world() as at:
        told = (await at.http().post(f"{BASE}/register", json=body)).json()
    assert told["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in told


async def test_registrations_take_no_memory_and_no_place_of_others() -> None:
    clock = Clock()
    store = MemoryProxyStore(max_logins=1, max_grants=1, clock=clock)
    async with world(store=store, clock=clock) as at:
        first = await at.application()
        for _ in range(50):
            await at.application()
        assert repr(store) == "MemoryProxyStore(login=0, grant=0)"
        assert (await at.browser().open(first.url())).status_code == 200


@pytest.mark.parametrize("change", ["cut", "extended", "redirected", "foreign", "long"])
async def test_a_client_id_that_was_not_issued_here_is_refused(change: str) -> None:
    async with world(secret="another secret that has more than 32 bytes") as other:
        foreign = (await other.application()).client_id
    async with world() as at:
        app = await at.application()
        payload, _, mac = app.client_id.partition(".")
        longer = await at.application("https://evil.example/")
        app.client_id = {
            "cut": app.client_id[:-2],
            "extended": f"{app.client_id}AA",
            "redirected": f"{longer.client_id.partition('.')[0]}.{mac}",
            "foreign": foreign,
            "long": payload * 200,
        }[change]
        refused = await at.browser().open(app.url())
        exchanged = await app.exchange("x.y")
    assert (refused.status_code, "location" in refused.headers) == (400, False)
    assert (exchanged.status_code, exchanged.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": f"{BASE}/other"}, "invalid_target"),
        ({"resource": "no url"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"state": "x" * 2049}, "invalid_request"),
        ({"state": "a\nb"}, "invalid_request"),
    ],
)
async def test_a_request_that_cannot_be_answered_is_told_to_the_client_on_loopback_alone(
    change: dict[str, str | None], error: str
) -> None:
    async with world() as at:
        app, web = await at.application(), await at.application("https://app.example/back")
        browser = at.browser()
        told = await browser.open(app.url(**change))
        shown = await browser.open(web.url(**change))
        assert at.logins_at_provider() == 0
    assert (told.status_code, params_of(told.headers["location"])["error"]) == (303, error)
    # Everybody may register: no open redirect. The user sees the host, and may go there.
    assert (shown.status_code, "location" in shown.headers) == (400, False)
    assert f'href="https://app.example/back?error={error}&amp;' in shown.text


async def test_a_parameter_that_stands_twice_is_refused() -> None:
    async with world() as at:
        app = await at.application()
        again = f"{app.url()}&redirect_uri=https%3A%2F%2Fevil.example"
        refused = await at.browser().open(again)
    assert (refused.status_code, "location" in refused.headers) == (400, False)


async def test_the_largest_request_that_is_taken_leads_to_a_login() -> None:
    uris = [f"https://app.example/{number}{'x' * 235}" for number in range(8)]
    async with world() as at:
        app = await at.application(*uris, name="\U0001f600" * 80)
        redirect = await at.browser().log_in(app.url(state='"' * 2048))
        answer = await app.exchange(params_of(redirect)["code"])
    assert answer.status_code == 200
