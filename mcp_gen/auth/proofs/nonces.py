"""Nonces that a server demands in proofs: they follow from the time and a key, none is stored."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence

from mcp_gen.auth.proofs.keys import encode_base64url
from mcp_gen.core.errors import UsageError

__all__ = ["NonceIssuer"]

_MIN_KEY_BYTES = 32


class NonceIssuer:
    """Issues nonces for DPoP proofs, and knows its own again.

    A nonce is the same for all clients for `lifetime_s`, and accepted for as long again. Processes
    that serve one URL share the keys; else each refuses the nonces of the others once.

    Args:
        keys: Secret keys of at least 32 bytes: the first makes nonces, all are accepted. None for a
            random one.
        lifetime_s: Seconds until the next nonce.

    Source: https://www.rfc-editor.org/rfc/rfc9449.html#section-8
    """

    def __init__(self, keys: Sequence[str | bytes] | None = None, lifetime_s: float = 300.0):
        encoded = [key.encode() if isinstance(key, str) else key for key in keys or ()]
        if any(len(key) < _MIN_KEY_BYTES for key in encoded):
            raise UsageError("keys of nonces have at least 32 bytes: secrets.token_bytes(32)")
        if lifetime_s < 1:
            raise UsageError("lifetime_s of nonces is at least 1")
        self._keys = encoded or [os.urandom(_MIN_KEY_BYTES)]
        self.lifetime_s = lifetime_s

    def issue(self, now: float) -> str:
        """Return the nonce of the moment, for the header `DPoP-Nonce`.

        Args:
            now: Seconds since 1970.
        """
        return self._nonce(self._keys[0], int(now // self.lifetime_s))

    def accepts(self, nonce: str, now: float) -> bool:
        """Return True if a nonce is the present or the previous one.

        Args:
            nonce: The nonce of a proof.
            now: Seconds since 1970.
        """
        period = int(now // self.lifetime_s)
        given = nonce.encode("utf-8", "replace")
        known = [self._nonce(key, each) for key in self._keys for each in (period, period - 1)]
        # All are compared: the time taken says nothing.
        return sum(hmac.compare_digest(given, one.encode("ascii")) for one in known) > 0

    def _nonce(self, key: bytes, period: int) -> str:
        message = b"dpop nonce " + period.to_bytes(8, "big", signed=True)
        return encode_base64url(hmac.digest(key, message, hashlib.sha256)[:18])

    def __repr__(self) -> str:
        return f"NonceIssuer(lifetime_s={self.lifetime_s!r})"
