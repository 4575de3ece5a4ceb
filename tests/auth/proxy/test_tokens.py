"""Codes and tokens of the proxy: used once, by their client, for this server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen.auth import MemoryProxyStore
from mcp_gen.auth.proxy.sealing import ProxyKeys
from tests.auth.proxy.people import (
    BASE,
    ISSUER,
    KEY,
    Application,
    Clock,
    RecordingStore,
    SlowStore,
    World,
    params_of,
    provider,
    world,
)


async def new_code(at: World, app: Application) -> str:
    """Return the code of a login in a new browser."""
    return params_of(await at.browser().log_in(app.url()))["code"]


def refusal(answer: Any) -> tuple[int, str]:
    """Return status and error code of a refusal."""
    return answer.status_code, answer.json()["error"]


async def test_a_code_that_is_shown_twice_ends_what_it_was_exchanged_for() -> None:
    async with world() as at:
        app = await at.application()
        code = await new_code(at, app)
        told = (await app.exchange(code)).json()
        assert (await app.call(told["access_token"])).status_code == 200
        assert refusal(await app.exchange(code)) == (400, "invalid_grant")
        assert (await app.call(told["access_token"])).status_code == 401
        assert refusal(await app.renew(told["refresh_token"])) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": "A" * 43},
        {"code_verifier": "short"},
        {"code_verifier": ""},
        {"code_verifier": "é" * 43},
        {"redirect_uri": "http://127.0.0.1:1/callback"},
        {"redirect_uri": "https://evil.example/"},
    ],
)
async def test_a_code_with_the_wrong_verifier_or_redirect_uri_is_used_up(
    changed: dict[str, str],
) -> None:
    async with world() as at:
        app = await at.application()
        code = await new_code(at, app)
        assert refusal(await app.exchange(code, **changed)) == (400, "invalid_grant")
        assert refusal(await app.exchange(code)) == (400, "invalid_grant")


async def test_a_code_is_of_use_to_its_client_alone() -> None:
    async with world() as at:
        app, other = await at.application(), await at.application()
        code = await new_code(at, app)
        stolen = await app.exchange(code, client_id=other.client_id)
        assert refusal(stolen) == (400, "invalid_grant")


async def test_a_code_ends_after_a_minute() -> None:
    async with world() as at:
        app = await at.application()
        code = await new_code(at, app)
        at.clock.now += 60
        assert refusal(await app.exchange(code)) == (400, "invalid_grant")


async def test_a_code_that_is_exchanged_twice_at_once_is_worth_nothing() -> None:
    async with world(store=SlowStore()) as at:
        app = await at.application()
        code = await new_code(at, app)
        answers = await asyncio.gather(app.exchange(code), app.exchange(code))
        for one in answers:
            if one.status_code == 200:
                assert (await app.call(one.json()["access_token"])).status_code == 401
        assert 400 in [one.status_code for one in answers]


async def test_a_refresh_token_that_is_shown_twice_at_once_ends_its_grant() -> None:
    async with world(store=SlowStore()) as at:
        app = await at.application()
        token = (await at.tokens(app))["refresh_token"]
        answers = await asyncio.gather(app.renew(token), app.renew(token))
        for one in answers:
            if one.status_code == 200:
                assert (await app.call(one.json()["access_token"])).status_code == 401
        assert 400 in [one.status_code for one in answers]


@pytest.mark.parametrize(
    "resource", ["https://other.example/mcp", BASE, f"{BASE}/mcp/x", "no url", f"{BASE}:444/mcp"]
)
async def test_a_token_for_another_resource_is_not_given(resource: str) -> None:
    async with world() as at:
        app = await at.application()
        code = await new_code(at, app)
        refused = await app.exchange(code, resource=resource)
        assert refusal(refused) == (400, "invalid_target")
        assert (await app.exchange(code)).status_code == 200


async def test_a_token_of_another_server_with_the_same_store_and_secret_is_refused() -> None:
    clock = Clock()
    store = MemoryProxyStore(clock=clock)
    async with (
        world(store=store, clock=clock) as at,
        world(store=store, clock=clock, resource=f"{BASE}/other/mcp") as other,
    ):
        app = await at.application()
        told = await at.tokens(app)
        here = await app.call(told["access_token"])
        at.app, elsewhere = other.app, Application(other.http())
        there = await elsewhere.call(told["access_token"])
    assert here.status_code == 200
    assert (there.status_code, "another audience" in there.headers["www-authenticate"]) == (
        401,
        True,
    )


async def test_a_refresh_token_that_is_shown_twice_ends_its_grant() -> None:
    async with world() as at:
        app = await at.application()
        first = await at.tokens(app)
        second = (await app.renew(first["refresh_token"])).json()
        assert refusal(await app.renew(first["refresh_token"])) == (400, "invalid_grant")
        assert (await app.call(second["access_token"])).status_code == 401
        assert refusal(await app.renew(second["refresh_token"])) == (400, "invalid_grant")


async def test_a_refresh_token_is_of_use_to_its_client_alone() -> None:
    async with world() as at:
        app, other = await at.application(), await at.application()
        told = await at.tokens(app)
        stolen = await app.renew(told["refresh_token"], client_id=other.client_id)
        assert refusal(stolen) == (400, "invalid_grant")


@pytest.mark.parametrize("store", [None, SlowStore()])
async def test_a_refresh_token_that_is_not_used_ends(store: MemoryProxyStore | None) -> None:
    async with world(store=store, provider={"access_token_lifetime_s": 1e8}) as at:
        app = await at.application()
        told = await at.tokens(app)
        at.clock.now += 30 * 86_400
        assert refusal(await app.renew(told["refresh_token"])) == (400, "invalid_grant")


async def test_a_renewal_is_not_undone_by_one_of_the_provider_at_the_same_time() -> None:
    async with world(access_token_s=7200.0) as at:
        app = await at.application()
        told = await at.tokens(app)
        at.clock.now += 600
        answers = await asyncio.gather(
            app.call(told["access_token"], "upstream"),
            app.renew(told["refresh_token"]),
            app.call(told["access_token"], "upstream"),
        )
        assert [one.status_code for one in answers] == [200, 200, 200]
        renewals = [one.form.get("grant_type") for one in at.provider.received("token")]
        assert renewals.count("refresh_token") == 1
        again = await app.renew(answers[1].json()["refresh_token"])
        assert again.status_code == 200


@pytest.mark.parametrize("kind", ["code", "refresh", "upstream", "id", "random", "none"])
async def test_what_is_no_access_token_of_the_proxy_is_refused(kind: str) -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        name = told["access_token"].partition(".")[0]
        upstream = at.provider.received("userinfo")[0].headers["authorization"]
        shown = {
            "code": await new_code(at, app),
            "refresh": told["refresh_token"],
            "upstream": upstream.removeprefix("Bearer "),
            "id": app.client_id,
            "random": f"{name}.{'A' * 43}",
            "none": "x",
        }[kind]
        assert (await app.call(shown)).status_code == 401
        # Nor does this end the grant of someone else.
        assert (await app.call(told["access_token"])).status_code == 200


async def test_a_token_that_was_made_up_from_another_revokes_nothing() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        name = told["access_token"].partition(".")[0]
        form = {"token": f"{name}.{'A' * 43}", "client_id": app.client_id}
        assert (await app.http.post(f"{BASE}/revoke", data=form)).status_code == 200
        assert (await app.call(told["access_token"])).status_code == 200


async def test_a_token_that_has_ended_is_known_to_nobody() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        at.clock.now += 899
        assert await at.proxy.verify(told["access_token"]) is not None
        at.clock.now += 1
        assert await at.proxy.verify(told["access_token"]) is None


def test_what_is_signed_for_one_purpose_is_read_for_no_other() -> None:
    keys = ProxyKeys(KEY)
    signed = keys.sign("ticket", "value")
    assert (keys.read("ticket", signed, str), keys.read("cookie", signed, str)) == ("value", None)


async def test_an_access_token_is_no_refresh_token() -> None:
    async with world() as at:
        app = await at.application()
        told = await at.tokens(app)
        assert refusal(await app.renew(told["access_token"])) == (400, "invalid_grant")


async def test_grants_are_bounded_and_the_oldest_goes() -> None:
    clock = Clock()
    async with world(store=MemoryProxyStore(max_grants=2, clock=clock), clock=clock) as at:
        app = await at.application()
        told = [await at.tokens(app) for _ in range(3)]
        statuses = [(await app.call(one["access_token"])).status_code for one in told]
    assert statuses == [401, 200, 200]


async def test_a_store_learns_no_token_and_no_user() -> None:
    clock = Clock()
    store = RecordingStore(clock)
    async with world(store=store, clock=clock) as at:
        app = await at.application()
        told = await at.tokens(app)
        upstream = at.provider.received("userinfo")[0].headers["authorization"][7:]
        state = at.provider.received("authorize")[0].query["state"]
    # The login and the code, and then the tokens.
    assert len(store.given) == 6
    name = told["access_token"].partition(".")[0]
    for secret in (upstream, told["access_token"], told["refresh_token"], name, state, "demo"):
        assert secret not in str(store.given)


async def test_logins_outlive_a_restart_and_a_rotated_secret() -> None:
    clock = Clock()
    store = MemoryProxyStore(clock=clock)
    new = "another secret that has more than 32 bytes"
    async with world(store=store, clock=clock) as before:
        app = await before.application()
        told = await before.tokens(app)
        async with world(store=store, clock=clock, secret=[new, KEY]) as after:
            after.provider.tokens = before.provider.tokens
            later = Application(after.http())
            later.client_id = app.client_id
            assert (await later.call(told["access_token"])).status_code == 200
            renewed = (await later.renew(told["refresh_token"])).json()
        async with world(store=store, clock=clock, secret=new) as last:
            again = Application(last.http())
            assert (await again.call(renewed["access_token"])).status_code == 200


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"client_id": ""}, (401, "invalid_client")),
        ({"client_id": "unknown"}, (401, "invalid_client")),
        ({"grant_type": "client_credentials"}, (400, "unsupported_grant_type")),
        ({"grant_type": "authorization_code"}, (400, "invalid_grant")),
        ({"grant_type": "refresh_token"}, (400, "invalid_grant")),
        ({"grant_type": "refresh_token", "refresh_token": "x" * 9999}, (400, "invalid_grant")),
    ],
)
async def test_a_request_for_tokens_without_what_it_needs_is_refused(
    form: dict[str, str], expected: tuple[int, str]
) -> None:
    async with world() as at:
        app = await at.application()
        known = {"client_id": app.client_id, **form}
        answer = await app.http.post(f"{BASE}/token", data=known)
    assert refusal(answer) == expected
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"a=1&a=2", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a%d=1" % one for one in range(60)), "application/x-www-form-urlencoded", 400),
        (b"a=%FF", "application/x-www-form-urlencoded", 400),
        (b"a=\xff", "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 400),
        (b"a=" + b"x" * 40_000, "application/x-www-form-urlencoded", 413),
    ],
)
async def test_a_body_that_is_no_form_or_too_large_is_refused(
    body: bytes, kind: str, status: int
) -> None:
    async with world() as at:
        answer = await at.http().post(f"{BASE}/token", content=body, headers={"content-type": kind})
    assert refusal(answer) == (status, "invalid_request")


async def test_a_query_that_is_too_long_is_refused() -> None:
    async with world() as at:
        app = await at.application()
        fits = await app.http.get(f"{BASE}/authorize?{'x' * 16 * 1024}")
        too_long = await app.http.get(f"{BASE}/authorize?{'x' * (16 * 1024 + 1)}")
    assert fits.status_code == 400
    assert refusal(too_long) == (414, "invalid_request")


def test_the_provider_of_these_tests_registers_nobody() -> None:
    made = provider(ISSUER, f"{BASE}/callback")
    assert "registration_endpoint" not in made.document()
