"""Introspection and revocation at the example authorization server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from examples.oauth.authorization_server import Client
from tests.auth.authorization_server.visitor import (
    ISSUER,
    RESOURCE,
    Visitor,
    given,
    refusal,
    visiting,
)

API = {"client_id": "api", "client_secret": "secret"}


@asynccontextmanager
async def with_api(**settings: Any) -> AsyncGenerator[Visitor]:
    """Visit a server that knows a resource server, which may introspect."""
    async with visiting(**settings) as visitor:
        api = Client(client_id="api", secret="secret", auth_method="client_secret_post")
        visitor.server.clients.add(api)
        yield visitor


async def introspected(visitor: Visitor, token: str) -> dict[str, Any]:
    return given(await visitor.post("introspect", token=token, **API))


@pytest.mark.parametrize("format", ["jwt", "opaque"])
async def test_an_access_token_is_told_with_all_that_it_says(format: str) -> None:
    async with with_api(access_token_format=format) as visitor:
        token = (await visitor.login())["access_token"]
        found = await introspected(visitor, token)
    now = int(visitor.clock())
    assert (token.count(".") == 2) is (format == "jwt")
    assert found == {
        "active": True,
        "token_type": "Bearer",
        "iss": ISSUER,
        "aud": RESOURCE,
        "sub": "demo",
        "client_id": "app",
        "scope": "files",
        "iat": now,
        "exp": now + 300,
        "jti": found["jti"],
    }


async def test_a_refresh_token_is_told_and_not_used_up() -> None:
    async with with_api() as visitor:
        token = (await visitor.login())["refresh_token"]
        found = await introspected(visitor, token)
        refreshed = await visitor.refresh(token)
        after = await introspected(visitor, token)
    assert (found["active"], found["sub"]) == (True, "demo")
    assert (refreshed.status_code, after) == (200, {"active": False})


async def test_what_is_unknown_or_has_ended_is_not_active_and_says_no_more() -> None:
    async with with_api() as visitor:
        token = (await visitor.login())["access_token"]
        visitor.clock.now += 301
        found = [await introspected(visitor, one) for one in (token, "made up")]
    assert found == [{"active": False}, {"active": False}]


async def test_a_public_client_is_told_nothing() -> None:
    async with with_api() as visitor:
        token = (await visitor.login())["access_token"]
        assert refusal(await visitor.post("introspect", token=token)) == (401, "invalid_client")


async def test_a_refresh_token_that_is_revoked_ends_all_that_follows_from_it() -> None:
    async with with_api() as visitor:
        tokens = await visitor.login()
        response = await visitor.post("revoke", token=tokens["refresh_token"])
        found = await introspected(visitor, tokens["access_token"])
        refreshed = await visitor.refresh(tokens["refresh_token"])
    assert (response.status_code, response.content) == (200, b"")
    assert found == {"active": False}
    assert refusal(refreshed) == (400, "invalid_grant")


async def test_an_access_token_that_is_revoked_ends_alone() -> None:
    async with with_api() as visitor:
        tokens = await visitor.login()
        await visitor.post("revoke", token=tokens["access_token"])
        found = await introspected(visitor, tokens["access_token"])
        refreshed = await visitor.refresh(tokens["refresh_token"])
    assert (found, refreshed.status_code) == ({"active": False}, 200)


async def test_a_token_that_is_unknown_counts_as_revoked() -> None:
    async with with_api() as visitor:
        assert (await visitor.post("revoke", token="made up")).status_code == 200


async def test_another_client_revokes_nothing() -> None:
    async with with_api() as visitor:
        token = (await visitor.login())["refresh_token"]
        response = await visitor.post("revoke", token=token, **API)
        refreshed = await visitor.refresh(token)
    assert (refusal(response), refreshed.status_code) == ((400, "invalid_grant"), 200)


@pytest.mark.parametrize("endpoint", ["introspect", "revoke"])
async def test_a_request_without_a_token_is_refused(endpoint: str) -> None:
    async with with_api() as visitor:
        assert refusal(await visitor.post(endpoint, **API)) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("setting", "endpoint"), [("introspection", "introspect"), ("revocation", "revoke")]
)
async def test_an_endpoint_that_is_switched_off_is_not_there(setting: str, endpoint: str) -> None:
    async with with_api(**{setting: False}) as visitor:
        response = await visitor.post(endpoint, token="made up", **API)
        path = f"{ISSUER}/.well-known/oauth-authorization-server"
        metadata = (await visitor.http.get(path)).json()
    assert response.status_code == 404
    assert f"{setting}_endpoint" not in metadata
