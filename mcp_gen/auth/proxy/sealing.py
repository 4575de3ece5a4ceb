"""Keys of a proxy: what it signs for others to carry, and what it encrypts for its store."""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from mcp_gen.auth.proofs.keys import decode_base64url, encode_base64url
from mcp_gen.core.errors import UsageError

__all__ = ["MIN_SECRET_BYTES", "ProxyKeys", "digest", "random_text"]

T = TypeVar("T")

MIN_SECRET_BYTES = 32
MAX_SIGNED_CHARS = 24 * 1024


class ProxyKeys:
    """Keys that are derived from the secrets of a proxy, one for each purpose.

    Args:
        secret: A secret of at least 32 bytes, or several: the first signs and encrypts, all are
            accepted. None for a random one.

    Raises:
        UsageError: A secret is too short, or the extra `auth` is not installed.
    """

    def __init__(self, secret: str | bytes | Sequence[str | bytes] | None) -> None:
        try:
            # Imported here because cryptography is optional.
            from cryptography.fernet import Fernet, InvalidToken, MultiFernet
        except ImportError as missing:
            raise UsageError(
                'OAuthProxy encrypts with cryptography: pip install "mcp-gen[auth]"'
            ) from missing
        if secret is None:
            secret = os.urandom(MIN_SECRET_BYTES)
        given = [secret] if isinstance(secret, str | bytes) else list(secret)
        known = [one.encode() if isinstance(one, str) else one for one in given]
        if not known or any(len(one) < MIN_SECRET_BYTES for one in known):
            raise UsageError(
                f"secret: expected at least {MIN_SECRET_BYTES} bytes: secrets.token_urlsafe(32)"
            )
        self._known = known
        self._fernet = MultiFernet(
            [Fernet(urlsafe_b64encode(_derived(one, "stored"))) for one in known]
        )
        self._invalid = InvalidToken

    def sign(self, purpose: str, value: object) -> str:
        """Return a value as a text that nobody else can make. Whoever has it can read it.

        Args:
            purpose: What it is for; it is read for nothing else.
            value: A value of JSON, or a struct.
        """
        payload = msgspec.json.encode(value)
        mac = _mac(self._known[0], purpose, payload)
        return f"{encode_base64url(payload)}.{encode_base64url(mac)}"

    def read(self, purpose: str, text: str, type: type[T]) -> T | None:
        """Return a signed value; None if it was not signed here for this purpose.

        Args:
            purpose: What it is for.
            text: What `sign` returned.
            type: The type of the value.
        """
        if len(text) > MAX_SIGNED_CHARS:
            return None
        first, _, second = text.partition(".")
        try:
            payload, mac = decode_base64url(first), decode_base64url(second)
        except ValueError:
            return None
        if not any(hmac.compare_digest(mac, _mac(one, purpose, payload)) for one in self._known):
            return None
        try:
            return msgspec.json.decode(payload, type=type)
        except msgspec.MsgspecError:
            # Signed by another version of this program.
            return None

    def seal(self, value: object) -> bytes:
        """Return a value encrypted and authenticated.

        Args:
            value: A value of JSON, or a struct.
        """
        return self._fernet.encrypt(msgspec.json.encode(value))

    def unseal(self, data: bytes, type: type[T]) -> T | None:
        """Return a value that was encrypted here; None if it was not.

        Args:
            data: What `seal` returned.
            type: The type of the value.
        """
        try:
            return msgspec.json.decode(self._fernet.decrypt(data), type=type)
        except (self._invalid, msgspec.MsgspecError):
            return None

    def __repr__(self) -> str:
        return f"ProxyKeys({len(self._known)})"


def digest(text: str) -> str:
    """Return the SHA-256 of a secret, under which it is stored and found."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def random_text() -> str:
    """Return 256 random bits as a text."""
    return encode_base64url(os.urandom(32))


def _derived(secret: bytes, purpose: str) -> bytes:
    return hmac.digest(secret, f"mcp_gen OAuthProxy {purpose}".encode(), hashlib.sha256)


def _mac(secret: bytes, purpose: str, payload: bytes) -> bytes:
    return hmac.digest(_derived(secret, f"signed {purpose}"), payload, hashlib.sha256)
