"""Dynamic registration at the example authorization server."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from examples.oauth.authorization_server import Client
from tests.auth.authorization_server.visitor import REDIRECT, Visitor, refusal, visiting

HTTPS = "https://app.example/callback"


async def register(visitor: Visitor, **metadata: Any) -> httpx2.Response:
    """Register a public client for a redirect URI on loopback, or with other metadata."""
    usual = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
    sent = {name: value for name, value in {**usual, **metadata}.items() if value is not None}
    return await visitor.http.post(visitor.server.url("register"), json=sent)


async def test_a_client_that_registers_can_log_in() -> None:
    async with visiting() as visitor:
        grants = ["authorization_code", "refresh_token"]
        response = await register(visitor, grant_types=grants, client_name="Notes")
        visitor.client = Client(client_id=response.json()["client_id"])
        tokens = await visitor.login()
    assert response.status_code == 201
    assert response.json() == {
        "client_id": visitor.client.client_id,
        "client_id_issued_at": int(visitor.clock()),
        "client_name": "Notes",
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "none",
        "grant_types": grants,
        "response_types": ["code"],
        "application_type": "native",
    }
    assert "refresh_token" in tokens


async def test_a_client_without_the_refresh_grant_gets_no_refresh_token() -> None:
    async with visiting() as visitor:
        registered = (await register(visitor)).json()
        visitor.client = Client(client_id=registered["client_id"])
        assert "refresh_token" not in await visitor.login()


async def test_a_client_that_names_no_method_gets_a_secret() -> None:
    async with visiting() as visitor:
        found = (await register(visitor, token_endpoint_auth_method=None)).json()
    assert found["token_endpoint_auth_method"] == "client_secret_basic"
    assert len(found["client_secret"]) >= 43
    assert found["client_secret_expires_at"] == 0


@pytest.mark.parametrize(
    ("metadata", "application_type"),
    [
        ({}, "native"),
        ({"redirect_uris": [HTTPS]}, "web"),
        ({"redirect_uris": ["com.example.app:/callback"]}, "native"),
        ({"redirect_uris": ["http://localhost:3000/callback"]}, "native"),
        ({"redirect_uris": [HTTPS], "application_type": "native"}, "native"),
    ],
)
async def test_the_application_type_is_registered_or_follows_from_the_redirect_uris(
    metadata: dict[str, Any], application_type: str
) -> None:
    async with visiting() as visitor:
        found = (await register(visitor, **metadata)).json()
    assert found["application_type"] == application_type


async def test_a_strict_server_takes_a_client_without_application_type_for_a_web_application() -> (
    None
):
    async with visiting(default_application_type="web") as visitor:
        assert refusal(await register(visitor)) == (400, "invalid_redirect_uri")
        assert (await register(visitor, application_type="native")).status_code == 201


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": None}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://app.example/callback"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [HTTPS, "http://app.example/"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [f"{HTTPS}#part"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://*.example/callback"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://user@app.example/"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["/callback"]}, "invalid_redirect_uri"),
        ({"application_type": "web"}, "invalid_redirect_uri"),
        ({"application_type": "desktop"}, "invalid_client_metadata"),
        ({"redirect_uris": REDIRECT}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": "tls_client_auth"}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"grant_types": ["password"]}, "invalid_client_metadata"),
        ({"response_types": ["token"]}, "invalid_client_metadata"),
    ],
)
async def test_wrong_metadata_is_refused(metadata: dict[str, Any], error: str) -> None:
    async with visiting() as visitor:
        assert refusal(await register(visitor, **metadata)) == (400, error)


async def test_a_body_that_is_no_json_is_refused() -> None:
    async with visiting() as visitor:
        response = await visitor.http.post(visitor.server.url("register"), content=b"{")
    assert refusal(response) == (400, "invalid_client_metadata")


async def test_a_server_without_registration_has_no_such_endpoint() -> None:
    async with visiting(registration=False) as visitor:
        assert (await register(visitor)).status_code == 404


async def test_beyond_the_limit_the_oldest_client_is_forgotten() -> None:
    async with visiting(max_clients=2) as visitor:
        ids = [(await register(visitor)).json()["client_id"] for _ in range(3)]
        statuses = [(await visitor.authorize(client_id=one)).status_code for one in ids]
    assert statuses == [400, 303, 303]
