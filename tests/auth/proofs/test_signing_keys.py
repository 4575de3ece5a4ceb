"""Signing keys are generated or loaded, suit their algorithm, and do not show their secret."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from base64 import b64encode
from typing import Any

import msgspec
import pytest
from joserfc import jwk as joserfc_jwk
from joserfc import jws as joserfc_jws
from joserfc import jwt as joserfc_jwt

from mcp_gen.auth.proofs.keys import ALGORITHMS, SigningKey, decode_base64url, key_thumbprint
from mcp_gen.auth.proofs.making import make_client_assertion, make_proof
from mcp_gen.core.errors import UsageError
from tests.auth.proofs.vectors import RSA_JWK, RSA_THUMBPRINT

KEY = SigningKey.generate()


def pem(kind: str, curve: Any = None, *, private: bool = True, password: str | None = None) -> str:
    """Return a new key as PEM."""
    classes: dict[str, Any] = {
        "EC": joserfc_jwk.ECKey,
        "OKP": joserfc_jwk.OKPKey,
        "RSA": joserfc_jwk.RSAKey,
    }
    key = classes[kind].generate_key(curve or 2048)
    text: bytes = key.as_pem(private=private, password=password)
    return text.decode()


def test_the_thumbprint_of_the_rfc_is_found() -> None:
    assert key_thumbprint(RSA_JWK) == RSA_THUMBPRINT


@pytest.mark.parametrize(
    "jwk", [{}, {"kty": "oct", "k": "AA"}, {"kty": "RSA", "n": 5, "e": "AQAB"}]
)
def test_what_is_no_public_key_has_no_thumbprint(jwk: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a public JWK"):
        key_thumbprint(jwk)


@pytest.mark.parametrize("algorithm", [one for one in ALGORITHMS if one[:2] not in ("RS", "PS")])
def test_a_key_is_stored_and_loaded_as_jwk(algorithm: str) -> None:
    key = SigningKey.generate(algorithm)
    stored = msgspec.json.encode(key.private_jwk())
    again = SigningKey.load(stored)
    assert (again.algorithm, again.thumbprint) == (algorithm, key.thumbprint)


@pytest.mark.parametrize(
    ("kind", "curve", "algorithm"),
    [
        ("EC", "P-256", "ES256"),
        ("EC", "P-384", "ES384"),
        ("EC", "P-521", "ES512"),
        ("OKP", "Ed25519", "EdDSA"),
        ("RSA", None, "PS256"),
    ],
)
def test_a_pem_key_signs_with_the_usual_algorithm_of_its_kind(
    kind: str, curve: str | None, algorithm: str
) -> None:
    assert SigningKey.load(pem(kind, curve)).algorithm == algorithm


def test_a_given_algorithm_is_used_where_the_key_suits_it() -> None:
    text = pem("RSA")
    assert SigningKey.load(text, "RS256").algorithm == "RS256"
    assert SigningKey.load(SigningKey.load(text), "RS384").algorithm == "RS384"
    assert SigningKey.load(KEY) is KEY


@pytest.mark.parametrize("algorithm", ["RS256", "ES384", "EdDSA"])
def test_a_key_is_refused_for_an_algorithm_of_another_kind(algorithm: str) -> None:
    with pytest.raises(UsageError, match="does not sign with"):
        SigningKey.load(pem("EC", "P-256"), algorithm)


def test_a_jwk_that_is_meant_for_one_algorithm_is_refused_for_another() -> None:
    with pytest.raises(UsageError, match="it is meant for PS256"):
        SigningKey.load({**SigningKey.load(pem("RSA")).private_jwk(), "alg": "PS256"}, "RS256")


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256K", ""])
def test_a_key_is_not_generated_for_an_algorithm_that_is_not_asymmetric(algorithm: str) -> None:
    with pytest.raises(UsageError, match="unknown algorithm"):
        SigningKey.generate(algorithm)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "not a key",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "{",
        "{}",
        '{"kty":"oct","k":"c2VjcmV0"}',
        '{"kty":["EC"]}',
        b"\xff\xfe",
        "x" * 20_000,
        pytest.param(pem("EC", "P-256", password="secret"), id="encrypted"),
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "d": "AA"},
    ],
)
def test_what_is_no_key_is_refused_in_one_line_without_its_text(key: Any) -> None:
    with pytest.raises(UsageError) as caught:
        SigningKey.load(key)
    assert str(caught.value).startswith("the key cannot be read: give an unencrypted private key")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_public_key_is_refused_with_what_is_needed() -> None:
    for key in (KEY.public_jwk, pem("EC", "P-256", private=False)):
        with pytest.raises(UsageError, match="give the private key"):
            SigningKey.load(key)


def test_a_key_that_only_agrees_on_secrets_does_not_sign() -> None:
    with pytest.raises(UsageError, match="keys of the curve X25519 do not sign"):
        SigningKey.load(pem("OKP", "X25519"))


def test_no_secret_is_in_the_repr_and_none_is_pickled_or_copied() -> None:
    secret = KEY.private_jwk()["d"]
    raw = decode_base64url(secret)
    shown = f"{KEY!r} {KEY} {KEY.public_jwk}"
    for text in (secret, raw.hex(), b64encode(raw).decode()):
        assert text not in shown
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="holds a secret"):
            copying(KEY)


def test_another_library_verifies_a_proof_by_the_key_in_its_header() -> None:
    proof = make_proof(
        KEY,
        "GET",
        "https://api.example/mcp?a=b",
        now=5.9,
        proof_id="x",
        nonce="n",
        access_token="t",
    )
    header = joserfc_jws.extract_compact(proof.encode()).headers()
    token = joserfc_jwt.decode(proof, joserfc_jwk.import_key(header["jwk"]), algorithms=["ES256"])
    assert header == {"typ": "dpop+jwt", "alg": "ES256", "jwk": KEY.public_jwk}
    assert token.claims == {
        "jti": "x",
        "htm": "GET",
        "htu": "https://api.example/mcp",
        "iat": 5,
        "nonce": "n",
        "ath": token.claims["ath"],
    }


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256", "Ed25519"])
def test_another_library_verifies_a_client_assertion(algorithm: str) -> None:
    key = SigningKey.generate(algorithm)
    text = make_client_assertion(key, "me", "https://as.example", now=100.5, assertion_id="once")
    public = joserfc_jwk.import_key(dict(key.public_jwk))
    token = joserfc_jwt.decode(text, public, algorithms=[algorithm])
    assert token.header == {"alg": algorithm, "typ": "JWT"}
    assert token.claims == {
        "iss": "me",
        "sub": "me",
        "aud": "https://as.example",
        "jti": "once",
        "iat": 100,
        "exp": 160,
    }


def test_a_client_assertion_names_the_key_id_of_its_jwk() -> None:
    key = SigningKey.load({**KEY.private_jwk(), "kid": "2"})
    text = make_client_assertion(key, "me", "https://as.example", now=1, assertion_id="x")
    assert joserfc_jws.extract_compact(text.encode()).headers()["kid"] == "2"


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc.errors", None)
    monkeypatch.delitem(sys.modules, "mcp_gen.auth.proofs.jws")
    monkeypatch.delattr("mcp_gen.auth.proofs.jws")
    with pytest.raises(UsageError) as caught:
        SigningKey.generate()
    assert str(caught.value) == (
        'keys and signatures need joserfc and cryptography: pip install "mcp-gen[auth]"'
    )


def test_the_libraries_are_loaded_by_the_first_key_alone() -> None:
    program = (
        "import sys\n"
        "from mcp_gen.auth.proofs import checking, keys, making, nonces, seen_proofs\n"
        "before = {'joserfc', 'cryptography'} & sys.modules.keys()\n"
        "keys.SigningKey.generate()\n"
        "print(sorted(before), 'joserfc' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[] True\n"
