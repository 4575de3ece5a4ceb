"""Keys of issuers: found, kept as long as is told, rotated, and missed when they are not there."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mcp_gen.auth import InvalidToken, ResourceServer, VerifierUnavailable
from mcp_gen.auth.verifiers.issuer_keys import KeyTimes
from mcp_gen.auth.verifiers.jwt_verifier import JwtVerifier
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.server.requests import (
    ISSUER,
    NOW,
    RESOURCE,
    Clock,
    admitted,
    bearer,
    refused,
)
from tests.auth.verifiers.issuers import (
    JWKS_URL,
    METADATA_URL,
    Documents,
    claims,
    ec_key,
    public,
    sign,
)

ONE = ec_key("one")
TWO = ec_key("two")
LATER = claims(exp=NOW + 10**6)


class Issuer:
    """A verifier, its clock, and the documents of its issuer."""

    def __init__(self, *keys: Any, **options: Any) -> None:
        self.clock = Clock()
        self.documents = Documents()
        self.documents.publish(*(keys or (ONE,)))
        self.verifier = JwtVerifier(
            ISSUER, fetcher=self.documents, clock=self.clock, times=KeyTimes(), **options
        )

    def rotate(self, *keys: Any, **headers: str) -> None:
        self.documents.publish(*keys, **headers)

    async def accepts(self, key: Any, kid: str) -> bool:
        try:
            await self.verifier.verify(sign(key, LATER, kid=kid))
        except InvalidToken:
            return False
        return True

    def fail(self, error: Any = None) -> None:
        failure = TransportError("no answer") if error is None else error
        self.documents.table[METADATA_URL] = failure
        self.documents.table[JWKS_URL] = failure


async def test_keys_are_fetched_once_and_kept() -> None:
    issuer = Issuer()
    for _ in range(3):
        assert await issuer.accepts(ONE, "one")
    assert [one.url for one in issuer.documents.asked] == [METADATA_URL, JWKS_URL]
    assert issuer.documents.configured == [ISSUER]


async def test_the_operators_url_of_the_keys_needs_no_metadata() -> None:
    issuer = Issuer(jwks_uri=JWKS_URL)
    assert await issuer.accepts(ONE, "one")
    assert [one.url for one in issuer.documents.asked] == [JWKS_URL]
    assert issuer.documents.configured == [JWKS_URL]


async def test_metadata_is_searched_at_each_well_known_url_of_an_issuer_with_a_path() -> None:
    documents = Documents()
    tenant = f"{ISSUER}/tenant"
    documents.put(
        f"{tenant}/.well-known/openid-configuration", {"issuer": tenant, "jwks_uri": JWKS_URL}
    )
    documents.put(JWKS_URL, {"keys": public(ONE)})
    await JwtVerifier(tenant, fetcher=documents, clock=Clock()).verify(
        sign(ONE, claims(iss=tenant))
    )
    assert [one.url for one in documents.asked] == [
        f"{ISSUER}/.well-known/oauth-authorization-server/tenant",
        f"{ISSUER}/.well-known/openid-configuration/tenant",
        f"{tenant}/.well-known/openid-configuration",
        JWKS_URL,
    ]


async def test_many_requests_at_once_fetch_the_keys_once() -> None:
    issuer = Issuer()
    found = await asyncio.gather(*(issuer.accepts(ONE, "one") for _ in range(20)))
    assert all(found)
    assert issuer.documents.count() == 1


async def test_a_request_that_is_cancelled_does_not_take_the_keys_from_the_others() -> None:
    issuer = Issuer()
    held = issuer.documents.hold()
    first = asyncio.create_task(issuer.accepts(ONE, "one"))
    second = asyncio.create_task(issuer.accepts(ONE, "one"))
    await held.reached.wait()
    first.cancel()
    await asyncio.wait([first])
    held.released.set()
    assert await second
    assert issuer.documents.count() == 1


# --- rotation ---


async def test_a_new_key_is_fetched_when_a_token_names_it() -> None:
    issuer = Issuer()
    assert await issuer.accepts(ONE, "one")
    issuer.rotate(TWO, ONE)
    issuer.clock.now += 10
    assert await issuer.accepts(TWO, "two")
    assert await issuer.accepts(ONE, "one")
    assert issuer.documents.count() == 2
    assert issuer.documents.asked[-1].headers["cache-control"] == "no-cache"


async def test_a_key_that_was_withdrawn_is_no_longer_accepted_after_the_next_fetch() -> None:
    issuer = Issuer()
    assert await issuer.accepts(ONE, "one")
    issuer.rotate(TWO)
    issuer.clock.now += 10
    assert await issuer.accepts(TWO, "two")
    assert not await issuer.accepts(ONE, "one")


async def test_tokens_with_unknown_keys_cause_one_fetch_in_ten_seconds_at_most() -> None:
    issuer = Issuer()
    assert await issuer.accepts(ONE, "one")
    for number in range(50):
        assert not await issuer.accepts(ONE, f"unknown-{number}")
    assert issuer.documents.count() == 1
    issuer.clock.now += 10
    for number in range(50):
        assert not await issuer.accepts(ONE, f"unknown-{number}")
    assert issuer.documents.count() == 2
    assert await issuer.accepts(ONE, "one")


# --- for how long ---


@pytest.mark.parametrize(
    ("headers", "age_s"),
    [
        ({}, 600),
        ({"cache_control": "max-age=120"}, 120),
        ({"cache_control": "max-age=0"}, 60),
        ({"cache_control": "no-store"}, 60),
        ({"cache_control": "max-age=999999"}, 3600),
        ({"cache_control": "max-age=-5"}, 60),
        ({"cache_control": "max-age=nan"}, 60),
    ],
)
async def test_keys_are_fresh_as_long_as_their_headers_say_within_bounds(
    headers: dict[str, str], age_s: float
) -> None:
    issuer = Issuer()
    issuer.rotate(ONE, **headers)
    await issuer.accepts(ONE, "one")
    issuer.clock.now += age_s - 1
    assert await issuer.accepts(ONE, "one")
    assert issuer.documents.count() == 1
    issuer.clock.now += 1
    assert await issuer.accepts(ONE, "one")
    assert issuer.documents.count() == 2


async def test_old_keys_are_used_while_they_cannot_be_fetched_and_then_no_more() -> None:
    issuer = Issuer()
    await issuer.accepts(ONE, "one")
    issuer.fail()
    issuer.clock.now += 600
    assert await issuer.accepts(ONE, "one")
    issuer.clock.now += 6 * 3600 - 1
    assert await issuer.accepts(ONE, "one")
    issuer.clock.now += 1
    with pytest.raises(VerifierUnavailable, match="no answer"):
        await issuer.accepts(ONE, "one")


async def test_keys_that_cannot_be_fetched_are_told_once_until_they_can(
    caplog: pytest.LogCaptureFixture,
) -> None:
    issuer = Issuer()
    with caplog.at_level(logging.WARNING, "mcp_gen.auth"):
        await issuer.accepts(ONE, "one")
        for _ in range(2):
            issuer.fail(TransportError("no answer\r\n"))
            for _ in range(3):
                issuer.clock.now += 600
                await issuer.accepts(ONE, "one")
            issuer.rotate(ONE)
            issuer.clock.now += 600
            await issuer.accepts(ONE, "one")
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"keys of {ISSUER} cannot be fetched: no answer\\r\\n"] * 2


async def test_a_fetch_that_failed_is_repeated_after_ten_seconds_and_not_before() -> None:
    issuer = Issuer()
    issuer.fail()
    for _ in range(5):
        with pytest.raises(VerifierUnavailable):
            await issuer.accepts(ONE, "one")
    assert issuer.documents.count(METADATA_URL) == 1
    issuer.rotate(ONE)
    issuer.clock.now += 10
    assert await issuer.accepts(ONE, "one")


async def test_old_keys_are_used_while_new_ones_are_being_fetched() -> None:
    issuer = Issuer()
    await issuer.accepts(ONE, "one")
    issuer.clock.now += 600
    held = issuer.documents.hold()
    waiting = asyncio.create_task(issuer.accepts(ONE, "one"))
    await held.reached.wait()
    assert await issuer.accepts(ONE, "one")
    held.released.set()
    assert await waiting
    assert issuer.documents.count() == 2


async def test_keys_that_are_too_old_are_not_used_while_new_ones_are_being_fetched() -> None:
    issuer = Issuer()
    await issuer.accepts(ONE, "one")
    issuer.clock.now += 600 + 6 * 3600
    issuer.rotate(TWO)
    held = issuer.documents.hold()
    waiting = [asyncio.create_task(issuer.accepts(ONE, "one")) for _ in range(2)]
    await held.reached.wait()
    done, _ = await asyncio.wait(waiting, timeout=0)
    held.released.set()
    assert done == set()
    assert await asyncio.gather(*waiting) == [False, False]


async def test_the_place_of_the_keys_is_read_again_when_they_are_no_longer_fresh() -> None:
    issuer = Issuer()
    await issuer.accepts(ONE, "one")
    issuer.documents.put(METADATA_URL, {"issuer": ISSUER, "jwks_uri": f"{ISSUER}/moved"})
    issuer.documents.put(f"{ISSUER}/moved", {"keys": public(TWO)})
    issuer.clock.now += 600
    assert await issuer.accepts(TWO, "two")


# --- documents that cannot be used ---


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"issuer": "https://evil.example", "jwks_uri": JWKS_URL}, "names the issuer"),
        ({"issuer": f"{ISSUER}/", "jwks_uri": JWKS_URL}, "names the issuer"),
        ({"issuer": ISSUER}, "has no `jwks_uri`"),
        ({"jwks_uri": JWKS_URL}, "not as expected"),
        (b"<html>", "expected a JSON document"),
        ([], "not as expected"),
    ],
)
async def test_metadata_that_is_not_that_of_the_issuer_gives_no_keys(
    metadata: Any, why: str
) -> None:
    issuer = Issuer()
    issuer.documents.put(METADATA_URL, metadata)
    with pytest.raises(VerifierUnavailable, match=why):
        await issuer.accepts(ONE, "one")
    assert issuer.documents.count() == 0


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"keys": []}, "no key that can verify"),
        ({"keys": [7]}, "no key that can verify"),
        ({"keys": [{"kty": "OKP", "crv": "X25519", "x": "A" * 43}]}, "no key that can verify"),
        ({"keys": {}}, "not as expected"),
        ({}, "not as expected"),
        (b"{", "expected a JSON document"),
        (b"\xff", "expected a JSON document"),
    ],
)
async def test_a_set_without_usable_keys_makes_tokens_unverifiable(keys: Any, why: str) -> None:
    issuer = Issuer()
    issuer.documents.put(JWKS_URL, keys)
    with pytest.raises(VerifierUnavailable, match=why):
        await issuer.accepts(ONE, "one")


async def test_keys_that_are_not_there_any_more_do_not_replace_the_old_ones() -> None:
    issuer = Issuer()
    await issuer.accepts(ONE, "one")
    issuer.documents.put(JWKS_URL, {"keys": []})
    issuer.clock.now += 600
    assert await issuer.accepts(ONE, "one")


@pytest.mark.parametrize("status", [404, 403, 429, 500, 503])
async def test_a_status_that_is_no_success_gives_no_keys(status: int) -> None:
    issuer = Issuer()
    issuer.documents.put(JWKS_URL, {"keys": public(ONE)}, status=status)
    with pytest.raises(VerifierUnavailable, match=str(status)):
        await issuer.accepts(ONE, "one")


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_other_metadata_is_not_taken_where_the_first_cannot_be_had_now(status: int) -> None:
    issuer = Issuer()
    issuer.documents.put(METADATA_URL, {}, status=status)
    second = f"{ISSUER}/.well-known/openid-configuration"
    issuer.documents.put(second, {"issuer": ISSUER, "jwks_uri": JWKS_URL})
    with pytest.raises(VerifierUnavailable, match=str(status)):
        await issuer.accepts(ONE, "one")
    issuer.documents.put(METADATA_URL, {}, status=404)
    issuer.clock.now += 10
    assert await issuer.accepts(ONE, "one")


async def test_an_address_that_may_not_be_reached_makes_tokens_unverifiable() -> None:
    issuer = Issuer()
    issuer.fail(AuthError("10.0.0.1 is a private address"))
    with pytest.raises(VerifierUnavailable, match="private address"):
        await issuer.accepts(ONE, "one")


async def test_no_more_than_a_hundred_keys_are_read() -> None:
    one = public(ONE)[0]
    issuer = Issuer()
    copies = [{**one, "kid": str(number)} for number in range(101)]
    issuer.documents.put(JWKS_URL, {"keys": copies})
    assert await issuer.accepts(ONE, "99")
    assert not await issuer.accepts(ONE, "100")


# --- at the gate ---


async def test_a_request_whose_keys_cannot_be_had_is_answered_with_503_not_401() -> None:
    issuer = Issuer()
    issuer.fail()
    gate = ResourceServer(ISSUER, audience=RESOURCE, verifier=issuer.verifier, clock=issuer.clock)
    found = await refused(gate, bearer(sign(ONE, LATER)))
    assert (found.status, found.headers) == (503, [(b"retry-after", b"10")])
    issuer.rotate(ONE)
    issuer.clock.now += 10
    await admitted(gate, bearer(sign(ONE, LATER)))
    await gate.aclose()


async def test_closing_the_gate_ends_a_fetch_that_runs_and_answers_who_waits() -> None:
    issuer = Issuer()
    gate = ResourceServer(ISSUER, audience=RESOURCE, verifier=issuer.verifier, clock=issuer.clock)
    held = issuer.documents.hold()
    asking = asyncio.create_task(refused(gate, bearer(sign(ONE, LATER))))
    await held.reached.wait()
    await gate.aclose()
    assert (await asking).status == 503
