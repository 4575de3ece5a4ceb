"""Step-up: more scopes after a 403, the union of all, and its bounds."""

from __future__ import annotations

import pytest

from mcp_gen.auth.client.oauth import OAuth
from mcp_gen.auth.stores.token_store import MemoryTokenStore
from mcp_gen.core.errors import AuthError
from tests.auth.scripts import ISSUER, URL, World, refused


def scopes(world: World) -> list[str | None]:
    return [request.get("scope") for request in world.authorization_requests()]


async def test_missing_scopes_are_asked_for_beside_those_of_before() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth, challenge={"scope": "read"})
    assert (await world.call(oauth, needs="write"), scopes(world)) == (200, ["read", "read write"])


async def test_one_registration_is_enough_for_a_step_up() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth, needs="write")
    assert len(world.registrations()) == 1


async def test_scopes_stay_in_the_union_after_several_steps() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth, challenge={"scope": "a"})
    for needs in ("b", "c"):
        world.now += 100
        await world.call(oauth, needs=needs)
    assert scopes(world)[-1] == "a b c"


async def test_a_403_for_another_reason_is_left_to_the_caller() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    sent = await oauth.headers("POST", URL)
    again = await oauth.retry("POST", URL, 403, refused(error="access_denied", scope="x"), sent)
    assert (again, len(world.shown)) == (False, 1)


async def test_a_step_up_uses_no_refresh_token() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth)
    world.now += 100
    await world.call(oauth, needs="write")
    forms = world.sent(f"{ISSUER}/token")
    assert [form["grant_type"] for form in forms] == ["authorization_code"] * 2


async def test_scopes_that_were_not_granted_are_not_asked_for_again_and_again() -> None:
    world = World()
    world.grants_scopes = lambda asked: "read"
    oauth = world.oauth()
    await world.call(oauth)
    for _ in range(3):
        world.now += 1000
        with pytest.raises(AuthError, match="did not grant the scope 'write'"):
            await world.call(oauth, needs="write")
    assert len(world.shown) == 2


async def test_a_login_of_the_user_asks_for_them_once_more() -> None:
    world = World()
    world.grants_scopes = lambda asked: "read"
    oauth = world.oauth()
    await world.call(oauth)
    with pytest.raises(AuthError):
        await world.call(oauth, needs="write")
    world.grants_scopes = lambda asked: asked
    await oauth.login()
    assert (await world.call(oauth, needs="write"), len(world.shown)) == (200, 3)


async def test_a_challenge_that_names_no_scope_means_those_of_the_metadata() -> None:
    world = World()
    assert world.resource is not None
    world.resource["scopes_supported"] = ["read", "write"]
    oauth = world.oauth(scopes=["read"])
    await world.call(oauth)
    sent = await oauth.headers("POST", URL)
    assert await oauth.retry("POST", URL, 403, refused(error="insufficient_scope"), sent)
    assert scopes(world) == ["read", "read write"]


async def test_a_server_that_refuses_what_was_granted_is_told_of() -> None:
    world = World()
    oauth = world.oauth()
    await world.call(oauth, challenge={"scope": "admin"})
    sent = await oauth.headers("POST", URL)
    challenge = refused(error="insufficient_scope", scope="admin")
    with pytest.raises(AuthError, match="insufficient_scope; ask its operator"):
        await oauth.retry("POST", URL, 403, challenge, sent)
    assert len(world.shown) == 1


async def test_a_server_that_always_wants_another_scope_gets_three_authorizations() -> None:
    world = World()
    with pytest.raises(AuthError, match="refused 3 tokens in a row"):
        await refuse_always(world.oauth())
    assert len(world.shown) == 3


async def refuse_always(oauth: OAuth) -> None:
    """Refuse every token for a scope that was not asked for before."""
    for number in range(20):
        sent = await oauth.headers("POST", URL)
        challenge = refused(error="insufficient_scope", scope=f"scope-{number}")
        assert await oauth.retry("POST", URL, 403 if sent else 401, challenge, sent)


async def test_the_number_of_authorizations_is_an_option() -> None:
    world = World()
    oauth = world.oauth(max_authorizations=1)
    with pytest.raises(AuthError, match="refused 1 tokens in a row"):
        await world.call(oauth, needs="write")
    assert len(world.shown) == 1


async def test_a_step_up_after_a_while_is_the_first_of_a_new_row() -> None:
    world = World()
    oauth = world.oauth(max_authorizations=1)
    await world.call(oauth)
    world.now += 31
    assert await world.call(oauth, needs="write") == 200


async def test_another_process_with_more_scopes_spares_the_step_up() -> None:
    world, store = World(), MemoryTokenStore()
    first, second = world.oauth(store=store), world.oauth(store=store)
    await world.call(first)
    await second.headers("POST", URL)
    await world.call(first, needs="write")
    assert (await world.call(second, needs="write"), len(world.shown)) == (200, 2)


async def test_scopes_that_the_program_adds_are_asked_for_in_a_new_login() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store, scopes=["a"]))
    await world.call(world.oauth(store=store, scopes=["a", "b"]))
    assert scopes(world) == ["a", "a b"]


async def test_scopes_that_the_program_leaves_out_need_no_new_login() -> None:
    world, store = World(), MemoryTokenStore()
    await world.call(world.oauth(store=store, scopes=["a", "b"]))
    await world.call(world.oauth(store=store, scopes=["a"]))
    assert scopes(world) == ["a b"]
