"""Tokens that are bound to a key, shown by one who has not the key or has an old proof."""

from __future__ import annotations

import hashlib
import hmac
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec
from joserfc.jwk import RSAKey

from mcp_gen.auth import DPoP, DpopChecks, NonceIssuer, SeenProofs
from mcp_gen.auth.proofs import jws
from mcp_gen.auth.proofs.keys import decode_base64url
from tests.auth.authorization_server.signing import Signer
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.test_tokens import claims, encoded, signed
from tests.hostile.auth.world import HONEST, URL, World, opened_world

OWNER, THIEF = Signer(), Signer()
PROOF = '^401 .*DPoP error="invalid_dpop_proof"'
TOKEN = '^401 .*error="invalid_token"'
GOOD: Mapping[str, Any] = {}


@cache
def weak_key() -> RSAKey:
    """Return a key of 1024 bits; joserfc warns of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RSAKey.generate_key(1024)


def bound(world: World, signer: Signer = OWNER, **more: Any) -> str:
    """Return a token that is bound to a key."""
    return signed(world, claims(world, cnf={"jkt": signer.thumbprint}, **more))


def hash_of(token: str) -> str:
    return encoded(hashlib.sha256(token.encode()).digest())


def proof_of(
    world: World,
    token: str,
    signer: Signer = OWNER,
    header: Mapping[str, Any] | None = None,
    **more: Any,
) -> str:
    """Return a proof for a call; members that are None are left out."""
    given = {"ath": hash_of(token), **more}
    return signer.proof(world.clock.now, URL, header, **given)


async def shown(world: World, token: str, *proofs: str, scheme: str = "DPoP") -> str:
    lines = [("authorization", f"{scheme} {token}"), *(("dpop", proof) for proof in proofs)]
    return await world.post(None, *lines)


@attacks(
    "claims of a proof",
    Attack("of another method", {"htm": "GET"}, {"htm": "POST"}, PROOF),
    Attack("of a method in lower case", {"htm": "post"}, {"htm": "POST"}, PROOF),
    Attack("of another path", {"htu": f"{URL}/x"}, {"htu": URL}, PROOF),
    Attack("of a path that begins alike", {"htu": f"{URL}-evil"}, {"htu": URL}, PROOF),
    Attack("of another host", {"htu": "https://evil.example/mcp"}, {"htu": URL}, PROOF),
    Attack("of another scheme", {"htu": "http://api.example/mcp"}, {"htu": URL}, PROOF),
    Attack("of another port", {"htu": "https://api.example:8443/mcp"}, {"htu": URL}, PROOF),
    Attack("of the origin", {"htu": "https://api.example"}, {"htu": f"{URL}?a=b"}, PROOF),
    Attack("without a method", {"htm": None}, GOOD, PROOF),
    Attack("without a URL", {"htu": None}, GOOD, PROOF),
    Attack("without an id", {"jti": None}, GOOD, PROOF),
    Attack("with an empty id", {"jti": ""}, {"jti": "1"}, PROOF),
    Attack("with a huge id", {"jti": "j" * 5_000}, {"jti": "j" * 50}, PROOF),
    Attack("without a time", {"iat": None}, GOOD, PROOF),
    Attack("with a time as text", {"iat": "1800000000"}, {"iat": 1_800_000_000}, PROOF),
    Attack("of long ago", {"iat": 1_800_000_000 - 301}, {"iat": 1_800_000_000 - 299}, PROOF),
    Attack("of the future", {"iat": 1_800_000_000 + 301}, {"iat": 1_800_000_000 + 299}, PROOF),
    Attack("without ath", {"ath": None}, GOOD, PROOF),
    Attack("with the ath of another token", {"ath": hash_of("other")}, GOOD, PROOF),
    Attack("with the token as ath", {"ath": "token"}, GOOD, PROOF),
)
async def test_a_proof_of_another_request_is_refused(case: Case[Mapping[str, Any]]) -> None:
    async with opened_world() as world:
        token = bound(world)
        proof = proof_of(world, token, **case.given)
        case.judge(await shown(world, token, proof), world.called)


PRIVATE = OWNER.key.as_dict(private=True)
PUBLIC = OWNER.key.as_dict(private=False)


@attacks(
    "header of a proof",
    Attack("with its private key", {"jwk": PRIVATE}, {"jwk": PUBLIC}, PROOF),
    Attack("without a key", {"jwk": None}, {"jwk": PUBLIC}, PROOF),
    Attack("with the key of another", {"jwk": THIEF.key.as_dict(private=False)}, GOOD, PROOF),
    Attack("with keys elsewhere", {"jwk": None, "jku": "https://evil.example"}, GOOD, PROOF),
    Attack("typ of a token", {"typ": "at+jwt"}, {"typ": "dpop+jwt"}, PROOF),
    Attack("no typ", {"typ": None}, {"typ": "dpop+jwt"}, PROOF),
    Attack("crit", {"crit": ["typ"]}, GOOD, PROOF),
)
async def test_a_proof_with_another_header_is_refused(case: Case[Mapping[str, Any]]) -> None:
    async with opened_world() as world:
        token = bound(world)
        usual = {"typ": "dpop+jwt", "alg": "ES256", "jwk": PUBLIC, **case.given}
        header = {name: value for name, value in usual.items() if value is not None}
        payload = {
            "htm": "POST",
            "htu": URL,
            "iat": int(world.clock.now),
            "jti": "1",
            "ath": hash_of(token),
        }
        text = f"{encoded(header)}.{encoded(payload)}"
        proof = f"{text}.{encoded(jws.sign('ES256', text.encode(), OWNER.key))}"
        case.judge(await shown(world, token, proof), world.called)


class Signed(NamedTuple):
    algorithm: str
    key: str


def sign_by(world: World, token: str, given: Signed) -> str:
    """Sign a proof in a way that proves nothing."""
    jwks: dict[str, Mapping[str, Any]] = {
        "owner": PUBLIC,
        "weak": weak_key().as_dict(private=False),
        "secret": {"kty": "oct", "k": encoded(b"k" * 32)},
    }
    header = {"typ": "dpop+jwt", "alg": given.algorithm, "jwk": jwks[given.key]}
    payload = {"htm": "POST", "htu": URL, "iat": int(world.clock.now), "jti": "1"}
    text = f"{encoded(header)}.{encoded({**payload, 'ath': hash_of(token)})}"
    if given.algorithm == "HS256":
        secret = b"k" * 32 if given.key == "secret" else decode_base64url(str(PUBLIC["x"]))
        return f"{text}.{encoded(hmac.digest(secret, text.encode(), hashlib.sha256))}"
    if given.algorithm.lower() == "none":
        return f"{text}."
    key = weak_key() if given.key == "weak" else OWNER.key
    return f"{text}.{encoded(jws.sign(given.algorithm, text.encode(), key))}"


@attacks(
    "signature of a proof",
    Attack("alg none", Signed("none", "owner"), Signed("ES256", "owner"), PROOF),
    Attack("alg NONE", Signed("NONE", "owner"), Signed("ES256", "owner"), PROOF),
    Attack("HMAC by the public key", Signed("HS256", "owner"), Signed("ES256", "owner"), PROOF),
    Attack("HMAC by a secret", Signed("HS256", "secret"), Signed("ES256", "owner"), PROOF),
    Attack("a weak RSA key", Signed("RS256", "weak"), Signed("ES256", "owner"), PROOF),
)
async def test_a_signature_that_proves_nothing_is_refused(case: Case[Signed]) -> None:
    async with opened_world() as world:
        thumbprint = weak_key().thumbprint() if case.given.key == "weak" else OWNER.thumbprint
        token = signed(world, claims(world, cnf={"jkt": thumbprint}))
        proof = sign_by(world, token, case.given)
        case.judge(await shown(world, token, proof), world.called)


@attacks(
    "a stolen token",
    Attack("as a bearer token", ("Bearer", "none"), ("DPoP", "owner"), TOKEN),
    Attack("as a bearer token with a proof", ("Bearer", "owner"), ("DPoP", "owner"), TOKEN),
    Attack("without a proof", ("DPoP", "none"), ("DPoP", "owner"), PROOF),
    Attack("with a proof of the thief", ("DPoP", "thief"), ("DPoP", "owner"), TOKEN),
    Attack("with two proofs", ("DPoP", "both"), ("DPoP", "owner"), PROOF),
    Attack("with a proof twice", ("DPoP", "twice"), ("DPoP", "owner"), PROOF),
    Attack("with a proof that is none", ("DPoP", "text"), ("DPoP", "owner"), PROOF),
    Attack("with a huge proof", ("DPoP", "huge"), ("DPoP", "owner"), PROOF),
)
async def test_a_stolen_token_is_of_no_use_without_its_key(case: Case[tuple[str, str]]) -> None:
    scheme, by = case.given
    async with opened_world() as world:
        token = bound(world)
        own = proof_of(world, token)
        proofs = {
            "none": [],
            "owner": [own],
            "thief": [proof_of(world, token, THIEF)],
            "both": [proof_of(world, token, THIEF), own],
            "twice": [own, own],
            "text": ["x"],
            "huge": [own + "A" * 50_000],
        }[by]
        case.judge(await shown(world, token, *proofs, scheme=scheme), world.called)


@attacks(
    "a token that is bound to nothing",
    Attack("shown with a proof", "DPoP", "Bearer", TOKEN),
)
async def test_a_bearer_token_is_not_made_better_by_a_proof(case: Case[str]) -> None:
    async with opened_world() as world:
        token = signed(world)
        outcome = await shown(world, token, proof_of(world, token), scheme=case.given)
        case.judge(outcome, world.called)


@attacks(
    "a bearer token where keys are required",
    Attack("a token without a key", False, True, '^401 .*DPoP error="?|^401 .*DPoP'),
)
async def test_a_bearer_token_is_refused_where_keys_are_required(case: Case[bool]) -> None:
    async with opened_world() as world:
        world.protect(dpop=DpopChecks(required=True))
        token = bound(world) if case.given else signed(world)
        proof = proof_of(world, token)
        outcome = await shown(world, token, proof, scheme="DPoP" if case.given else "Bearer")
        case.judge(outcome, world.called)


@attacks(
    "a proof that was overheard",
    Attack("shown again", 0, 1, PROOF),
    Attack("shown again at the end of its window", 299, 1, PROOF),
)
async def test_a_proof_is_taken_once(case: Case[int]) -> None:
    """The twin has the same time and the same token, and an id of its own."""
    async with opened_world() as world:
        token = bound(world)
        first = proof_of(world, token, jti="overheard")
        assert await shown(world, token, first) == PASSED
        del world.called[:]
        if case.is_hostile:
            world.clock.now += case.given
        again = first if case.is_hostile else proof_of(world, token, jti="another")
        case.judge(await shown(world, token, again), world.called)


@attacks(
    "a flood of proofs",
    Attack("of the key that floods", THIEF, OWNER, PROOF),
)
async def test_a_key_that_floods_the_memory_of_proofs_shuts_out_itself(case: Case[Signer]) -> None:
    async with opened_world() as world:
        world.protect(dpop=DpopChecks(seen=SeenProofs(max_proofs=20, max_per_key=5)))
        token = bound(world, THIEF)
        for number in range(5):
            proof = proof_of(world, token, THIEF, jti=str(number))
            assert await shown(world, token, proof) == PASSED
        del world.called[:]
        token = bound(world, case.given)
        # Also with an id that the other key has used.
        proof = proof_of(world, token, case.given, jti="6" if case.is_hostile else "1")
        case.judge(await shown(world, token, proof), world.called)


@attacks(
    "a nonce of the server",
    Attack("none", None, "fresh", '^401 .*DPoP error="use_dpop_nonce"'),
    Attack("made up", "made-up", "fresh", '^401 .*DPoP error="use_dpop_nonce"'),
    Attack("of long ago", "old", "fresh", '^401 .*DPoP error="use_dpop_nonce"'),
    Attack("of another server", "foreign", "fresh", '^401 .*DPoP error="use_dpop_nonce"'),
)
async def test_a_proof_without_a_fresh_nonce_is_refused(case: Case[str | None]) -> None:
    async with opened_world() as world:
        nonces = NonceIssuer()
        world.protect(dpop=DpopChecks(nonces=nonces))
        nonce = {
            "fresh": nonces.issue(world.clock.now),
            "old": nonces.issue(world.clock.now - 100_000),
            "foreign": NonceIssuer().issue(world.clock.now),
        }.get(str(case.given), case.given)
        token = bound(world)
        more: dict[str, Any] = {} if nonce is None else {"nonce": nonce}
        proof = proof_of(world, token, **more)
        case.judge(await shown(world, token, proof), world.called)


@attacks(
    "a client with another key",
    Attack("a refresh token of another key", True, False, "AuthError|HttpError"),
)
async def test_a_stolen_refresh_token_is_of_no_use_without_its_key(case: Case[bool]) -> None:
    async with opened_world(access_token_lifetime_s=60) as world:
        owner = DPoP(world.oauth(), clock=world.clock)
        assert await world.call(auth=owner) == PASSED
        stored = await world.stored()
        key = DPoP(world.oauth(), clock=world.clock)._proofs.key if case.given else stored.key
        await world.store.save(URL, msgspec.structs.replace(stored, key=key))
        del world.called[:]
        world.clock.now += 100
        thief = DPoP(world.oauth(interactive=False), clock=world.clock)
        case.judge(await world.call(auth=thief), world.called)
        sent = [one.form["grant_type"] for one in world.sent(HONEST, "/token")]
        assert sent == ["authorization_code", "refresh_token"]
