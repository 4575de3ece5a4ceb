"""Stored credentials: restarts, status, login and logout."""

from __future__ import annotations

import pytest

from mcp_gen.auth.client.credentials import AuthorizationStatus
from mcp_gen.auth.stores.token_store import MemoryTokenStore
from mcp_gen.core.errors import AuthError, TransportError, UsageError
from tests.auth.flows.test_subjects import id_token
from tests.auth.scripts import ISSUER, URL, World, answer

REVOKE = f"{ISSUER}/revoke"


async def test_a_restart_needs_no_browser_and_no_request() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store))
    world.asked.clear()
    status = await world.call(world.oauth(store=store))
    assert (status, len(world.shown), world.asked) == (200, 1, [])


async def test_a_restart_after_the_end_of_the_token_needs_no_browser() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store))
    world.now += 7200
    assert (await world.call(world.oauth(store=store)), len(world.shown)) == (200, 1)


async def test_a_login_after_a_restart_needs_no_new_registration() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store))
    world.tokens.clear()
    world.refresh_tokens.clear()
    world.now += 100
    await world.call(world.oauth(store=store))
    assert (len(world.shown), len(world.registrations())) == (2, 1)


async def test_credentials_are_kept_by_the_canonical_url() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store))
    again = await world.oauth(store=store).headers("POST", "https://API.example:443/mcp?x=1#y")
    assert dict(again) == {b"authorization": b"Bearer access-3"}


async def test_accounts_are_kept_apart() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store, account="ann"))
    assert await world.oauth(store=store, account="bob").headers("POST", URL) == ()


async def test_the_identity_stays_through_a_refresh_and_a_restart() -> None:
    world, store = World(), MemoryTokenStore()
    oauth = world.oauth(store=store)
    before = oauth.identity
    await world.call(oauth)
    first = oauth.identity
    world.now += 3590
    await world.call(oauth)
    again = world.oauth(store=store)
    await again.headers("POST", URL)
    assert (before, oauth.identity, again.identity) == (None, first, first)


async def test_another_login_is_another_identity() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    first = oauth.identity
    await oauth.login()
    assert first != oauth.identity


async def test_a_login_may_use_cached_metadata() -> None:
    world = World()
    await world.oauth().login(URL)
    assert world.asked
    assert [ask for ask in world.asked if "cache-control" in ask.headers] == []


async def test_the_status_says_whose_token_it_is() -> None:
    world = World()
    oauth = world.oauth(scopes=["a"])
    await world.call(oauth)
    assert await oauth.status() == AuthorizationStatus(
        server=URL,
        issuer=ISSUER,
        client_id="client-1",
        scopes=("a",),
        expires_at=world.now + 3600,
        subject=None,
        logged_in=True,
    )


async def test_the_status_names_the_user_where_the_server_did() -> None:
    world = World()
    token = id_token(aud="client-1")
    world.answers[f"{ISSUER}/token"] = {"access_token": "a", "id_token": token}
    oauth = world.oauth()
    found = await oauth.login(URL)
    assert found.subject == "ann"


async def test_without_credentials_there_is_no_status() -> None:
    assert await World().oauth().status(URL) is None


@pytest.mark.parametrize(("renewable", "logged_in"), [(True, True), (False, False)])
async def test_an_ended_token_is_a_login_only_with_a_refresh_token(
    renewable: bool, logged_in: bool
) -> None:
    world = World()
    if not renewable:
        world.answers[f"{ISSUER}/token"] = {"access_token": "a", "expires_in": 60}
    oauth = world.oauth()
    await oauth.login(URL)
    world.now += 7200
    found = await oauth.status()
    assert (found is not None and found.logged_in) is logged_in


async def test_which_server_has_to_be_said_once() -> None:
    oauth = World().oauth()
    with pytest.raises(UsageError, match="Give its URL"):
        await oauth.login()


async def test_a_login_asks_the_server_for_its_challenge() -> None:
    world = World()
    told = "https://meta.example/doc"
    header = f'Bearer resource_metadata="{told}", scope="a"'
    world.answers[URL] = answer(status=401, **{"www-authenticate": header})
    world.answers[told] = world.resource
    await world.oauth().login(URL)
    assert world.authorization_requests()[0]["scope"] == "a"


async def test_a_login_asks_the_user_even_with_a_token() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    await oauth.login()
    assert len(world.shown) == 2


async def test_a_logout_forgets_and_revokes_both_tokens() -> None:
    world, store = World(), MemoryTokenStore()
    world.server = {"revocation_endpoint": REVOKE}
    oauth = world.oauth(store=store)
    await world.call(oauth)
    done = await oauth.logout()
    assert (done, await store.load(URL), await oauth.headers("POST", URL), oauth.identity) == (
        True,
        None,
        (),
        None,
    )
    assert [(form["token"], form["token_type_hint"]) for form in world.sent(REVOKE)] == [
        ("refresh-3", "refresh_token"),
        ("access-3", "access_token"),
    ]


@pytest.mark.parametrize("failure", [answer(status=503), TransportError("gone"), AuthError("no")])
async def test_a_logout_that_cannot_revoke_forgets_all_the_same(failure: object) -> None:
    world, store = World(), MemoryTokenStore()
    world.server = {"revocation_endpoint": REVOKE}
    oauth = world.oauth(store=store)
    await world.call(oauth)
    world.answers[REVOKE] = failure
    assert (await oauth.logout(), await store.load(URL)) == (False, None)


async def test_a_logout_where_tokens_are_not_revoked_says_so() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    assert await oauth.logout() is False


async def test_a_logout_without_credentials_sends_nothing() -> None:
    world = World()
    assert (await world.oauth().logout(URL), world.asked) == (True, [])


async def test_after_a_logout_the_next_refusal_leads_to_a_login() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    await oauth.logout()
    assert (await world.call(oauth), len(world.shown)) == (200, 2)


async def test_a_logout_of_another_process_is_noticed_at_the_next_refusal() -> None:
    world, store = World(), MemoryTokenStore()
    first, second = world.oauth(store=store), world.oauth(store=store)
    await world.call(first)
    await second.headers("POST", URL)
    await first.logout()
    world.tokens.clear()
    world.now += 100
    assert (await world.call(second), len(world.shown)) == (200, 2)
