"""JWTs: each refused token has a twin that differs only in what is allowed."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from mcp_gen import UsageError
from mcp_gen.auth import InvalidToken, ResourceServer
from mcp_gen.auth.verifiers.jwt_verifier import JwtVerifier
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
from tests.auth.verifiers.issuers import Documents, claims, ec_key, public, rsa_key, sign

KEY = ec_key()
RSA = rsa_key("rsa")
OTHER = ec_key()
DEEP = b'{"a":' * 2000


def issuer(*keys: Any) -> Documents:
    documents = Documents()
    documents.publish(*(keys or (KEY, RSA)))
    return documents


def verifier(documents: Documents | None = None, **options: Any) -> JwtVerifier:
    return JwtVerifier(
        options.pop("issuer", ISSUER),
        fetcher=documents or issuer(),
        clock=options.pop("clock", Clock()),
        **options,
    )


async def refusal(token: str, **options: Any) -> str:
    """Return why a token is refused."""
    with pytest.raises(InvalidToken) as caught:
        await verifier(**options).verify(token)
    return caught.value.reason


def part(value: Any) -> str:
    data = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def test_a_valid_token_says_who_calls_for_which_client_with_which_scopes() -> None:
    found = await verifier().verify(sign(KEY))
    assert (found.issuer, found.subject, found.client_id) == (ISSUER, "alice", "app")
    assert (set(found.scopes), found.expires_at) == ({"mcp"}, NOW + 600)
    assert found.claims["jti"] == "1"


@pytest.mark.parametrize(
    ("curve", "alg"), [("P-256", "ES256"), ("P-384", "ES384"), ("P-521", "ES512")]
)
async def test_tokens_of_each_curve_are_verified(curve: Any, alg: str) -> None:
    key = ECKey.generate_key(curve, {"kid": "one"})
    await verifier(issuer(key)).verify(sign(key, alg=alg))


@pytest.mark.parametrize("alg", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
async def test_tokens_of_rsa_keys_are_verified(alg: str) -> None:
    await verifier().verify(sign(RSA, alg=alg, kid="rsa"))


async def test_tokens_of_ed25519_keys_are_verified() -> None:
    key = OKPKey.generate_key("Ed25519", {"kid": "one"})
    await verifier(issuer(key)).verify(sign(key, alg="Ed25519"))


# --- the signature and its algorithm ---


async def test_a_token_signed_with_another_key_is_refused() -> None:
    assert "signature" in await refusal(sign(OTHER))


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_token_that_was_changed_is_refused(at: int) -> None:
    parts = sign(KEY).split(".")
    changes = [
        part({"alg": "ES256", "kid": "one", "typ": "JWT"}),
        part(claims(sub="mallory")),
        part(base64.urlsafe_b64decode(parts[2] + "==")[::-1]),
    ]
    parts[at] = changes[at]
    assert "signature" in await refusal(".".join(parts))


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", "es256", "HS256", "ES256K", "dir"])
async def test_an_algorithm_that_is_not_listed_is_refused(alg: str) -> None:
    head, body, signature = sign(KEY).split(".")
    del head
    header = part({"alg": alg, "kid": "one", "typ": "at+jwt"})
    for end in (signature, ""):
        assert "algorithm" in await refusal(f"{header}.{body}.{end}")


async def test_a_token_signed_with_the_public_key_as_a_secret_is_refused() -> None:
    head = part({"alg": "HS256", "kid": "rsa", "typ": "at+jwt"})
    signed = f"{head}.{part(claims())}"
    for secret in (RSA.as_pem(private=False), msgspec.json.encode(public(RSA)[0])):
        signature = hmac.digest(secret, signed.encode(), "sha256")
        assert "algorithm" in await refusal(f"{signed}.{part(signature)}")


async def test_a_key_of_another_kind_than_the_algorithm_is_not_tried() -> None:
    head, body, signature = sign(KEY).split(".")
    del head
    header = part({"alg": "RS256", "kid": "one", "typ": "at+jwt"})
    assert "does not publish" in await refusal(f"{header}.{body}.{signature}")


async def test_only_the_algorithms_of_the_option_are_accepted() -> None:
    only: dict[str, Any] = {"algorithms": ["RS256"]}
    assert "algorithm" in await refusal(sign(KEY), **only)
    await verifier(**only).verify(sign(RSA, alg="RS256", kid="rsa"))


@pytest.mark.parametrize("algorithms", [["HS256"], ["none"], [], "ES256", ["ES256", "HS512"]])
def test_symmetric_algorithms_cannot_be_accepted(algorithms: Any) -> None:
    with pytest.raises(UsageError, match="algorithms"):
        verifier(algorithms=algorithms)


# --- the header ---


async def test_extensions_that_are_critical_are_refused() -> None:
    head, body, signature = sign(KEY).split(".")
    del head
    header = part({"alg": "ES256", "kid": "one", "typ": "at+jwt", "crit": ["b64"], "b64": False})
    assert "crit" in await refusal(f"{header}.{body}.{signature}")


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt"])
async def test_the_types_of_access_tokens_are_accepted(typ: str) -> None:
    await verifier().verify(sign(KEY, typ=typ))


@pytest.mark.parametrize(
    "typ", ["dpop+jwt", "oauth-id-jag+jwt", "logout+jwt", "secevent+jwt", "", None]
)
async def test_jwts_of_other_types_are_refused(typ: str | None) -> None:
    assert "`typ`" in await refusal(sign(KEY, typ=typ))


async def test_the_accepted_types_are_an_option() -> None:
    await verifier(types=["at+jwt", ""]).verify(sign(KEY, typ=None))
    assert "`typ`" in await refusal(sign(KEY, typ="JWT"), types=["at+jwt", ""])


@pytest.mark.parametrize(
    "members",
    [
        {"jku": "https://evil.example/keys"},
        {"x5u": "https://evil.example/cert"},
        {"jwk": OTHER.as_dict(private=False)},
        {"jwk": OTHER.as_dict(private=False), "kid": None},
        {"x5c": ["MIIB"]},
    ],
)
async def test_keys_and_urls_in_a_token_are_not_used(members: dict[str, Any]) -> None:
    documents = issuer(KEY)
    with pytest.raises(InvalidToken, match="signature"):
        await verifier(documents).verify(sign(OTHER, **members))
    assert {one.url.partition("/.well")[0].partition("/keys")[0] for one in documents.asked} == {
        ISSUER
    }


@pytest.mark.parametrize(
    "kid",
    [
        "two",
        "../../etc/passwd",
        "https://evil.example/keys",
        "' OR 1=1 --",
        "one\x00",
        "k" * 500,
    ],
)
async def test_a_kid_selects_among_the_keys_of_the_issuer_and_does_nothing_else(kid: str) -> None:
    documents = issuer(KEY)
    with pytest.raises(InvalidToken, match="does not publish"):
        await verifier(documents).verify(sign(KEY, kid=kid))
    assert all(one.url.startswith(ISSUER) for one in documents.asked)


async def test_a_kid_beyond_the_limit_leads_to_no_fetch() -> None:
    documents = issuer()
    with pytest.raises(InvalidToken, match="`kid`"):
        await verifier(documents).verify(sign(KEY, kid="k" * 513))
    assert documents.asked == []


@pytest.mark.parametrize("kid", [7, ["one"], {"one": 1}, True])
async def test_a_kid_that_is_no_text_is_refused(kid: Any) -> None:
    head, body, signature = sign(KEY).split(".")
    del head
    header = part({"alg": "ES256", "kid": kid, "typ": "at+jwt"})
    assert "can be read" in await refusal(f"{header}.{body}.{signature}")


async def test_a_token_without_kid_is_verified_with_the_keys_that_suit_its_algorithm() -> None:
    documents = issuer(ec_key("a"), RSA, KEY)
    await verifier(documents).verify(sign(KEY, kid=None))
    assert "signature" in await refusal(sign(OTHER, kid=None), documents=documents)


async def test_no_more_than_four_keys_are_tried_for_a_token_without_kid() -> None:
    others = [ec_key(str(number)) for number in range(4)]
    await verifier(issuer(*others[:3], KEY)).verify(sign(KEY, kid=None))
    assert "signature" in await refusal(sign(KEY, kid=None), documents=issuer(*others, KEY))


# --- the form ---


@pytest.mark.parametrize(
    "token",
    [
        "",
        "opaque",
        "a.b",
        "a.b.c.d.e",
        "..",
        "e30.e30.e30",
        f"{part([])}.{part({})}.AA",
        f"{part({'alg': 1})}.{part({})}.AA",
        f"{part({'alg': 'ES256'})}.{part([])}.AA",
        f"{part({'alg': 'ES256'})}.{part(b'[' * 5000)}.AA",
        f"{part({'alg': 'ES256'})}.{part(DEEP)}.AA",
        f"{part(DEEP)}.{part({})}.AA",
        f"{part({'alg': 'ES256'})}.{part(b'{')}.AA",
        f"{part({'alg': 'ES256'})}.{part({})}.A=A",
        f"{part({'alg': 'ES256'})}=.{part({})}.AA",
    ],
)
async def test_what_is_no_jwt_is_refused(token: str) -> None:
    assert "JWT" in await refusal(token)


async def test_a_token_beyond_the_limit_is_not_read() -> None:
    assert "too long" in await refusal(sign(KEY, claims(padding="x" * 13_000)))
    await verifier().verify(sign(KEY, claims(padding="x" * 10_000)))


# --- the claims ---


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"iss": f"{ISSUER}/"}, "another authorization server"),
        ({"iss": ISSUER.upper()}, "another authorization server"),
        ({"iss": [ISSUER]}, "another authorization server"),
        ({"iss": None}, "another authorization server"),
        ({"exp": None}, "no end"),
        ({"exp": NOW - 30}, "expired"),
        ({"exp": str(NOW + 600)}, "not a time"),
        ({"exp": True}, "not a time"),
        ({"exp": 1e300}, "not a time"),
        ({"exp": 10**400}, "not a time"),
        ({"nbf": NOW + 31}, "nbf"),
        ({"nbf": "now"}, "not a time"),
        ({"iat": NOW + 31}, "iat"),
        ({"aud": None}, "no audience"),
        ({"aud": []}, "no audience"),
        ({"aud": ""}, "no audience"),
        ({"aud": [7]}, "no audience"),
        ({"aud": {RESOURCE: 1}}, "no audience"),
        ({"sub": 7}, "`sub`"),
        ({"sub": ""}, "`sub`"),
        ({"client_id": ["app"]}, "`client_id`"),
        ({"cnf": {"x5t#S256": "a"}}, "kind of key"),
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(changed: Mapping[str, Any], why: str) -> None:
    assert why in await refusal(sign(KEY, claims(**changed)))


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": NOW - 29},
        {"exp": NOW + 0.5},
        {"nbf": NOW + 29},
        {"nbf": None},
        {"iat": NOW + 29},
        {"iat": None},
        {"aud": ["https://other.example.com", RESOURCE]},
        {"sub": None},
        {"client_id": None},
        {"scope": None, "scp": ["a", "b"]},
    ],
)
async def test_a_token_with_a_claim_within_its_limits_is_accepted(
    changed: Mapping[str, Any],
) -> None:
    await verifier().verify(sign(KEY, claims(**changed)))


async def test_no_key_is_fetched_for_a_token_that_has_expired() -> None:
    documents = issuer()
    with pytest.raises(InvalidToken, match="expired"):
        await verifier(documents).verify(sign(KEY, claims(exp=NOW - 60)))
    assert documents.asked == []


async def test_the_claims_of_entra_and_keycloak_name_the_client_too() -> None:
    for name in ("azp", "appid"):
        found = await verifier().verify(sign(KEY, claims(client_id=None, **{name: "app"})))
        assert found.client_id == "app"


# --- the keys ---


async def test_a_symmetric_key_that_an_issuer_publishes_is_not_used() -> None:
    secret = OctKey.import_key("s" * 32, {"kid": "one"})
    documents = Documents()
    documents.publish(KEY)
    documents.put(f"{ISSUER}/keys", {"keys": public(secret)})
    assert "algorithm" in await refusal(sign(secret, alg="HS256"), documents=documents)


@pytest.mark.parametrize(
    "members",
    [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"key_ops": "verify"}, {"alg": "ES384"}, {"alg": 1}],
)
async def test_a_key_for_something_else_is_not_used(members: Mapping[str, Any]) -> None:
    documents = issuer(KEY)
    documents.put(f"{ISSUER}/keys", {"keys": public(KEY, **members) + public(ec_key("two"))})
    assert "does not publish" in await refusal(sign(KEY), documents=documents)


@pytest.mark.parametrize("members", [{"use": "sig"}, {"key_ops": ["verify"]}, {"alg": "ES256"}])
async def test_a_key_for_signatures_is_used(members: Mapping[str, Any]) -> None:
    documents = issuer(KEY)
    documents.put(f"{ISSUER}/keys", {"keys": public(KEY, **members)})
    await verifier(documents).verify(sign(KEY))


async def test_what_is_no_key_in_a_set_is_left_out() -> None:
    documents = issuer(KEY)
    broken = [
        7,
        None,
        {},
        {"kty": "EC"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": ["P-256"], "x": "AA", "y": "AA"},
        {"kty": "RSA", "n": "AA", "e": "AQAB"},
        {"kty": "AKP", "pub": "x"},
        {"kty": "OKP", "crv": "X25519", "x": "A" * 43},
    ]
    documents.put(f"{ISSUER}/keys", {"keys": broken + public(KEY)})
    await verifier(documents).verify(sign(KEY))


async def test_a_private_key_that_an_issuer_publishes_by_mistake_is_read_as_its_public_key() -> (
    None
):
    documents = issuer(KEY)
    documents.put(f"{ISSUER}/keys", {"keys": [KEY.as_dict(private=True)]})
    await verifier(documents).verify(sign(KEY))


async def test_a_weak_rsa_key_is_not_used() -> None:
    numbers = rsa.generate_private_key(65537, 1024)
    with pytest.warns(SecurityWarning):
        weak = RSAKey.import_key(numbers, {"kid": "weak"})
    token = sign(weak, alg="RS256", kid="weak")
    assert "does not publish" in await refusal(token, documents=issuer(weak, KEY))


# --- options, and the gate ---


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"issuer": []}, "at least one"),
        ({"issuer": "http://login.example.com"}, "loopback alone"),
        ({"jwks_uri": "http://login.example.com/keys"}, "loopback alone"),
        ({"jwks_uri": {"https://other.example.com": f"{ISSUER}/keys"}}, "of `issuer` alone"),
        ({"issuer": [ISSUER, "https://b.example"], "jwks_uri": f"{ISSUER}/keys"}, "for each"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        verifier(**options)


async def test_each_issuer_has_its_own_keys() -> None:
    other = "https://b.example"
    documents = issuer(KEY)
    documents.put(f"{other}/keys", {"keys": public(OTHER)})
    both = {"issuer": [ISSUER, other], "jwks_uri": {other: f"{other}/keys"}}
    await verifier(documents, **both).verify(sign(OTHER, claims(iss=other)))
    assert "signature" in await refusal(sign(OTHER), documents=documents, **both)
    crossed = sign(KEY, claims(iss=other))
    assert "signature" in await refusal(crossed, documents=documents, **both)


async def test_a_resource_server_with_an_issuer_alone_verifies_its_jwts() -> None:
    documents = issuer()
    gate = ResourceServer(
        ISSUER, audience=RESOURCE, scopes=["mcp"], fetcher=documents, clock=Clock()
    )
    found = await admitted(gate, bearer(sign(KEY)))
    assert found.principal == f"user:{len(ISSUER)}:{ISSUER} alice"
    wrong = await refused(gate, bearer(sign(KEY, claims(aud="https://other.example.com"))))
    assert wrong.status == 401
    assert challenges(wrong)[0].startswith('Bearer error="invalid_token"')
    assert (await refused(gate, bearer(sign(KEY, claims(scope="x"))))).status == 403


async def test_reprs_and_errors_show_no_token() -> None:
    token = sign(OTHER)
    one = verifier()
    with pytest.raises(InvalidToken) as caught:
        await one.verify(token)
    body = token.split(".")[1]
    assert body not in repr([one, caught.value, caught.value.__cause__])
