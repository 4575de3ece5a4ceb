"""Signing keys and public JWKs: which key suits which algorithm, and thumbprints."""

from __future__ import annotations

import hashlib
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from mcp_gen.auth.proofs.jws import JoseKey

__all__ = [
    "ALGORITHMS",
    "KeyKind",
    "PrivateKey",
    "SigningKey",
    "decode_base64url",
    "encode_base64url",
    "jws",
    "key_thumbprint",
    "public_part",
]

MAX_KEY_BYTES = 16_384
"""Maximum length of a PEM or JWK text."""


class KeyKind(NamedTuple):
    """Kind of key that an algorithm signs with: `kty`, and `crv` if there are curves."""

    type: str
    curve: str | None = None


ALGORITHMS: Mapping[str, KeyKind] = {
    "ES256": KeyKind("EC", "P-256"),
    "ES384": KeyKind("EC", "P-384"),
    "ES512": KeyKind("EC", "P-521"),
    "PS256": KeyKind("RSA"),
    "PS384": KeyKind("RSA"),
    "PS512": KeyKind("RSA"),
    "RS256": KeyKind("RSA"),
    "RS384": KeyKind("RSA"),
    "RS512": KeyKind("RSA"),
    "EdDSA": KeyKind("OKP", "Ed25519"),
    "Ed25519": KeyKind("OKP", "Ed25519"),
}
"""The asymmetric algorithms, each with its kind of key. The first of a kind is its default.

Source: https://www.rfc-editor.org/rfc/rfc7518.html#section-3.1
"""

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
}
"""Members of a thumbprint, in the order of RFC 7638."""


def jws() -> ModuleType:
    """Return the module that signs and verifies.

    Raises:
        UsageError: The extra `auth` is not installed.
    """
    try:
        # Imported here because joserfc and cryptography are optional, and slow to load.
        from mcp_gen.auth.proofs import jws as module
    except ImportError as missing:
        raise UsageError(
            'keys and signatures need joserfc and cryptography: pip install "mcp-gen[auth]"'
        ) from missing
    return module


def encode_base64url(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode_base64url(text: str) -> bytes:
    """Return the bytes of a base64url text without padding.

    Raises:
        ValueError: It is no such text.
    """
    if not text.isascii() or "=" in text or "+" in text or "/" in text:
        raise ValueError("not base64url")
    return b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)


def public_part(jwk: Mapping[str, Any]) -> dict[str, str]:
    """Return the members of a JWK that make its public key, and no other.

    Raises:
        ValueError: The kind of key is unknown, or a member is missing.
    """
    names = _REQUIRED.get(str(jwk.get("kty")))
    if names is None or not all(isinstance(jwk.get(name), str) for name in names):
        raise ValueError("not a public JWK")
    return {name: jwk[name] for name in names}


def key_thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the SHA-256 thumbprint of a key, in base64url.

    Args:
        jwk: The key as JWK; members beside those of the public key do not count.

    Raises:
        ValueError: It is no key of a known kind.

    Source: https://www.rfc-editor.org/rfc/rfc7638.html#section-3
    """
    return encode_base64url(hashlib.sha256(msgspec.json.encode(public_part(jwk))).digest())


PrivateKey: TypeAlias = "str | bytes | Mapping[str, Any] | SigningKey"
"""A private key: PEM, JWK as text or members, or loaded."""


class SigningKey:
    """A private key with its algorithm, for DPoP proofs and client assertions.

    The private part is given by `private_jwk()` alone: no attribute, repr or log line has it.
    Made by `generate` or `load`.
    """

    __slots__ = ("_key", "_module", "algorithm", "key_id", "public_jwk", "thumbprint")

    def __init__(self, key: JoseKey, algorithm: str | None = None) -> None:
        self._module = jws()
        self._key = key
        members = self._module.export_key(key, private=False)
        self.public_jwk = public_part(members)
        """The public key as JWK, without other members."""
        self.key_id: str | None = members.get("kid")
        """The `kid` of the JWK; None if it has none."""
        if not key.is_private:
            raise UsageError("this is a public key: give the private key, as PEM or JWK")
        self.algorithm = _algorithm_of(members, algorithm)
        """Name of the algorithm, such as `ES256`."""
        self.thumbprint = key_thumbprint(members)
        """SHA-256 thumbprint of the public key (`jkt`)."""

    @classmethod
    def generate(cls, algorithm: str = "ES256") -> SigningKey:
        """Return a new key.

        Args:
            algorithm: What it signs with, such as `ES256`, `EdDSA` or `PS256`.

        Raises:
            UsageError: The algorithm is unknown, or the extra `auth` is not installed.
        """
        kind = _kind_of(algorithm)
        return cls(jws().generate_key(kind.type, kind.curve), algorithm)

    @classmethod
    def load(cls, key: PrivateKey, algorithm: str | None = None) -> SigningKey:
        """Return a key that is given as PEM, as JWK, or as it is.

        Args:
            key: PEM text, JWK text, the members of a JWK, or a key.
            algorithm: What it signs with; None for the `alg` of the JWK, or the usual one of its
                kind: `ES256`, `ES384`, `ES512`, `PS256` or `EdDSA`.

        Raises:
            UsageError: It is no private key, it does not suit the algorithm, or the extra `auth`
                is not installed.
        """
        if isinstance(key, SigningKey):
            if algorithm is not None and algorithm != key.algorithm:
                return cls(key._key, algorithm)
            return key
        module = jws()
        try:
            return cls(_read_key(module, key), algorithm)
        except ValueError:
            # Without its cause, whose text may quote the key.
            raise UsageError(
                "the key cannot be read: give an unencrypted private key as PEM or JWK, "
                "of RSA, of a NIST curve or Ed25519"
            ) from None

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        """Return a signed JWT.

        Args:
            header: Members of the header beside `alg`.
            claims: The claims.
        """
        encode = msgspec.json.encode
        signed = ".".join(
            encode_base64url(encode(part)) for part in ({"alg": self.algorithm, **header}, claims)
        )
        signature = self._module.sign(self.algorithm, signed.encode("ascii"), self._key)
        return f"{signed}.{encode_base64url(signature)}"

    def private_jwk(self) -> dict[str, Any]:
        """Return the private key as JWK, to be stored. It is a secret."""
        return {**self._module.export_key(self._key, private=True), "alg": self.algorithm}

    def __repr__(self) -> str:
        return f"SigningKey({self.algorithm}, thumbprint={self.thumbprint!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a SigningKey is not pickled: it holds a secret; see `private_jwk`")


def _read_key(module: ModuleType, key: str | bytes | Mapping[str, Any]) -> JoseKey:
    found: JoseKey
    if isinstance(key, Mapping):
        found = module.import_key(key)
    elif len(data := key.encode() if isinstance(key, str) else key) > MAX_KEY_BYTES:
        raise ValueError("too long")
    elif data.lstrip().startswith(b"{"):
        found = module.import_key(msgspec.json.decode(data, type=dict[str, Any]))
    else:
        found = module.import_pem(data)
    return found


def _kind_of(algorithm: str) -> KeyKind:
    kind = ALGORITHMS.get(algorithm)
    if kind is None:
        raise UsageError(f"unknown algorithm {algorithm!r}: use one of {', '.join(ALGORITHMS)}")
    return kind


def _algorithm_of(members: Mapping[str, Any], algorithm: str | None) -> str:
    """Return the algorithm of a key, given or usual.

    Raises:
        UsageError: The key does not suit it, or its kind signs with none.
    """
    own = KeyKind(members["kty"], members.get("crv"))
    stated = members.get("alg")
    wanted = algorithm or stated or next((n for n, kind in ALGORITHMS.items() if kind == own), None)
    if wanted is None:
        raise UsageError(f"keys of the curve {own.curve} do not sign here: use P-256 or Ed25519")
    if _kind_of(wanted) != own or (stated is not None and stated != wanted):
        raise UsageError(
            f"a key of {own.curve or own.type} does not sign with {wanted}"
            + (f": it is meant for {stated}" if stated else ": leave out algorithm=")
        )
    return wanted
