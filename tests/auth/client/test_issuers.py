"""Credentials belong to one authorization server: what a change of it leads to."""

from __future__ import annotations

import pytest

from mcp_gen.auth.stores.token_store import MemoryTokenStore
from mcp_gen.core.errors import AuthError
from tests.auth.scripts import ISSUER, URL, World

NEW = "https://new.example"
SECRET = {"client_id": "mine", "client_secret": "sesame"}


def moved(world: World) -> None:
    """Let the server name another authorization server, and refuse all tokens."""
    world.issuer = NEW
    world.resource = {"resource": URL, "authorization_servers": [NEW]}
    world.tokens.clear()
    world.now += 100


async def test_at_another_authorization_server_the_client_is_registered_anew() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    moved(world)
    assert (await world.call(oauth), len(world.registrations())) == (200, 2)


async def test_nothing_of_the_old_one_is_sent_to_the_new_one() -> None:
    world = World()
    world.registered = {"client_secret": "old-secret"}
    oauth = world.oauth()
    await world.call(oauth)
    moved(world)
    world.registered = {"client_secret": "new-secret"}
    await world.call(oauth)
    to_new = [ask for ask in world.asked if ask.url.startswith(NEW)]
    told = "".join(f"{ask.headers} {ask.body!r}" for ask in to_new) + world.shown[-1].url
    held = ("refresh-3", "access-3", "client-1", "old-secret")
    assert [word for word in held if word in told] == []


async def test_a_token_that_is_refused_at_once_because_of_a_move_is_asked_for_anew() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    moved(world)
    world.now -= 100
    assert (await world.call(oauth), world.shown[-1].issuer) == (200, NEW)


async def test_after_a_refusal_at_once_no_cached_metadata_is_used() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    moved(world)
    world.now -= 100
    world.asked.clear()
    await world.call(oauth)
    assert world.asked[0].headers["cache-control"] == "no-cache"


async def test_a_metadata_document_is_the_client_id_at_both() -> None:
    world = World()
    world.server = {"client_id_metadata_document_supported": True}
    document = "https://app.example/client.json"
    oauth = world.oauth(client_metadata_url=document)
    await world.call(oauth)
    moved(world)
    await world.call(oauth)
    assert [one["client_id"] for one in world.authorization_requests()] == [document] * 2


async def test_a_client_that_was_registered_by_hand_is_not_taken_to_another_one() -> None:
    world = World()
    oauth = world.oauth(**SECRET)
    await world.call(oauth)
    moved(world)
    with pytest.raises(AuthError, match="which the client is registered with"):
        await world.call(oauth)
    assert len(world.shown) == 1


async def test_a_restart_does_not_take_it_there_either() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store, **SECRET))
    moved(world)
    with pytest.raises(AuthError, match="which the client is registered with"):
        await world.call(world.oauth(store=store, **SECRET))


async def test_a_client_of_the_new_one_is_used_there() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store, **SECRET))
    moved(world)
    other = world.oauth(store=store, client_id="other")
    assert (await world.call(other), world.shown[-1].client_id) == (200, "other")


@pytest.mark.parametrize(("issuer", "logins"), [(ISSUER, 1), (NEW, 0)])
async def test_a_named_issuer_is_the_only_one_that_is_used(issuer: str, logins: int) -> None:
    world = World()
    oauth = world.oauth(issuer=issuer, **SECRET)
    if logins:
        await world.call(oauth)
    else:
        with pytest.raises(AuthError, match="has another authorization server"):
            await world.call(oauth)
    assert len(world.shown) == logins


async def test_a_token_of_another_issuer_than_the_named_one_is_not_used() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store))
    same, other = world.oauth(store=store, issuer=ISSUER), world.oauth(store=store, issuer=NEW)
    assert (await same.headers("POST", URL) != (), await other.headers("POST", URL)) == (True, ())


async def test_the_secret_of_the_program_is_sent_and_not_stored() -> None:
    world, store = World(), MemoryTokenStore()
    world.server = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    oauth = world.oauth(store=store, **SECRET)
    await world.call(oauth)
    world.now += 3590
    await world.call(oauth)
    sent = [form["client_secret"] for form in world.sent(f"{ISSUER}/token")]
    stored = await store.load(URL)
    assert stored is not None
    assert (sent, stored.client_secret) == (["sesame", "sesame"], None)


async def test_a_token_of_a_client_that_is_not_configured_any_more_is_not_used() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store, **SECRET))
    assert await world.oauth(store=store).headers("POST", URL) == ()


async def test_metadata_of_another_issuer_leads_to_no_request_there() -> None:
    world = World()
    world.answers[f"{ISSUER}/.well-known/oauth-authorization-server"] = world.metadata(NEW)
    with pytest.raises(AuthError, match="is that of another one"):
        await world.call(world.oauth())
    assert ([ask.url for ask in world.asked if NEW in ask.url], world.shown) == ([], [])


async def test_a_response_of_another_issuer_leads_to_no_token_request() -> None:
    world = World()
    world.redirects = lambda params: {**params, "iss": NEW}
    with pytest.raises(AuthError, match="cannot be trusted"):
        await world.call(world.oauth())
    assert world.sent(f"{ISSUER}/token") == []


async def test_a_response_of_the_right_issuer_leads_to_one() -> None:
    world = World()
    world.server = {"authorization_response_iss_parameter_supported": True}
    world.redirects = lambda params: {**params, "iss": ISSUER}
    assert await world.call(world.oauth()) == 200


async def test_metadata_of_another_resource_leads_to_no_login() -> None:
    world = World()
    world.resource = {"resource": "https://evil.example/mcp", "authorization_servers": [ISSUER]}
    with pytest.raises(AuthError, match="about another resource"):
        await world.call(world.oauth())
    assert (len(world.asked), world.shown) == (1, [])
