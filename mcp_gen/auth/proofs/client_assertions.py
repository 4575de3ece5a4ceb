"""Client assertions of a key, as token endpoints ask for them (`private_key_jwt`)."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from mcp_gen.auth.proofs.keys import PrivateKey, SigningKey
from mcp_gen.auth.proofs.making import make_client_assertion

__all__ = ["KeyAssertions"]


class KeyAssertions:
    """Signs the assertions of one client; see `AssertionSigner`. Its repr has no secret.

    Args:
        private_key: The private key as PEM or JWK; the authorization server knows its public part.
        algorithm: What the key signs with; None for the usual algorithm of its kind.
        lifetime_s: Seconds until an assertion expires.
        new_id: Returns random text that is used once.

    Raises:
        UsageError: The key cannot be used, or the extra `auth` is not installed.
    """

    def __init__(
        self,
        private_key: PrivateKey,
        algorithm: str | None = None,
        *,
        lifetime_s: float = 60.0,
        new_id: Callable[[], str] = secrets.token_urlsafe,
    ) -> None:
        self._key = SigningKey.load(private_key, algorithm)
        self._lifetime_s = lifetime_s
        self._new_id = new_id

    @property
    def algorithm(self) -> str:
        """The `alg` of the signature."""
        return self._key.algorithm

    def sign(self, client_id: str, audience: str, now: float) -> str:
        """Return a new assertion.

        Args:
            client_id: The client: issuer and subject.
            audience: The issuer of the authorization server.
            now: The current time, in seconds since 1970.
        """
        return make_client_assertion(
            self._key,
            client_id,
            audience,
            now=now,
            assertion_id=self._new_id(),
            lifetime_s=self._lifetime_s,
        )

    def __repr__(self) -> str:
        return f"KeyAssertions({self._key!r})"
