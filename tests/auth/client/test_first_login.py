"""From the first refusal to a token: discovery, registration, the user, and the code."""

from __future__ import annotations

from tests.auth.scripts import ISSUER, PRM, REDIRECT, URL, World


async def test_a_refused_request_leads_through_metadata_and_registration_to_a_token() -> None:
    world = World()
    status = await world.call(world.oauth())
    assert (status, [ask.url for ask in world.asked]) == (
        200,
        [
            f"{PRM}/mcp",
            f"{ISSUER}/.well-known/oauth-authorization-server",
            f"{ISSUER}/register",
            f"{ISSUER}/token",
        ],
    )


async def test_the_user_is_shown_who_asks_for_what() -> None:
    world = World()
    await world.call(world.oauth(scopes=["files:read"]))
    shown = world.shown[0]
    assert (shown.issuer, shown.resource, shown.scopes, shown.client_name, shown.redirect_uri) == (
        ISSUER,
        URL,
        ("files:read",),
        "Test client",
        REDIRECT,
    )


async def test_both_requests_name_the_resource_in_the_words_of_its_metadata() -> None:
    world = World()
    world.resource = {"resource": "https://api.example/", "authorization_servers": [ISSUER]}
    await world.call(world.oauth())
    named = [world.authorization_requests()[0]["resource"], *_resources(world)]
    assert named == ["https://api.example/", "https://api.example/"]


def _resources(world: World) -> list[str]:
    return [form["resource"] for form in world.sent(f"{ISSUER}/token")]
