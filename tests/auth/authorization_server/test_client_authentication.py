"""Client authentication at the example authorization server."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

import httpx2
import msgspec
import pytest

from examples.oauth.authorization_server import Client, Document
from examples.oauth.authorization_server.client_authentication import ASSERTION_TYPE
from tests.auth.authorization_server.signing import Signer
from tests.auth.authorization_server.visitor import (
    ISSUER,
    Visitor,
    given,
    refusal,
    visiting,
)

TOKEN_URL = f"{ISSUER}/token"
REFUSED = (401, "invalid_client")
SECRET = "s3cret: with / and +"
GRANTS = frozenset({"client_credentials"})


def basic(name: str, secret: str) -> dict[str, str]:
    """Return the header of client_secret_basic."""
    encoded = b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode()).decode()
    return {"authorization": f"Basic {encoded}"}


async def ask(
    visitor: Visitor, headers: Mapping[str, str] | None = None, /, **form: str
) -> httpx2.Response:
    """Ask for a token of client credentials."""
    sent = {"grant_type": "client_credentials", **form}
    return await visitor.http.post(TOKEN_URL, data=sent, headers=headers)


def with_secret(visitor: Visitor, method: str) -> Client:
    client = Client(client_id="service", secret=SECRET, auth_method=method, grant_types=GRANTS)
    return visitor.server.clients.add(client)


def with_key(visitor: Visitor, signer: Signer, **more: Any) -> Client:
    known: dict[str, Any] = {"jwks": signer.jwks, **more}
    client = Client(client_id="service", auth_method="private_key_jwt", grant_types=GRANTS, **known)
    return visitor.server.clients.add(client)


def asserted(assertion: str) -> dict[str, str]:
    return {"client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}


async def test_a_secret_is_taken_in_the_header() -> None:
    async with visiting() as visitor:
        with_secret(visitor, "client_secret_basic")
        tokens = given(await ask(visitor, basic("service", SECRET), scope="files"))
        claims = await visitor.claims(tokens["access_token"])
    assert (claims["sub"], claims["client_id"]) == ("service", "service")
    assert tokens.keys() == {"access_token", "token_type", "expires_in", "scope"}


async def test_a_secret_is_taken_in_the_form() -> None:
    async with visiting() as visitor:
        with_secret(visitor, "client_secret_post")
        response = await ask(visitor, client_id="service", client_secret=SECRET)
    assert given(response)["token_type"] == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        basic("service", "wrong"),
        basic("nobody", SECRET),
        {"authorization": "Basic not-base64!"},
        {"authorization": f"Basic {b64encode(b'service').decode()}"},
        {"authorization": basic("service", SECRET)["authorization"].replace("Basic", "Bearer")},
    ],
)
async def test_a_header_that_is_wrong_is_refused(headers: dict[str, str]) -> None:
    async with visiting() as visitor:
        with_secret(visitor, "client_secret_basic")
        assert refusal(await ask(visitor, headers)) == REFUSED


async def test_a_wrong_secret_in_the_header_is_told_the_scheme() -> None:
    async with visiting() as visitor:
        with_secret(visitor, "client_secret_basic")
        response = await ask(visitor, basic("service", "wrong"))
    assert response.headers["www-authenticate"] == f'Basic realm="{ISSUER}"'


@pytest.mark.parametrize(
    ("registered", "form"),
    [
        ("client_secret_basic", {"client_id": "service", "client_secret": SECRET}),
        ("client_secret_basic", {"client_id": "service"}),
        ("client_secret_post", {"client_id": "service"}),
        ("client_secret_post", {"client_id": "service", "client_secret": "wrong"}),
        ("client_secret_post", {}),
    ],
)
async def test_another_method_than_the_registered_one_is_refused(
    registered: str, form: dict[str, str]
) -> None:
    async with visiting() as visitor:
        with_secret(visitor, registered)
        assert refusal(await ask(visitor, **form)) == REFUSED


@pytest.mark.parametrize(
    "form", [{"client_id": "service", "client_secret": SECRET}, {"client_id": "other"}]
)
async def test_two_methods_or_two_clients_in_one_request_are_refused(form: dict[str, str]) -> None:
    async with visiting() as visitor:
        with_secret(visitor, "client_secret_basic")
        response = await ask(visitor, basic("service", SECRET), **form)
    assert refusal(response) == (400, "invalid_request")


async def test_a_method_that_was_switched_off_is_refused() -> None:
    async with visiting(token_endpoint_auth_methods=("none",)) as visitor:
        with_secret(visitor, "client_secret_basic")
        assert refusal(await ask(visitor, basic("service", SECRET))) == REFUSED


async def test_a_public_client_gets_no_token_for_itself() -> None:
    async with visiting() as visitor:
        visitor.server.clients.add(Client(client_id="service", grant_types=GRANTS))
        response = await ask(visitor, client_id="service")
    assert refusal(response) == (400, "unauthorized_client")


@pytest.mark.parametrize("audience", [ISSUER, TOKEN_URL, [ISSUER, "https://other.example"]])
async def test_an_assertion_is_taken_for_this_server(audience: str | list[str]) -> None:
    signer = Signer()
    async with visiting() as visitor:
        with_key(visitor, signer)
        now = visitor.clock()
        assertion = signer.assertion(now, iss="service", sub="service", aud=audience)
        assert given(await ask(visitor, **asserted(assertion)))["token_type"] == "Bearer"


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://other.example"},
        {"aud": None},
        {"iss": "other"},
        {"sub": "app"},
        {"exp": 1},
        {"exp": None},
        {"exp": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"nbf": 4_000_000_000},
        {"jti": None},
    ],
)
async def test_an_assertion_with_a_wrong_claim_is_refused(claims: dict[str, Any]) -> None:
    signer = Signer()
    async with visiting() as visitor:
        with_key(visitor, signer)
        right = {"iss": "service", "sub": "service", "aud": ISSUER}
        assertion = signer.assertion(visitor.clock(), **{**right, **claims})
        assert refusal(await ask(visitor, **asserted(assertion))) == REFUSED


async def test_an_assertion_of_another_key_is_refused() -> None:
    async with visiting() as visitor:
        with_key(visitor, Signer())
        right = {"iss": "service", "sub": "service", "aud": ISSUER}
        assertion = Signer().assertion(visitor.clock(), **right)
        assert refusal(await ask(visitor, **asserted(assertion))) == REFUSED


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
async def test_an_assertion_without_a_private_key_behind_it_is_refused(algorithm: str) -> None:
    signer = Signer()
    async with visiting() as visitor:
        with_key(visitor, signer)
        right = {"iss": "service", "sub": "service", "aud": ISSUER}
        parts = signer.assertion(visitor.clock(), **right).split(".")
        header = b64encode(f'{{"alg":"{algorithm}"}}'.encode()).decode().rstrip("=")
        forged = f"{header}.{parts[1]}.{'' if algorithm == 'none' else parts[2]}"
        assert refusal(await ask(visitor, **asserted(forged))) == REFUSED


async def test_an_assertion_is_taken_once() -> None:
    signer = Signer()
    async with visiting() as visitor:
        with_key(visitor, signer)
        right = {"iss": "service", "sub": "service", "aud": ISSUER}
        form = asserted(signer.assertion(visitor.clock(), **right))
        first, second = [await ask(visitor, **form) for _ in range(2)]
    assert (first.status_code, refusal(second)) == (200, REFUSED)


async def test_a_memory_that_is_full_takes_no_more_assertions() -> None:
    signer = Signer()
    async with visiting(max_held=1) as visitor:
        with_key(visitor, signer)
        right = {"iss": "service", "sub": "service", "aud": ISSUER}
        found: list[int] = []
        for _ in range(2):
            assertion = signer.assertion(visitor.clock(), **right)
            found.append((await ask(visitor, **asserted(assertion))).status_code)
        visitor.clock.now += 4000
        assertion = signer.assertion(visitor.clock(), **right)
        found.append((await ask(visitor, **asserted(assertion))).status_code)
    assert found == [200, 503, 200]


@pytest.mark.parametrize(
    "form",
    [
        {"client_assertion_type": ASSERTION_TYPE},
        {"client_assertion_type": "saml", "client_assertion": "x"},
        {"client_assertion": "x"},
    ],
)
async def test_half_an_assertion_is_no_request(form: dict[str, str]) -> None:
    async with visiting() as visitor:
        assert refusal(await ask(visitor, **form)) == (400, "invalid_request")


async def test_keys_of_a_client_are_fetched_from_its_jwks_uri() -> None:
    signer = Signer()
    asked: list[str] = []

    async def fetch(url: str) -> Document:
        asked.append(url)
        return Document(
            200, "application/jwk-set+json", httpx2.Request("POST", url, json=signer.jwks).content
        )

    async with visiting(fetch=fetch) as visitor:
        with_key(visitor, signer, jwks=None, jwks_uri="https://app.example/keys")
        right = {"iss": "service", "sub": "service", "aud": ISSUER}
        response = await ask(visitor, **asserted(signer.assertion(visitor.clock(), **right)))
    assert (response.status_code, asked) == (200, ["https://app.example/keys"])


@pytest.mark.parametrize(
    ("uri", "changed"),
    [
        ("http://app.example/keys", {}),
        ("https://app.example/keys", {"status": 404}),
        ("https://app.example/keys", {"content_type": "text/html"}),
        ("https://app.example/keys", {"body": b"{"}),
        ("https://app.example/keys", {"body": b"[]"}),
        ("https://app.example/keys", {"body": "padded"}),
        ("https://app.example/keys", None),
    ],
)
async def test_a_key_set_that_cannot_be_used_is_refused(
    uri: str, changed: dict[str, Any] | None
) -> None:
    signer = Signer()
    document = Document(200, "application/json", msgspec.json.encode(signer.jwks))

    async def fetch(url: str) -> Document:
        if changed is None:
            raise OSError("no answer")
        if changed.get("body") == "padded":
            return document._replace(body=document.body + b" " * 5120)
        return document._replace(**changed)

    async with visiting(fetch=fetch) as visitor:
        with_key(visitor, signer, jwks=None, jwks_uri=uri)
        right = {"iss": "service", "sub": "service", "aud": ISSUER}
        response = await ask(visitor, **asserted(signer.assertion(visitor.clock(), **right)))
    assert refusal(response) == REFUSED
