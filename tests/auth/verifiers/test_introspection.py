"""Introspection: what the issuer says of a token, and what happens when it says nothing."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from mcp_gen import UsageError
from mcp_gen.auth import IntrospectionVerifier, InvalidToken, ResourceServer, VerifierUnavailable
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.server.requests import (
    ISSUER,
    NOW,
    RESOURCE,
    Clock,
    admitted,
    bearer,
    challenges,
    refused,
)
from tests.auth.verifiers.issuers import METADATA_URL, Documents

ENDPOINT = f"{ISSUER}/introspect"
TOKEN = "opaque-token"
SECRET = "secret-of-files"


def response(**more: Any) -> dict[str, Any]:
    found = {
        "active": True,
        "iss": ISSUER,
        "sub": "alice",
        "client_id": "app",
        "aud": RESOURCE,
        "scope": "mcp",
        "exp": NOW + 600,
        "token_type": "Bearer",
    } | more
    return {name: value for name, value in found.items() if value is not None}


def endpoint(said: Any = None, **answer: Any) -> Documents:
    documents = Documents()
    documents.put(METADATA_URL, {"issuer": ISSUER, "introspection_endpoint": ENDPOINT})
    documents.put(ENDPOINT, response() if said is None else said, **answer)
    return documents


def verifier(documents: Documents, **options: Any) -> IntrospectionVerifier:
    if "private_key" not in options:
        options.setdefault("client_secret", SECRET)
    return IntrospectionVerifier(
        ISSUER,
        client_id="files",
        endpoint=options.pop("endpoint", ENDPOINT),
        fetcher=documents,
        clock=options.pop("clock", Clock()),
        **options,
    )


def gate(documents: Documents, clock: Clock | None = None, **options: Any) -> ResourceServer:
    clock = clock or Clock()
    return ResourceServer(
        ISSUER,
        audience=RESOURCE,
        verifier=verifier(documents, clock=clock, **options),
        clock=clock,
    )


def form(documents: Documents) -> dict[str, list[str]]:
    return parse_qs((documents.asked[-1].body or b"").decode())


async def test_an_active_token_says_who_calls_for_which_client_with_which_scopes() -> None:
    found = await verifier(endpoint()).verify(TOKEN)
    assert found is not None
    assert (found.issuer, found.subject, found.client_id) == (ISSUER, "alice", "app")
    assert (set(found.scopes), found.expires_at, found.raw()) == ({"mcp"}, NOW + 600, TOKEN)


# --- the request ---


async def test_the_token_is_sent_in_a_form_with_the_credentials_of_the_server() -> None:
    documents = endpoint()
    await verifier(documents).verify(TOKEN)
    (asked,) = documents.asked
    assert (asked.method, asked.url) == ("POST", ENDPOINT)
    assert form(documents) == {"token": [TOKEN], "token_type_hint": ["access_token"]}
    basic = base64.b64encode(f"files:{SECRET}".encode()).decode()
    assert asked.headers["authorization"] == f"Basic {basic}"
    assert documents.configured == [ENDPOINT]


async def test_the_secret_is_sent_in_the_form_if_the_issuer_wants_it_there() -> None:
    documents = endpoint()
    await verifier(documents, auth_method="client_secret_post").verify(TOKEN)
    assert form(documents)["client_secret"] == [SECRET]
    assert "authorization" not in documents.asked[0].headers


async def test_a_key_signs_an_assertion_for_the_issuer_in_place_of_a_secret() -> None:
    key = ECKey.generate_key("P-256", {"kid": "one"})
    documents = endpoint()
    await verifier(documents, private_key=key.as_dict(private=True)).verify(TOKEN)
    sent = form(documents)
    assertion = jwt.decode(sent["client_assertion"][0], key)
    assert assertion.claims["aud"] == ISSUER
    assert (assertion.claims["iss"], assertion.claims["sub"]) == ("files", "files")
    assert "client_secret" not in sent


async def test_the_endpoint_is_found_in_the_metadata_of_the_issuer() -> None:
    documents = endpoint()
    await verifier(documents, endpoint=None).verify(TOKEN)
    assert [one.url for one in documents.asked] == [METADATA_URL, ENDPOINT]
    assert documents.configured == [ISSUER]


# --- the response ---


async def test_a_token_that_is_not_active_is_refused_with_401() -> None:
    found = await refused(gate(endpoint({"active": False})), bearer(TOKEN))
    assert found.status == 401
    assert 'error="invalid_token"' in challenges(found)[0]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"iss": "https://other.example.com"}, "another authorization server"),
        ({"aud": None}, "no audience"),
        ({"aud": []}, "no audience"),
        ({"exp": NOW - 30}, "expired"),
        ({"nbf": NOW + 31}, "nbf"),
        ({"iat": NOW + 31}, "iat"),
        ({"exp": "soon"}, "not a time"),
        ({"token_type": "refresh_token"}, "not an access token"),
        ({"token_use": "refresh_token"}, "not an access token"),
        ({"token_use": "id"}, "not an access token"),
        ({"typ": "Refresh"}, "not an access token"),
        ({"typ": "ID"}, "not an access token"),
        ({"typ": ["Bearer"]}, "not an access token"),
        ({"cnf": {"x5t#S256": "a"}}, "kind of key"),
    ],
)
async def test_an_active_token_that_is_not_one_for_access_here_and_now_is_refused(
    changed: Mapping[str, Any], why: str
) -> None:
    with pytest.raises(InvalidToken, match=why):
        await verifier(endpoint(response(**changed))).verify(TOKEN)


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": None},
        {"exp": None},
        {"exp": NOW - 29},
        {"token_type": None},
        {"token_type": "bearer"},
        {"token_use": "access_token", "typ": "Bearer"},
    ],
)
async def test_an_active_token_that_is_just_so_is_accepted(changed: Mapping[str, Any]) -> None:
    found = await verifier(endpoint(response(**changed))).verify(TOKEN)
    assert found is not None
    assert found.issuer == ISSUER


async def test_a_token_for_another_audience_is_refused_by_the_gate() -> None:
    server = gate(endpoint(response(aud=["https://other.example.com"])))
    assert (await refused(server, bearer(TOKEN))).status == 401
    await admitted(gate(endpoint(response(aud=["https://x.example", RESOURCE]))), bearer(TOKEN))


async def test_access_tokens_without_audience_are_accepted_if_the_operator_says_so() -> None:
    assert (await refused(gate(endpoint(response(aud=None))), bearer(TOKEN))).status == 401
    await admitted(gate(endpoint(response(aud=None)), needs_audience=False), bearer(TOKEN))
    for more in ({"aud": "https://x.example"}, {"aud": None, "token_type": None}):
        wrong = gate(endpoint(response(**more)), needs_audience=False)
        assert (await refused(wrong, bearer(TOKEN))).status == 401


# --- what is remembered ---


async def test_an_active_token_is_asked_about_once_in_thirty_seconds() -> None:
    documents, clock = endpoint(), Clock()
    server = gate(documents, clock)
    for _ in range(3):
        await admitted(server, bearer(TOKEN))
    assert documents.count(ENDPOINT) == 1
    clock.now += 30
    documents.put(ENDPOINT, {"active": False})
    assert (await refused(server, bearer(TOKEN))).status == 401
    assert documents.count(ENDPOINT) == 2


async def test_an_active_token_is_not_remembered_past_its_end() -> None:
    documents, clock = endpoint(response(exp=NOW + 5)), Clock()
    server = gate(documents, clock)
    await admitted(server, bearer(TOKEN))
    clock.now += 5
    await admitted(server, bearer(TOKEN))
    assert documents.count(ENDPOINT) == 2


async def test_a_token_that_is_not_active_is_asked_about_once_in_ten_seconds() -> None:
    documents, clock = endpoint({"active": False}), Clock()
    server = gate(documents, clock)
    for _ in range(3):
        await refused(server, bearer(TOKEN))
    assert documents.count(ENDPOINT) == 1
    clock.now += 10
    await refused(server, bearer(TOKEN))
    assert documents.count(ENDPOINT) == 2


# --- no answer ---


@pytest.mark.parametrize(
    "failure",
    [TransportError("no answer"), AuthError("10.0.0.1 is a private address")],
)
async def test_an_endpoint_that_cannot_be_asked_is_503_and_not_401(failure: Exception) -> None:
    documents = endpoint()
    documents.table[ENDPOINT] = failure
    found = await refused(gate(documents), bearer(TOKEN))
    assert (found.status, found.headers) == (503, [(b"retry-after", b"5")])


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 429, 500, 503])
async def test_a_status_that_is_no_success_is_503(status: int) -> None:
    found = await refused(gate(endpoint(status=status)), bearer(TOKEN))
    assert found.status == 503


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_refusal_of_the_endpoint_tells_the_operator_what_to_check(status: int) -> None:
    with pytest.raises(VerifierUnavailable, match="check the client_id"):
        await verifier(endpoint(status=status)).verify(TOKEN)


@pytest.mark.parametrize(
    "said",
    [b"", b"<html>", b"\xff", b"[" * 5000, [], {}, {"active": "true"}, {"active": 1}],
)
async def test_a_response_that_says_not_whether_the_token_is_active_is_503(said: Any) -> None:
    found = await refused(gate(endpoint(said)), bearer(TOKEN))
    assert found.status == 503


@pytest.mark.parametrize(
    ("header", "told"), [("7", b"7"), ("0", b"1"), ("99999", b"300"), ("soon", b"5"), ("-1", b"5")]
)
async def test_the_time_to_retry_is_passed_on_within_bounds(header: str, told: bytes) -> None:
    found = await refused(gate(endpoint(status=503, retry_after=header)), bearer(TOKEN))
    assert found.headers == [(b"retry-after", told)]


async def test_metadata_without_an_endpoint_is_503_and_tells_the_operator() -> None:
    documents = endpoint()
    documents.put(METADATA_URL, {"issuer": ISSUER})
    with pytest.raises(VerifierUnavailable, match="give `endpoint`"):
        await verifier(documents, endpoint=None).verify(TOKEN)


async def test_no_more_requests_run_at_once_than_the_limit() -> None:
    documents = endpoint()
    held = documents.hold()
    one = verifier(documents, max_running=1)
    first = asyncio.create_task(one.verify(TOKEN))
    await held.reached.wait()
    with pytest.raises(VerifierUnavailable, match="too many"):
        await one.verify("another-token")
    held.released.set()
    assert await first is not None
    assert await one.verify("another-token") is not None


async def test_a_request_that_is_cancelled_leaves_its_place() -> None:
    documents = endpoint()
    held = documents.hold()
    one = verifier(documents, max_running=1)
    first = asyncio.create_task(one.verify(TOKEN))
    await held.reached.wait()
    first.cancel()
    await asyncio.wait([first])
    held.released.set()
    assert await one.verify(TOKEN) is not None


# --- options ---


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"client_secret": None}, "either client_secret or private_key"),
        ({"private_key": "x", "client_secret": SECRET}, "either client_secret or private_key"),
        ({"auth_method": "none"}, "auth_method"),
        ({"auth_method": "private_key_jwt"}, "auth_method"),
        ({"endpoint": "http://login.example.com/x"}, "loopback alone"),
        ({"max_running": 0}, "1 or more"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        verifier(endpoint(), **options)


async def test_reprs_and_errors_show_neither_token_nor_secret() -> None:
    documents = endpoint(status=401)
    one = verifier(documents)
    with pytest.raises(VerifierUnavailable) as caught:
        await one.verify(TOKEN)
    shown = repr([one, caught.value, documents.asked])
    assert SECRET not in shown
    assert TOKEN not in shown
