"""DPoP asks for bound tokens, proves the key with each request, and uses the servers' nonces."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from mcp_gen.auth.client.client_credentials import ClientCredentials
from mcp_gen.auth.client.dpop import DPoP
from mcp_gen.auth.client.workload import WorkloadIdentity
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk
from mcp_gen.auth.proofs.checking import check_proof
from mcp_gen.auth.proofs.keys import SigningKey
from mcp_gen.auth.proofs.seen_proofs import SeenProofs
from mcp_gen.core.errors import AuthError, UsageError
from mcp_gen.core.transport.protocols import Lines
from tests.auth.client.scripted import (
    AS,
    CHALLENGE,
    URL,
    Clock,
    Web,
    admitted,
    bearer,
    claims_of,
    refused,
    sent_again,
)

KEY = SigningKey.generate()
CLOCK = Clock()
PROVING = {"dpop_signing_alg_values_supported": ["ES256"]}
BOUND = {"token_type": "DPoP"}
NONCE_WANTED = {"www-authenticate": 'DPoP error="use_dpop_nonce"'}


def bound(web: Web, **options: Any) -> DPoP:
    """Return an authorizer with DPoP around a secret."""
    inner = ClientCredentials("me", "secret", fetcher=web, clock=CLOCK)
    whole: dict[str, Any] = {"key": KEY, "clock": CLOCK, **options}
    return DPoP(inner, **whole)


def proof_in(lines: Lines) -> str:
    """Return the proof of header lines."""
    (found,) = (value.decode() for name, value in lines if name == b"dpop")
    return found


def nonce_in(lines: Lines) -> str | None:
    """Return the nonce in the proof of header lines."""
    found: str | None = claims_of(proof_in(lines)).get("nonce")
    return found


async def test_the_token_endpoint_and_the_server_get_a_valid_proof() -> None:
    web = Web(PROVING, BOUND)
    seen = SeenProofs()
    lines = await admitted(bound(web))
    check_proof(
        web.asks[0].headers["dpop"], method="POST", url=f"{AS}/token", now=CLOCK.now, seen=seen
    )
    assert lines[0] == (b"authorization", b"DPoP token1")
    check_proof(
        proof_in(lines),
        method="POST",
        url=URL,
        now=CLOCK.now,
        access_token="token1",
        thumbprint=KEY.thumbprint,
        seen=seen,
    )


async def test_each_request_has_a_proof_of_its_own() -> None:
    auth = bound(Web(PROVING, BOUND))
    await admitted(auth)
    first = await auth.headers("GET", f"{URL}?a=b#c")
    second = await auth.headers("GET", f"{URL}?a=b#c")
    assert first[0] == second[0]
    assert claims_of(proof_in(first))["htu"] == URL
    seen = SeenProofs()
    for lines in (first, second):
        check_proof(proof_in(lines), method="GET", url=URL, now=CLOCK.now, seen=seen)


async def test_a_request_without_a_token_has_no_proof() -> None:
    assert await bound(Web()).headers("POST", URL) == ()


async def test_a_nonce_that_the_token_endpoint_asks_for_is_used_and_kept() -> None:
    def demand(ask: HttpAsk) -> HttpAnswer | None:
        if claims_of(ask.headers["dpop"]).get("nonce") == "n1":
            return None
        return refused("use_dpop_nonce", headers={"dpop-nonce": "n1"})

    web = Web(PROVING, BOUND, demand)
    auth = bound(web)
    sent = await admitted(auth)
    assert [claims_of(ask.headers["dpop"]).get("nonce") for ask in web.asks] == [None, "n1"]
    CLOCK.now += 60
    assert await auth.retry("POST", URL, 401, CHALLENGE, sent)
    assert len(web.asks) == 3
    assert nonce_in(sent) is None


async def test_a_token_endpoint_that_refuses_its_own_nonces_is_given_up() -> None:
    def demand(ask: HttpAsk) -> HttpAnswer:
        return refused("use_dpop_nonce", headers={"dpop-nonce": f"n{len(web.asks)}"})

    web = Web(PROVING, BOUND, demand)
    with pytest.raises(AuthError) as caught:
        await admitted(bound(web))
    assert caught.value.error == "use_dpop_nonce"
    assert len(web.asks) <= 4


async def test_a_nonce_that_the_server_asks_for_is_used_without_another_token() -> None:
    web = Web(PROVING, BOUND)
    auth = bound(web)
    sent = await admitted(auth)
    wanted = {**NONCE_WANTED, "dpop-nonce": "r1"}
    auth.responded(URL, wanted)
    assert await auth.retry("POST", URL, 401, wanted, sent)
    assert nonce_in(await auth.headers("POST", URL)) == "r1"
    assert len(web.asks) == 1


async def test_a_nonce_of_a_successful_response_replaces_the_one_before() -> None:
    auth = bound(Web(PROVING, BOUND))
    await admitted(auth)
    for nonce in ("r1", "r2"):
        auth.responded(URL, {"dpop-nonce": nonce})
        assert nonce_in(await auth.headers("POST", URL)) == nonce


async def test_nonces_of_the_server_and_of_the_authorization_server_are_kept_apart() -> None:
    inner = ClientCredentials("me", "secret", fetcher=(web := Web(PROVING, BOUND)), clock=CLOCK)
    auth = DPoP(inner, KEY, clock=CLOCK)
    sent = await admitted(auth)
    auth.responded(URL, {"dpop-nonce": "r1"})
    auth.responded(f"{AS}/mcp", {"dpop-nonce": "r2"})
    CLOCK.now += 60
    assert await auth.retry("POST", URL, 401, CHALLENGE, sent)
    assert "nonce" not in claims_of(web.asks[1].headers["dpop"])


@pytest.mark.parametrize("nonce", ["", "a b", 'a"b', "a\\b", "é", "x" * 1025])
async def test_what_is_no_nonce_is_not_kept(nonce: str) -> None:
    auth = bound(Web(PROVING, BOUND))
    await admitted(auth)
    auth.responded(URL, {"dpop-nonce": nonce})
    assert nonce_in(await auth.headers("POST", URL)) is None


async def test_requests_that_were_refused_together_are_all_repeated() -> None:
    auth = bound(Web(PROVING, BOUND))
    await admitted(auth)
    sent = [await auth.headers("POST", URL) for _ in range(10)]
    wanted = {**NONCE_WANTED, "dpop-nonce": "r1"}
    for lines in sent:
        auth.responded(URL, wanted)
        assert await auth.retry("POST", URL, 401, wanted, lines)


async def test_a_server_that_refuses_its_own_nonces_is_given_up() -> None:
    auth = bound(Web(PROVING, BOUND))
    await admitted(auth)
    given: list[str] = []

    def another(number: int) -> Mapping[str, str]:
        given.append(f"r{number}")
        return {**NONCE_WANTED, "dpop-nonce": given[-1]}

    with pytest.raises(AuthError, match="refuses the DPoP nonces"):
        await sent_again(auth, another)
    assert len(given) < 6


async def test_a_server_that_asks_for_a_nonce_and_gives_none_is_given_up() -> None:
    auth = bound(Web(PROVING, BOUND))
    sent = await admitted(auth)
    with pytest.raises(AuthError, match="refuses the DPoP nonces"):
        await auth.retry("POST", URL, 401, NONCE_WANTED, sent)


async def test_a_refused_proof_is_an_error_and_no_reason_for_another_token() -> None:
    web = Web(PROVING, BOUND)
    auth = bound(web)
    sent = await admitted(auth)
    challenge = {"www-authenticate": 'DPoP error="invalid_dpop_proof"'}
    with pytest.raises(AuthError, match="check the clock"):
        await auth.retry("POST", URL, 401, challenge, sent)
    assert len(web.asks) == 1


async def test_a_refused_token_is_replaced_by_one_for_the_same_key() -> None:
    web = Web(PROVING, BOUND)
    auth = bound(web)
    sent = await admitted(auth)
    challenge = {"www-authenticate": 'DPoP error="invalid_token"'}
    CLOCK.now += 60
    assert await auth.retry("POST", URL, 401, challenge, sent)
    lines = await auth.headers("POST", URL)
    assert lines[0] == (b"authorization", b"DPoP token2")
    proofs = [ask.headers["dpop"] for ask in web.asks]
    keys = {
        check_proof(one, method="POST", url=f"{AS}/token", now=CLOCK.now, window_s=90).thumbprint
        for one in proofs
    }
    assert keys == {KEY.thumbprint}


async def test_a_bearer_token_is_refused_where_dpop_is_promised() -> None:
    with pytest.raises(AuthError, match="issued a bearer token"):
        await admitted(bound(Web(PROVING)))


async def test_a_bearer_token_is_used_where_dpop_is_unknown_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    auth = bound(Web())
    with caplog.at_level(logging.WARNING, "mcp_gen.auth"):
        assert await admitted(auth) == bearer("token1")
        await auth.headers("POST", URL)
    (record,) = caplog.records
    assert "bearer token" in record.getMessage()
    assert "token1" not in caplog.text


async def test_a_bound_token_is_used_where_dpop_is_not_promised() -> None:
    lines = await admitted(bound(Web(token=BOUND)))
    assert lines[0] == (b"authorization", b"DPoP token1")


async def test_a_bound_token_is_refused_without_dpop() -> None:
    with pytest.raises(AuthError, match=r"use `DPoP\(...\)`"):
        await admitted(ClientCredentials("me", "secret", fetcher=Web(PROVING, BOUND)))


async def test_nothing_is_sent_where_the_algorithm_is_not_supported() -> None:
    web = Web({"dpop_signing_alg_values_supported": ["EdDSA"]}, BOUND)
    with pytest.raises(AuthError, match=r"signed with ES256: expected one of EdDSA"):
        await admitted(bound(web))
    assert web.asks == []
    auth = bound(web, key=None, algorithm="EdDSA")
    assert (await admitted(auth))[0] == (b"authorization", b"DPoP token1")


async def test_a_key_is_made_where_none_is_given_and_stays_the_same() -> None:
    def thumbprint(lines: Lines) -> str:
        return check_proof(proof_in(lines), method="POST", url=URL, now=CLOCK.now).thumbprint

    auth = bound(Web(PROVING, BOUND), key=None)
    first = thumbprint(await admitted(auth))
    assert first == thumbprint(await auth.headers("POST", URL)) != KEY.thumbprint


async def test_it_goes_around_other_grants_too() -> None:
    web = Web(PROVING, BOUND)
    inner = WorkloadIdentity("me", "e30.e30.AA", fetcher=web, clock=CLOCK)
    assert (await admitted(DPoP(inner, KEY, clock=CLOCK)))[0][1] == b"DPoP token1"


class _Closing(ClientCredentials):
    """An authorizer that says if it was closed."""

    closed = False

    async def aclose(self) -> None:
        self.closed = True


async def test_identity_and_closing_are_those_of_the_inner_one() -> None:
    inner = _Closing("me", "secret", fetcher=Web(PROVING, BOUND))
    async with DPoP(inner, KEY) as auth:
        assert auth.identity is None
        await admitted(auth)
        assert auth.identity == inner.identity
        assert not inner.closed
    assert inner.closed


class _Other:
    """Something that is no authorizer."""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"auth": _Other()}, "expected an authorizer"),
        ({"algorithm": "HS256"}, "unknown algorithm"),
        ({"key": "no key"}, "cannot be read"),
        ({"key": KEY.public_jwk}, "give the private key"),
    ],
)
def test_what_cannot_be_used_is_refused(options: Mapping[str, Any], told: str) -> None:
    inner = ClientCredentials("me", "secret", fetcher=Web())
    whole: dict[str, Any] = {"auth": inner, **options}
    with pytest.raises(UsageError, match=told):
        DPoP(**whole)


async def test_the_key_is_in_no_repr() -> None:
    auth = bound(Web(PROVING, BOUND))
    await admitted(auth)
    assert KEY.private_jwk()["d"] not in f"{auth!r} {auth.__dict__!r}"
