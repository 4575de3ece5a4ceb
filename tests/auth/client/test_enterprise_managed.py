"""EnterpriseManaged exchanges an ID token at the identity provider, then the result for a token."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.auth.client.enterprise import EnterpriseManaged
from mcp_gen.auth.flows.exchange import HttpAnswer
from mcp_gen.auth.proofs.keys import SigningKey
from mcp_gen.core.errors import AuthError, UsageError
from tests.auth.client.scripted import (
    AS,
    IDP,
    JAG,
    URL,
    Web,
    admitted,
    basic_of,
    bearer,
    claims_of,
    refused,
)

KEY = SigningKey.generate()
ID_TOKEN = KEY.sign({}, {"iss": IDP, "sub": "ann", "aud": "me at the IdP"})


def managed(web: Web, **options: Any) -> EnterpriseManaged:
    """Return an authorizer for Ann."""
    whole: dict[str, Any] = {
        "client_secret": "at the AS",
        "id_token": ID_TOKEN,
        "idp_client_id": "me at the IdP",
        "idp_issuer": IDP,
        "fetcher": web,
        **options,
    }
    return EnterpriseManaged("me", **whole)


async def test_the_id_token_goes_to_the_provider_and_its_assertion_to_the_server() -> None:
    web = Web()
    assert await admitted(managed(web)) == bearer("token2")
    assert [ask.url for ask in web.asks] == [f"{IDP}/token", f"{AS}/token"]
    exchange, grant = web.forms
    assert exchange == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "subject_token": ID_TOKEN,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": AS,
        "resource": URL,
        "scope": "read",
        "client_id": "me at the IdP",
    }
    assert grant == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": JAG,
        "resource": URL,
        "scope": "read",
    }
    assert basic_of(web.asks[1]) == ["me", "at the AS"]


async def test_the_secret_of_each_server_goes_to_that_server_alone() -> None:
    web = Web()
    await admitted(managed(web, idp_client_secret="at the IdP"))
    assert basic_of(web.asks[0]) == ["me at the IdP", "at the IdP"]
    assert basic_of(web.asks[1]) == ["me", "at the AS"]


async def test_the_token_endpoint_of_the_provider_can_be_given() -> None:
    web = Web()
    auth = managed(web, idp_issuer=None, idp_token_endpoint=f"{IDP}/token", idp_private_key=KEY)
    assert await admitted(auth) == bearer("token2")
    assert claims_of(web.forms[0]["client_assertion"])["aud"] == f"{IDP}/token"


async def test_where_the_provider_may_be_is_decided_by_what_the_program_configured() -> None:
    web = Web()
    await admitted(managed(web))
    assert web.configured == [URL, IDP, f"{IDP}/token", URL]


async def test_a_provider_that_refuses_ends_it_before_the_authorization_server() -> None:
    web = Web(answer=lambda ask: refused("invalid_grant"))
    with pytest.raises(AuthError) as caught:
        await admitted(managed(web))
    assert caught.value.error == "invalid_grant"
    assert "idp.example" in str(caught.value)
    assert [ask.url for ask in web.asks] == [f"{IDP}/token"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"access_token":"e30.e30.AA"}',
        b'{"access_token":"e30.e30.AA","issued_token_type":'
        b'"urn:ietf:params:oauth:token-type:access_token"}',
        b'{"access_token":"opaque","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}',
        b"{}",
    ],
)
async def test_another_kind_of_token_is_not_passed_on(body: bytes) -> None:
    web = Web(answer=lambda ask: HttpAnswer(200, {}, body))
    with pytest.raises(AuthError):
        await admitted(managed(web))
    assert [ask.url for ask in web.asks] == [f"{IDP}/token"]


async def test_the_id_token_goes_nowhere_if_the_client_cannot_be_known_at_the_server() -> None:
    web = Web({"token_endpoint_auth_methods_supported": ["private_key_jwt"]})
    with pytest.raises(AuthError, match="no method of authentication"):
        await admitted(managed(web))
    assert web.asks == []


async def test_a_provider_without_https_gets_nothing() -> None:
    web = Web()
    endpoint = "http://idp.example/token"
    with pytest.raises(AuthError, match="not safe"):
        await admitted(managed(web, idp_token_endpoint=endpoint))
    assert web.asks == []


async def test_users_are_told_apart() -> None:
    async def identity(subject: str) -> Any:
        auth = managed(Web(), id_token=KEY.sign({}, {"iss": IDP, "sub": subject}))
        await admitted(auth)
        return auth.identity

    assert await identity("ann") == await identity("ann")
    assert await identity("ann") != await identity("bob")


def test_the_provider_has_to_be_named() -> None:
    with pytest.raises(UsageError, match="needs idp_issuer or idp_token_endpoint"):
        managed(Web(), idp_issuer=None)


async def test_no_secret_is_in_a_repr() -> None:
    auth = managed(Web(), idp_client_secret="secret there")
    await admitted(auth)
    shown = f"{auth!r} {auth.__dict__!r}"
    assert [one for one in (ID_TOKEN, "at the AS", "secret there") if one in shown] == []
