"""Signatures in JWS compact form, by joserfc, which is loaded with this module alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

__all__ = ["JoseKey", "export_key", "generate_key", "import_key", "import_pem", "sign", "verify"]

JoseKey: TypeAlias = "ECKey | OKPKey | RSAKey"

_CLASSES: Mapping[str, type[ECKey] | type[OKPKey] | type[RSAKey]] = {
    "EC": ECKey,
    "OKP": OKPKey,
    "RSA": RSAKey,
}
_RSA_BITS = 3072


def generate_key(kind: str, curve: str | None) -> JoseKey:
    """Return a new private key.

    Args:
        kind: Its `kty`: `EC`, `OKP` or `RSA`.
        curve: The curve; None for RSA.
    """
    if kind == "RSA":
        return RSAKey.generate_key(_RSA_BITS)
    return _CLASSES[kind].generate_key(cast("Any", curve))


def import_key(jwk: Mapping[str, Any]) -> JoseKey:
    """Return the key that a JWK describes.

    Raises:
        ValueError: It describes none, or one of a kind that does not sign.
    """
    try:
        return _CLASSES[jwk["kty"]].import_key(dict(jwk))
    except (JoseError, KeyError, TypeError, ValueError) as wrong:
        # Not the text of the cause: it may quote members of a private key.
        raise ValueError("not a usable JWK") from wrong


def import_pem(pem: bytes) -> JoseKey:
    """Return the key of a PEM text.

    Raises:
        ValueError: There is none, it is encrypted, or of a kind that does not sign.
    """
    for kind in _CLASSES.values():
        try:
            return kind.import_key(pem)
        except (JoseError, TypeError, ValueError):
            continue
    raise ValueError("not a usable PEM")


def export_key(key: JoseKey, *, private: bool) -> dict[str, Any]:
    """Return a key as JWK.

    Raises:
        ValueError: It has no private part, and this was asked for.
    """
    return dict(key.as_dict(private=private))


def sign(algorithm: str, message: bytes, key: JoseKey) -> bytes:
    """Return the signature of a message."""
    return JWSRegistry.algorithms[algorithm].sign(message, key)


def verify(algorithm: str, message: bytes, signature: bytes, key: JoseKey) -> bool:
    """Return True if a signature is that of the message, by the key."""
    try:
        return JWSRegistry.algorithms[algorithm].verify(message, signature, key)
    except (JoseError, ValueError):
        return False
