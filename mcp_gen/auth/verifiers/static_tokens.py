"""A verifier with a fixed table of tokens, for development."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from mcp_gen.auth.verifiers.claims import token_of_claims
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.access_token import AccessToken

__all__ = ["StaticTokens"]


class StaticTokens:
    """Verifier with a fixed table of tokens, for development and tests.

    Such tokens never end and are known to whoever reads the program: do not use them in public.

    ```python
    ResourceServer(audience=url, verifier=StaticTokens({"dev-token": "alice"}))
    StaticTokens({"dev-token": {"sub": "alice", "scope": "mcp files:read"}})
    ```

    Args:
        tokens: For each token its user, or its claims (`sub`, `client_id`, `scope`, `exp`, ...).
        scopes: Scopes of the tokens whose claims name none.

    Raises:
        UsageError: A token is empty or shorter than 8 characters, or its claims name nobody.
    """

    MIN_CHARS = 8

    cache_s = 0.0

    def __init__(
        self, tokens: Mapping[str, str | Mapping[str, Any]], *, scopes: Collection[str] = ()
    ) -> None:
        self._known: list[tuple[bytes, Mapping[str, Any]]] = []
        self._scopes = frozenset(scopes)
        for number, (token, given) in enumerate(tokens.items(), 1):
            claims = {"sub": given} if isinstance(given, str) else given
            if len(token) < self.MIN_CHARS:
                raise UsageError(
                    f"StaticTokens: token {number} has fewer than {self.MIN_CHARS} characters"
                )
            if not (claims.get("sub") or claims.get("client_id")):
                raise UsageError(f"StaticTokens: token {number} names nobody: give it a `sub`")
            self._known.append((sha256(token.encode()).digest(), claims))

    async def verify(self, token: str) -> AccessToken | None:
        """Return what the table says of a token; None if it is not there."""
        digest = sha256(token.encode()).digest()
        found = None
        # All are compared, each in constant time: time tells nothing about the table.
        for known, claims in self._known:
            if compare_digest(digest, known):
                found = claims
        return None if found is None else token_of_claims(token, found, scopes=self._scopes)

    def __repr__(self) -> str:
        return f"StaticTokens({len(self._known)} tokens)"
