"""OAuth as a whole: our client, our server, and the example authorization server."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest
from msgspec.structs import replace

from mcp_gen import Client
from mcp_gen.auth import MemoryTokenStore, OAuth
from mcp_gen.core.errors import AuthError
from tests.auth.client.over_sockets import REDIRECT, Place, agree, called, placed


class Clock:
    """The time, ahead by some seconds."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


def oauth(**more: Any) -> OAuth:
    return OAuth(redirect_uri=REDIRECT, on_authorize=agree, **more)


def grants(place: Place) -> list[str]:
    """Return the grant types that the token endpoint was asked for."""
    return [
        dict(parse_qsl(one.body.decode()))["grant_type"] for one in place.issuer.received("token")
    ]


async def test_a_user_logs_in_once_and_calls_a_tool() -> None:
    store = MemoryTokenStore()
    async with placed() as place:
        first = await called(place, oauth(store=store))
        second = await called(place, oauth(store=store))
    assert (first, grants(place)) == (second, ["authorization_code"])
    assert "demo" in first
    assert first.endswith("['mcp']")


async def test_tokens_are_renewed_with_rotation_before_they_end() -> None:
    clock = Clock()
    async with placed() as place:
        auth = oauth(clock=clock)
        for _ in range(3):
            await called(place, auth)
            clock.ahead_s += 290
    assert grants(place) == ["authorization_code", "refresh_token", "refresh_token"]


async def test_many_calls_whose_token_is_refused_lead_to_one_refresh() -> None:
    store = MemoryTokenStore()
    async with placed() as place:
        await called(place, oauth(store=store))
        stored = await store.load(place.url)
        assert stored is not None
        await store.save(place.url, replace(stored, access_token="refused"))
        auth = oauth(store=store)
        async with Client("test") as client:
            session = await client.connect(place.url, auth=auth)
            await asyncio.gather(*(session.call_tool("who", {}) for _ in range(10)))
    assert grants(place) == ["authorization_code", "refresh_token"]


async def test_a_tool_with_a_scope_of_its_own_leads_to_a_step_up() -> None:
    async with placed() as place:
        auth = oauth()
        first = await called(place, auth)
        second = await called(place, auth, "write")
    assert (first.rpartition(" [")[2], second.rpartition(" [")[2]) == ("'mcp']", "'mcp', 'write']")
    # The first registration was for fewer scopes, which this authorization server holds it to.
    registered = [msgspec.json.decode(one.body) for one in place.issuer.received("register")]
    assert [one["scope"] for one in registered] == ["mcp", "mcp write"]


async def test_a_user_who_declines_ends_the_connection_with_the_reason() -> None:
    async with placed(consent="denied") as place:
        with pytest.raises(AuthError, match="access_denied"):
            await called(place, oauth())
    assert (grants(place), place.authorizations()) == ([], [])


async def test_login_status_and_logout_need_no_connection() -> None:
    async with placed() as place:
        async with oauth() as auth:
            found = await auth.login(place.url)
            assert (found.issuer, found.scopes, found.logged_in) == (
                place.issuer.issuer,
                ("mcp",),
                True,
            )
            assert (await auth.logout(), await auth.status()) == (True, None)
        assert len(place.issuer.received("revoke")) == 2


async def test_an_authorization_server_without_pkce_is_refused() -> None:
    async with placed(pkce_methods=()) as place:
        with pytest.raises(AuthError, match="does not say that it supports PKCE"):
            await called(place, oauth())
    assert place.issuer.received("register") == []


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
async def test_each_method_of_authentication_is_accepted(method: str) -> None:
    async with placed(token_endpoint_auth_methods=(method,)) as place:
        await called(place, oauth())
    (registration,) = place.issuer.received("register")
    assert msgspec.json.decode(registration.body)["token_endpoint_auth_method"] == method


@pytest.mark.parametrize("documents", ["oauth", "oidc", "oidc-appended"])
async def test_each_place_of_metadata_is_found(documents: str) -> None:
    async with placed(documents=(documents,)) as place:
        assert "demo" in await called(place, oauth())
