"""ClientCredentials has a token for the client itself, with a secret or a key."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from joserfc import jwk as joserfc_jwk
from joserfc import jwt as joserfc_jwt
from joserfc.errors import SecurityWarning

from mcp_gen.auth.client.client_credentials import ClientCredentials
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk
from mcp_gen.auth.proofs.keys import SigningKey
from mcp_gen.core.errors import AuthError, UsageError
from tests.auth.client.scripted import (
    AS,
    CHALLENGE,
    URL,
    Clock,
    Web,
    admitted,
    basic_of,
    bearer,
    refused,
    sent_again,
)

SECRET = "s3cret :%/é"
KEY = SigningKey.generate()


def secretive(web: Web, **options: Any) -> ClientCredentials:
    """Return an authorizer with a secret."""
    return ClientCredentials("me", SECRET, fetcher=web, **options)


async def test_a_secret_is_sent_in_a_basic_header_with_resource_and_scope() -> None:
    web = Web()
    assert await admitted(secretive(web)) == bearer("token1")
    (ask,) = web.asks
    assert ask.url == f"{AS}/token"
    assert basic_of(ask) == ["me", SECRET]
    assert web.forms == [{"grant_type": "client_credentials", "resource": URL, "scope": "read"}]


async def test_a_secret_is_sent_in_the_body_where_that_alone_is_supported() -> None:
    web = Web({"token_endpoint_auth_methods_supported": ["client_secret_post"]})
    await admitted(secretive(web))
    assert "authorization" not in web.asks[0].headers
    assert web.forms[0] | {"client_id": "me", "client_secret": SECRET} == web.forms[0]


async def test_the_method_that_is_configured_is_used() -> None:
    web = Web()
    await admitted(secretive(web, auth_method="client_secret_post"))
    assert web.forms[0]["client_secret"] == SECRET


async def test_a_secret_is_not_sent_where_no_method_of_it_is_supported() -> None:
    web = Web({"token_endpoint_auth_methods_supported": ["private_key_jwt", "tls_client_auth"]})
    with pytest.raises(AuthError, match="got private_key_jwt"):
        await admitted(secretive(web))
    assert web.asks == []


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256", "EdDSA"])
async def test_a_key_signs_an_assertion_for_the_issuer(algorithm: str) -> None:
    clock, web = Clock(), Web({"token_endpoint_auth_methods_supported": ["private_key_jwt"]})
    key = SigningKey.generate(algorithm)
    auth = ClientCredentials("me", private_key=key.private_jwk(), fetcher=web, clock=clock)
    await admitted(auth)
    form = web.forms[0]
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    public = joserfc_jwk.import_key(dict(key.public_jwk))
    # Its old name; another library warns of it.
    with warnings.catch_warnings(action="ignore", category=SecurityWarning):
        token = joserfc_jwt.decode(form["client_assertion"], public, algorithms=[algorithm])
    claims = token.claims
    assert claims == {
        "iss": "me",
        "sub": "me",
        "aud": AS,
        "iat": clock.now,
        "exp": clock.now + 60,
        "jti": claims["jti"],
    }


async def test_each_assertion_has_an_id_of_its_own() -> None:
    clock, web = Clock(), Web(token={"expires_in": 60})
    auth = ClientCredentials("me", private_key=KEY, fetcher=web, clock=clock)
    await admitted(auth)
    clock.now += 60
    await auth.headers("POST", URL)
    first, second = (form["client_assertion"] for form in web.forms)
    assert first != second


async def test_an_assertion_is_not_sent_to_a_server_that_does_not_take_its_algorithm() -> None:
    web = Web({"token_endpoint_auth_signing_alg_values_supported": ["PS256"]})
    with pytest.raises(AuthError, match="does not take client assertions signed with ES256"):
        await admitted(ClientCredentials("me", private_key=KEY, fetcher=web))
    assert web.asks == []


async def test_the_scopes_of_the_program_are_asked_for_with_those_of_the_server() -> None:
    web = Web()
    await admitted(secretive(web, scopes=["mcp", "read"]))
    assert web.forms[0]["scope"] == "mcp read"


async def test_without_any_scopes_none_are_sent() -> None:
    web = Web()
    await admitted(secretive(web), **{"www-authenticate": "Bearer"})
    assert "scope" not in web.forms[0]


async def test_no_token_is_asked_for_before_the_server_asks() -> None:
    web = Web()
    assert await secretive(web).headers("POST", URL) == ()
    assert (web.asks, web.configured) == ([], [])


async def test_one_token_is_had_for_many_refused_requests() -> None:
    web = Web()
    auth = secretive(web)
    sent = await auth.headers("POST", URL)
    again = await asyncio.gather(
        *(auth.retry("POST", URL, 401, CHALLENGE, sent) for _ in range(20))
    )
    assert again == [True] * 20
    assert len(web.asks) == 1


async def test_one_refusal_of_the_authorization_server_is_shared_by_all_who_wait() -> None:
    web = Web(answer=lambda ask: refused("invalid_client", 401))
    auth = secretive(web)
    again = await asyncio.gather(
        *(auth.retry("POST", URL, 401, CHALLENGE, ()) for _ in range(20)), return_exceptions=True
    )
    assert {getattr(one, "error", one) for one in again} == {"invalid_client"}
    assert len(web.asks) == 1


async def test_a_request_that_is_cancelled_does_not_take_the_token_from_the_others() -> None:
    web = Web()
    auth = secretive(web)
    first = asyncio.create_task(auth.retry("POST", URL, 401, CHALLENGE, ()))
    second = asyncio.create_task(auth.retry("POST", URL, 401, CHALLENGE, ()))
    await asyncio.sleep(0)
    first.cancel()
    assert await second
    assert await auth.headers("POST", URL) == bearer("token1")


async def test_a_token_is_renewed_shortly_before_its_end() -> None:
    clock, web = Clock(), Web(token={"expires_in": 3600})
    auth = secretive(web, clock=clock)
    await admitted(auth)
    clock.now += 3500
    assert await auth.headers("POST", URL) == bearer("token1")
    clock.now += 90
    assert await auth.headers("POST", URL) == bearer("token2")
    assert web.forms[0] == web.forms[1]


async def test_a_token_that_was_good_is_replaced_when_it_is_refused() -> None:
    clock, web = Clock(), Web()
    auth = secretive(web, clock=clock)
    sent = await admitted(auth)
    clock.now += 60
    assert await auth.retry("POST", URL, 401, CHALLENGE, sent)
    assert await auth.headers("POST", URL) == bearer("token2")


async def test_a_request_with_a_token_of_before_is_repeated_without_another_token() -> None:
    web = Web()
    auth = secretive(web)
    await admitted(auth)
    assert await auth.retry("POST", URL, 401, CHALLENGE, bearer("older"))
    assert len(web.asks) == 1


async def test_a_server_that_refuses_every_token_is_given_up() -> None:
    web = Web()
    auth = secretive(web)
    with pytest.raises(AuthError, match="refuse"):
        await sent_again(auth, lambda number: CHALLENGE)
    assert len(web.asks) <= 3


async def test_missing_scopes_are_asked_for_once_together_with_those_of_before() -> None:
    web = Web()
    auth = secretive(web)
    sent = await admitted(auth)
    more = {"www-authenticate": 'Bearer error="insufficient_scope", scope="write"'}
    assert await auth.retry("POST", URL, 403, more, sent)
    assert set(web.forms[1]["scope"].split()) == {"read", "write"}


async def test_a_scope_that_was_asked_for_and_not_granted_is_not_asked_for_again() -> None:
    clock, web = Clock(), Web()
    auth = secretive(web, clock=clock)
    sent = await admitted(auth)
    clock.now += 60
    same = {"www-authenticate": 'Bearer error="insufficient_scope", scope="read"'}
    with pytest.raises(AuthError) as caught:
        await auth.retry("POST", URL, 403, same, sent)
    assert caught.value.error == "insufficient_scope"
    assert len(web.asks) == 1


async def test_a_refusal_that_is_not_about_scopes_is_left_to_the_caller() -> None:
    web = Web()
    auth = secretive(web)
    sent = await admitted(auth)
    assert not await auth.retry("POST", URL, 403, {}, sent)
    assert len(web.asks) == 1


async def test_a_secret_does_not_follow_the_server_to_another_authorization_server() -> None:
    web = Web()
    auth = secretive(web)
    sent = await admitted(auth)
    web.issuer = "https://evil.example"
    with pytest.raises(AuthError, match="another authorization server"):
        await auth.retry("POST", URL, 401, CHALLENGE, sent)
    assert [ask.url for ask in web.asks] == [f"{AS}/token"]


async def test_a_secret_goes_to_the_configured_issuer_alone() -> None:
    web = Web()
    with pytest.raises(AuthError, match="another authorization server"):
        await admitted(secretive(web, issuer="https://other.example"))
    assert web.asks == []
    assert await admitted(secretive(web, issuer=AS)) == bearer("token1")


async def test_a_token_is_not_sent_to_another_server() -> None:
    web = Web()
    auth = secretive(web)
    await admitted(auth)
    with pytest.raises(UsageError, match="for each server"):
        await auth.headers("POST", "https://other.example/mcp")
    assert await auth.headers("POST", f"{URL}/messages") == bearer("token1")


async def test_the_identity_is_that_of_the_client_at_its_authorization_server() -> None:
    web = Web()
    auth = secretive(web)
    assert auth.identity is None
    await admitted(auth)
    other = ClientCredentials("you", SECRET, fetcher=Web())
    await admitted(other)
    assert auth.identity not in (None, other.identity)


async def test_a_fetcher_that_is_given_stays_open_for_others() -> None:
    web = Web()
    auth = secretive(web)
    await admitted(auth)
    await auth.aclose()
    assert not web.closed


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "needs client_secret or private_key"),
        ({"client_secret": "s", "private_key": KEY}, "not both"),
        ({"client_secret": "s", "algorithm": "ES256"}, "give the key"),
        ({"client_secret": "s", "auth_method": "private_key_jwt"}, "needs private_key"),
        ({"private_key": KEY, "auth_method": "client_secret_basic"}, "needs client_secret"),
        ({"client_secret": "s", "auth_method": "none"}, "has neither"),
        ({"client_secret": "s", "auth_method": "tls_client_auth"}, "unknown auth_method"),
        ({"client_secret": "s", "client_id": ""}, "expected the id"),
        ({"client_secret": "s", "scopes": "a b"}, "expected a list of scopes"),
        ({"private_key": KEY, "algorithm": "RS256"}, "does not sign with RS256"),
    ],
)
def test_credentials_that_do_not_fit_together_are_refused(
    options: dict[str, Any], told: str
) -> None:
    whole: dict[str, Any] = {"client_id": "me", **options}
    with pytest.raises(UsageError, match=told):
        ClientCredentials(**whole)


async def test_no_secret_is_in_a_repr_or_in_an_error() -> None:
    def echo(ask: HttpAsk) -> HttpAnswer:
        return HttpAnswer(400, {}, b'{"error":"invalid_client","error_description":"' + b'x"}')

    web = Web(answer=echo)
    auth = secretive(web)
    with pytest.raises(AuthError) as caught:
        await admitted(auth)
    shown = f"{auth!r} {auth} {caught.value} {caught.value!r} {web.asks!r} {auth.__dict__!r}"
    assert SECRET not in shown
    keyed = ClientCredentials("me", private_key=KEY, fetcher=Web())
    assert KEY.private_jwk()["d"] not in f"{keyed!r} {keyed.__dict__!r}"
