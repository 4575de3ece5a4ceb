"""Servers accept a DPoP proof of the request at hand, and refuse each that breaks a rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mcp_gen.auth.proofs import jws
from mcp_gen.auth.proofs.checking import DpopProof, ProofRefused, check_proof
from mcp_gen.auth.proofs.keys import SigningKey, encode_base64url
from mcp_gen.auth.proofs.making import make_proof, token_hash
from mcp_gen.auth.proofs.nonces import NonceIssuer
from mcp_gen.auth.proofs.seen_proofs import SeenProofs
from mcp_gen.core.errors import UsageError
from tests.auth.proofs.forging import METHOD, NOW, TOKEN, URL, forge
from tests.auth.proofs.vectors import ACCESS_TOKEN, JKT, RESOURCE_PROOF, TOKEN_PROOF

KEY = SigningKey.generate()
OTHER_KEY = SigningKey.generate()


def check(proof: str, **options: Any) -> DpopProof:
    """Check a proof of a POST to `URL` at `NOW`."""
    whole: dict[str, Any] = {"method": METHOD, "url": URL, "now": NOW, **options}
    return check_proof(proof, **whole)


def accepted(proof: str, **options: Any) -> bool:
    """Return True: the proof is accepted, or this raises."""
    return check(proof, **options).proof_id != ""


def refusal(proof: str, **options: Any) -> str | None:
    """Return the error code with which a proof is refused."""
    with pytest.raises(ProofRefused) as caught:
        check(proof, **options)
    assert "\n" not in str(caught.value)
    return caught.value.error


def test_the_proof_for_a_token_endpoint_of_the_rfc_is_accepted() -> None:
    found = check(TOKEN_PROOF, url="https://server.example.com/token", now=1_562_262_616)
    assert found == DpopProof(JKT, "-BwC3ESc6acc2lTc", 1_562_262_616)


def test_the_proof_for_a_resource_of_the_rfc_is_accepted_with_its_token() -> None:
    found = check(
        RESOURCE_PROOF,
        method="GET",
        url="https://resource.example.org/protectedresource",
        now=1_562_262_618,
        access_token=ACCESS_TOKEN,
        thumbprint=JKT,
    )
    assert found.proof_id == "e1j3V_bKic8-LAEB"


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "ES512", "PS256", "RS256", "EdDSA"])
def test_a_proof_of_each_algorithm_is_accepted_and_names_its_key(algorithm: str) -> None:
    key = SigningKey.generate(algorithm)
    proof = make_proof(key, METHOD, f"{URL}?a=b#c", now=NOW, proof_id="x", access_token=TOKEN)
    found = check(proof, access_token=TOKEN, thumbprint=key.thumbprint)
    assert found == DpopProof(key.thumbprint, "x", NOW)


def test_a_forged_proof_without_changes_is_accepted() -> None:
    assert check(forge(KEY)).thumbprint == KEY.thumbprint


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("typ", "JWT"),
        ("typ", None),
        ("alg", "none"),
        ("alg", "HS256"),
        ("alg", "RS256"),
        ("alg", ["ES256"]),
        ("jwk", OTHER_KEY.public_jwk),
        ("jwk", KEY.private_jwk()),
        ("jwk", {**KEY.public_jwk, "d": None}),
        ("jwk", {**KEY.public_jwk, "k": "c2VjcmV0"}),
        ("jwk", {"kty": "oct"}),
        ("jwk", {**KEY.public_jwk, "crv": "P-384"}),
        ("jwk", {**KEY.public_jwk, "crv": "secp256k1"}),
        ("jwk", {**KEY.public_jwk, "x": "AA"}),
        ("jwk", {**KEY.public_jwk, "x": "%%%"}),
        ("jwk", {**KEY.public_jwk, "x": 5}),
        pytest.param("jwk", KEY.thumbprint, id="jwk-thumbprint"),
        ("crit", ["b64"]),
    ],
)
def test_a_proof_with_a_wrong_header_is_refused(change: str, value: object) -> None:
    assert refusal(forge(KEY, header={change: value})) == "invalid_dpop_proof"


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("jti", ""),
        ("jti", 5),
        ("jti", "x" * 513),
        ("htm", "GET"),
        ("htm", "post"),
        ("htu", "https://api.example/other"),
        ("htu", "https://other.example/mcp"),
        ("htu", "http://api.example/mcp"),
        ("htu", "https://api.example:8443/mcp"),
        ("htu", "https://user@api.example/mcp"),
        ("htu", "/mcp"),
        ("htu", ""),
        ("iat", NOW - 301),
        ("iat", NOW + 301),
        ("iat", str(int(NOW))),
        ("iat", True),
        ("iat", None),
        ("iat", 1e300),
    ],
)
def test_a_proof_with_a_wrong_claim_is_refused(change: str, value: object) -> None:
    assert refusal(forge(KEY, claims={change: value})) == "invalid_dpop_proof"


@pytest.mark.parametrize("name", ["typ", "alg", "jwk", "jti", "htm", "htu", "iat"])
def test_a_proof_that_lacks_a_member_is_refused(name: str) -> None:
    assert refusal(forge(KEY, without=name)) == "invalid_dpop_proof"


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("htu", "HTTPS://API.example:443/mcp"),
        ("htu", "https://api.example/%6Dcp"),
        ("htu", "https://api.example/a/../mcp"),
        ("htu", "https://api.example/mcp?query#fragment"),
        ("iat", NOW - 299),
        ("iat", NOW + 299),
        ("iat", NOW + 0.5),
        ("jti", "x" * 512),
        ("unknown", {"to": ["this", "check"]}),
    ],
)
def test_a_proof_with_another_spelling_of_a_right_claim_is_accepted(
    change: str, value: object
) -> None:
    assert check(forge(KEY, claims={change: value})).issued_at == pytest.approx(NOW, abs=300)


def test_a_proof_whose_key_has_members_that_are_no_secret_is_accepted() -> None:
    jwk = {**KEY.public_jwk, "kid": "one", "use": "sig", "key_ops": ["verify"]}
    assert check(forge(KEY, header={"jwk": jwk})).thumbprint == KEY.thumbprint


def test_a_changed_signature_is_refused() -> None:
    head, _, signature = forge(KEY).rpartition(".")
    other = ("A" if signature[0] != "A" else "B") + signature[1:]
    assert refusal(f"{head}.{other}") == "invalid_dpop_proof"


def test_the_signature_of_another_key_is_refused() -> None:
    head = forge(KEY).rpartition(".")[0]
    signature = forge(OTHER_KEY).rpartition(".")[2]
    assert refusal(f"{head}.{signature}") == "invalid_dpop_proof"


def test_an_hmac_by_the_public_key_is_refused() -> None:
    rsa = SigningKey.generate("RS256")
    assert refusal(forge(rsa, header={"alg": "HS256"})) == "invalid_dpop_proof"


def test_a_signature_by_another_algorithm_than_the_header_says_is_refused() -> None:
    rsa = SigningKey.generate("RS256")
    assert refusal(forge(rsa, header={"alg": "PS256"})) == "invalid_dpop_proof"
    assert accepted(forge(rsa, header={"alg": "PS256"}, signed_with="PS256"))


def test_an_rsa_key_is_refused_that_is_weak_or_slow_to_check() -> None:
    rsa = SigningKey.generate("RS256")
    modulus = rsa.public_jwk["n"]
    slow = {**rsa.public_jwk, "e": encode_base64url(b"\xff" * 256)}
    for jwk in (slow, {**rsa.public_jwk, "n": modulus * 2}, {**rsa.public_jwk, "n": modulus[:170]}):
        assert refusal(forge(rsa, header={"jwk": jwk})) == "invalid_dpop_proof"
    assert check(forge(rsa)).thumbprint == rsa.thumbprint


@pytest.mark.parametrize(
    "proof",
    [
        "",
        "..",
        "a.b",
        "not a proof",
        "ä.ö.ü",
        f"{forge(KEY)}.more",
        f"{forge(KEY)}, {forge(KEY)}",
        forge(KEY) + "=",
        f"{encode_base64url(b'{' * 4000)}.e30.",
        f"{encode_base64url(b'[' * 4000)}.{encode_base64url(b'[' * 1000)}.AA",
        f"{encode_base64url(b'null')}.{encode_base64url(b'[]')}.AA",
    ],
    # Keys differ in each process, and the names of tests must not.
    ids=[
        "nothing",
        "three-empty-parts",
        "two-parts",
        "words",
        "beyond-ascii",
        "four-parts",
        "two-proofs",
        "padding",
        "deep-header",
        "deep-payload",
        "null",
    ],
)
def test_text_that_is_no_proof_is_refused(proof: str) -> None:
    assert refusal(proof) == "invalid_dpop_proof"


def test_a_proof_is_refused_unread_that_is_too_long() -> None:
    padding = {"padding": "x" * 8192}
    assert refusal(forge(KEY, claims=padding)) == "invalid_dpop_proof"
    assert accepted(forge(KEY, claims={"padding": "x" * 4096}))


def test_a_proof_for_another_token_is_refused() -> None:
    bound = forge(KEY, claims={"ath": token_hash(TOKEN)})
    assert refusal(bound, access_token="another token") == "invalid_dpop_proof"
    assert refusal(forge(KEY), access_token=TOKEN) == "invalid_dpop_proof"
    assert accepted(bound, access_token=TOKEN)


def test_a_proof_of_another_key_than_that_of_the_token_is_an_invalid_token() -> None:
    assert refusal(forge(KEY), thumbprint=OTHER_KEY.thumbprint) == "invalid_token"
    assert accepted(forge(KEY), thumbprint=KEY.thumbprint)


def test_a_proof_of_an_algorithm_that_the_server_does_not_take_is_refused() -> None:
    assert refusal(forge(KEY), algorithms=["EdDSA"]) == "invalid_dpop_proof"
    assert accepted(forge(KEY), algorithms=["ES256"])


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES257"])
def test_a_server_cannot_take_an_algorithm_that_is_not_asymmetric(algorithm: str) -> None:
    with pytest.raises(UsageError, match="algorithms of proofs"):
        check(forge(KEY), algorithms=[algorithm])


@pytest.mark.parametrize("claims", [{}, {"nonce": "made up"}, {"nonce": "ä"}])
def test_a_proof_without_the_nonce_of_the_server_is_asked_for_it(claims: Mapping[str, str]) -> None:
    issuer = NonceIssuer()
    assert refusal(forge(KEY, claims=claims), nonce=issuer) == "use_dpop_nonce"
    assert accepted(forge(KEY, claims={"nonce": issuer.issue(NOW)}), nonce=issuer)


def test_a_proof_is_accepted_once() -> None:
    seen = SeenProofs()
    proof = forge(KEY)
    check(proof, seen=seen)
    assert refusal(proof, seen=seen) == "invalid_dpop_proof"
    assert accepted(forge(KEY, claims={"jti": "another"}), seen=seen)


def test_an_id_that_was_used_before_is_refused_in_a_new_proof() -> None:
    seen = SeenProofs()
    check(forge(KEY), seen=seen)
    assert refusal(forge(KEY, claims={"iat": NOW + 1}), seen=seen) == "invalid_dpop_proof"


def test_the_id_of_another_key_is_not_used_up() -> None:
    seen = SeenProofs()
    check(forge(KEY), seen=seen)
    assert check(forge(OTHER_KEY), seen=seen).thumbprint == OTHER_KEY.thumbprint


@pytest.mark.parametrize(
    "options",
    [
        {"access_token": "another token"},
        {"thumbprint": OTHER_KEY.thumbprint},
        {"nonce": NonceIssuer()},
        {"method": "GET"},
    ],
)
def test_a_proof_that_is_refused_is_not_remembered(options: Mapping[str, Any]) -> None:
    seen = SeenProofs()
    refusal(forge(KEY, claims={"ath": token_hash(TOKEN)}), seen=seen, **options)
    assert len(seen) == 0


def test_a_replay_is_refused_as_long_as_its_time_would_be_accepted() -> None:
    seen = SeenProofs()
    early = forge(KEY, claims={"iat": NOW + 300})
    check(early, seen=seen)
    assert refusal(early, seen=seen, now=NOW + 600) == "invalid_dpop_proof"
    assert len(seen) == 1
    assert refusal(early, seen=seen, now=NOW + 602) == "invalid_dpop_proof"


def test_a_full_memory_refuses_what_it_cannot_remember() -> None:
    seen = SeenProofs(max_proofs=1, max_per_key=1)
    check(forge(KEY), seen=seen)
    another = forge(OTHER_KEY, claims={"iat": NOW + 290})
    with pytest.raises(ProofRefused, match="too many proofs at present"):
        check(another, seen=seen)
    assert accepted(another, seen=seen, now=NOW + 302)


def test_the_keys_of_a_refused_proof_are_not_in_the_error() -> None:
    secret = KEY.private_jwk()
    with pytest.raises(ProofRefused) as caught:
        check(forge(KEY, header={"jwk": secret}))
    assert secret["d"] not in str(caught.value)
    assert "private key" in str(caught.value)


def test_a_signature_of_the_wrong_length_is_refused_not_raised() -> None:
    head = forge(KEY).rpartition(".")[0]
    assert not jws.verify("ES256", b"", b"", jws.import_key(KEY.public_jwk))
    assert refusal(f"{head}.") == "invalid_dpop_proof"
    assert refusal(f"{head}.{encode_base64url(b'x' * 1000)}") == "invalid_dpop_proof"
