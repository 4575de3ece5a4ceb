"""Renewal: before a token ends, after a refusal, once for all who need it."""

from __future__ import annotations

import asyncio

import pytest

from mcp_gen.auth.stores.token_store import MemoryTokenStore, StoredCredentials
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.scripts import ISSUER, URL, World, answer

TOKEN = f"{ISSUER}/token"


def refreshes(world: World) -> int:
    return sum(form["grant_type"] == "refresh_token" for form in world.sent(TOKEN))


async def test_a_token_that_has_time_is_not_renewed() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 3600 - 31
    await world.call(oauth)
    assert refreshes(world) == 0


async def test_a_token_is_renewed_before_it_ends() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 3600 - 30
    assert dict(await oauth.headers("POST", URL)) == {b"authorization": b"Bearer access-4"}


async def test_the_margin_is_an_option() -> None:
    world = World()
    oauth = world.oauth(refresh_margin_s=600)
    await world.call(oauth)
    world.now += 3000
    await world.call(oauth)
    assert refreshes(world) == 1


async def test_a_token_of_a_short_life_is_used_for_most_of_it() -> None:
    world = World()
    world.expires_in = 20
    oauth = world.oauth()
    await world.call(oauth)
    for _ in range(5):
        world.now += 3
        await world.call(oauth)
    before = refreshes(world)
    world.now += 1
    await world.call(oauth)
    assert (before, refreshes(world)) == (0, 1)


async def test_a_token_without_an_end_is_used_until_it_is_refused() -> None:
    world = World()
    world.expires_in = None
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 1e9
    await world.call(oauth)
    assert refreshes(world) == 0


async def test_a_refused_token_is_renewed_without_the_user() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.tokens.clear()
    world.now += 100
    assert (await world.call(oauth), refreshes(world), len(world.shown)) == (200, 1, 1)


async def test_many_refused_requests_lead_to_one_refresh() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.tokens.clear()
    world.now += 100
    statuses = await asyncio.gather(*(world.call(oauth) for _ in range(20)))
    assert (set(statuses), refreshes(world), len(world.shown)) == ({200}, 1, 1)


async def test_many_first_requests_lead_to_one_login() -> None:
    world = World()
    oauth = world.oauth()
    statuses = await asyncio.gather(*(world.call(oauth) for _ in range(20)))
    assert (set(statuses), len(world.shown), len(world.registrations())) == ({200}, 1, 1)


async def test_many_requests_before_the_end_of_a_token_lead_to_one_refresh() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 3590
    await asyncio.gather(*(world.call(oauth) for _ in range(20)))
    assert refreshes(world) == 1


async def test_a_refusal_of_a_token_that_was_renewed_meanwhile_renews_nothing() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    old = await oauth.headers("POST", URL)
    world.tokens.clear()
    world.now += 100
    await world.call(oauth)
    again = await oauth.retry("POST", URL, 401, {}, old)
    assert (again, refreshes(world)) == (True, 1)


async def test_what_another_process_has_renewed_is_used() -> None:
    world, store = World(), MemoryTokenStore()
    first, second = world.oauth(store=store), world.oauth(store=store)
    await world.call(first)
    await second.headers("POST", URL)
    world.tokens.clear()
    world.now += 100
    await world.call(first)
    assert (await world.call(second), refreshes(world), len(world.shown)) == (200, 1, 1)


async def test_two_processes_whose_token_ends_refresh_it_once() -> None:
    world, store = World(), MemoryTokenStore()
    first, second = world.oauth(store=store), world.oauth(store=store)
    await world.call(first)
    await second.headers("POST", URL)
    world.now += 3590
    await asyncio.gather(world.call(first), world.call(second))
    assert refreshes(world) == 1


async def test_two_processes_that_begin_ask_their_user_once() -> None:
    world, store = World(), MemoryTokenStore()
    calls = (world.call(world.oauth(store=store)) for _ in range(2))
    assert (await asyncio.gather(*calls), len(world.shown)) == ([200, 200], 1)


async def test_a_refresh_without_a_new_refresh_token_keeps_the_old_one() -> None:
    world, store = World(), MemoryTokenStore()
    oauth = world.oauth(store=store)
    await world.call(oauth)
    world.answers[TOKEN] = {"access_token": "new", "token_type": "Bearer", "expires_in": 60}
    world.now += 3590
    await oauth.headers("POST", URL)
    stored = await store.load(URL)
    assert stored is not None
    assert (stored.access_token, stored.refresh_token) == ("new", "refresh-3")


async def test_a_refresh_token_that_is_refused_leads_to_a_login() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.tokens.clear()
    world.refresh_tokens.clear()
    world.now += 100
    assert (await world.call(oauth), refreshes(world), len(world.shown)) == (200, 1, 2)


async def test_a_refused_refresh_token_is_not_sent_again() -> None:
    world, store = World(), MemoryTokenStore()
    oauth = world.oauth(store=store, interactive=False)
    await world.call(world.oauth(store=store))
    world.tokens.clear()
    world.refresh_tokens.clear()
    world.now += 100
    for _ in range(3):
        with pytest.raises(AuthError, match="mcp-gen login"):
            await world.call(oauth)
    assert refreshes(world) == 1


async def test_without_a_user_the_error_says_how_to_log_in() -> None:
    world = World()
    with pytest.raises(AuthError, match=f"nobody is there to log in: .* mcp-gen login {URL}$"):
        await world.call(world.oauth(interactive=False))
    assert (world.registrations(), world.shown) == ([], [])


async def test_a_client_that_is_not_known_any_more_is_registered_anew() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.tokens.clear()
    world.answers[TOKEN] = _once(world, answer({"error": "invalid_client"}, 401))
    world.now += 100
    assert (await world.call(oauth), len(world.registrations())) == (200, 2)


async def test_a_client_of_the_program_that_is_refused_is_not_tried_again() -> None:
    world = World()
    oauth = world.oauth(client_id="mine")
    await world.call(oauth)
    world.answers[TOKEN] = answer({"error": "invalid_client"}, 401)
    with pytest.raises(AuthError, match="check the client's id, secret"):
        await oauth.login()
    assert len(world.shown) == 2


def _once(world: World, first: object) -> object:
    def respond(ask: object) -> object:
        del world.answers[TOKEN]
        return first

    return respond


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (answer(status=503), "status 503"),
        (answer({"error": "temporarily_unavailable"}, 503), "temporarily_unavailable"),
        (answer({"error": "server_error"}, 400), "server_error"),
    ],
)
async def test_an_authorization_server_that_fails_costs_no_refresh_token(
    failure: object, said: str
) -> None:
    world, store = World(), MemoryTokenStore()
    oauth = world.oauth(store=store)
    await world.call(oauth)
    world.tokens.clear()
    world.now += 100
    world.answers[TOKEN] = failure
    with pytest.raises(AuthError, match=said):
        await world.call(oauth)
    del world.answers[TOKEN]
    assert (await world.call(oauth), len(world.shown)) == (200, 1)


@pytest.mark.parametrize("failure", [answer(status=503), TransportError("gone")])
async def test_a_token_that_is_still_valid_is_used_if_it_cannot_be_renewed_early(
    failure: object,
) -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 3590
    world.answers[TOKEN] = failure
    assert [await world.call(oauth) for _ in range(3)] == [200, 200, 200]
    assert refreshes(world) == 1


async def test_a_token_that_has_ended_and_cannot_be_renewed_is_not_sent() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 3601
    world.answers[TOKEN] = TransportError("the authorization server cannot be reached")
    with pytest.raises(TransportError, match="cannot be reached"):
        await oauth.headers("POST", URL)


async def test_a_token_without_a_refresh_token_is_not_sent_after_its_end() -> None:
    world, store = World(), MemoryTokenStore()
    await store.save(
        URL,
        StoredCredentials(
            issuer=ISSUER,
            resource=URL,
            client_id="c",
            dynamic=True,
            access_token="old",
            expires_at=world.now - 1,
        ),
    )
    assert await world.oauth(store=store).headers("POST", URL) == ()


async def test_a_refresh_goes_to_the_issuer_that_gave_the_token() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.asked.clear()
    world.now += 3590
    await world.call(oauth)
    assert [ask.url for ask in world.asked] == [
        f"{ISSUER}/.well-known/oauth-authorization-server",
        TOKEN,
    ]


async def test_a_refresh_of_before_metadata_goes_to_the_origin() -> None:
    world = World()
    world.resource = None
    world.issuer = "https://api.example"
    world.answers["https://api.example/.well-known/oauth-authorization-server"] = answer(status=404)
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 3590
    await world.call(oauth)
    assert len(world.sent("https://api.example/token")) == 2


async def test_a_renewed_token_that_is_refused_at_once_leads_to_a_login() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 100
    world.tokens.clear()
    await world.call(oauth)
    world.tokens.clear()
    assert (await world.call(oauth), refreshes(world), len(world.shown)) == (200, 1, 2)


async def test_a_new_token_that_is_refused_at_once_leads_to_no_other() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.tokens.clear()
    with pytest.raises(AuthError, match=r"refuses a token that .* has issued for it"):
        await world.call(oauth)
    assert (refreshes(world), len(world.shown)) == (0, 1)


async def test_the_user_logs_in_again_when_a_token_has_ended_and_its_refresh_is_refused() -> None:
    world = World()
    oauth = world.oauth()
    assert await world.call(oauth) == 200
    world.now += 4000
    world.tokens.clear()
    world.refresh_tokens.clear()
    assert (await world.call(oauth), len(world.shown)) == (200, 2)


async def test_a_token_that_ends_at_once_is_asked_for_once() -> None:
    world = World()
    world.expires_in = 0
    oauth = world.oauth()
    assert (await world.call(oauth), len(world.shown)) == (401, 1)
