"""DPoP: binds the tokens of any authorizer to a key, and proves it with each request."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Protocol, Self

from mcp_gen.auth.client.credentials import token_of
from mcp_gen.auth.proofs.keys import ALGORITHMS, SigningKey
from mcp_gen.auth.proofs.proving import KeyProofs
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.authorizing import RequestAuthorizer

if TYPE_CHECKING:
    from mcp_gen.auth.flows.token_requests import TokenProofs
    from mcp_gen.auth.proofs.keys import PrivateKey
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["BindableAuthorizer", "DPoP"]

_log = logging.getLogger("mcp_gen.auth")


class BindableAuthorizer(RequestAuthorizer, Protocol):
    """An authorizer that can ask for tokens which are bound to a key."""

    def bind_proofs(self, proofs: TokenProofs) -> None:
        """Ask for tokens that are bound to a key.

        Args:
            proofs: Proves at the token endpoint that the client has the key.
        """
        ...


class DPoP:
    """Authorizes with tokens that are of no use to one who steals them; see `RequestAuthorizer`.

        client = await connect(url, auth=DPoP(OAuth()))

    Each request carries a new proof of the key, also at the token endpoint; nonces that a server
    asks for are used. A bearer token is refused where the authorization server says that it
    supports DPoP; where it does not, a warning is logged once and the token is used. Logins,
    logouts and their state are those of the authorizer inside.

    Args:
        auth: The authorizer that has the tokens: `OAuth`, `ClientCredentials`, `EnterpriseManaged`
            or `WorkloadIdentity`.
        key: The private key as PEM or JWK; None for a new one. Tokens that are stored have theirs
            stored with them, which is used until they are forgotten.
        algorithm: Algorithm of a new key, such as `ES256` or `EdDSA`.
        clock: Returns the time in seconds since 1970.
        new_id: Returns random text that is used once.

    Raises:
        UsageError: The authorizer cannot be bound, the key cannot be used, or the extra `auth` is
            not installed.

    Source: https://www.rfc-editor.org/rfc/rfc9449.html
    """

    def __init__(
        self,
        auth: BindableAuthorizer,
        key: PrivateKey | None = None,
        algorithm: str = "ES256",
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = secrets.token_urlsafe,
    ) -> None:
        if not hasattr(auth, "bind_proofs"):
            raise UsageError(
                f"DPoP: expected an authorizer such as OAuth(), got {type(auth).__name__}"
            )
        if algorithm not in ALGORITHMS:
            raise UsageError(f"unknown algorithm {algorithm!r}: use one of {', '.join(ALGORITHMS)}")
        loaded = None if key is None else SigningKey.load(key)
        self._auth = auth
        self._proofs = KeyProofs(loaded, algorithm, clock, new_id)
        self._warned = False
        auth.bind_proofs(self._proofs)

    async def headers(self, method: str, url: str) -> Lines:
        """Return the header lines of a request: the token, and a new proof.

        Raises:
            AuthError: There is no token, and none can be had.
        """
        lines = await self._auth.headers(method, url)
        token = token_of(lines)
        if token is None:
            return lines
        if not _is_bound(lines):
            self._warn()
            return lines
        proof = self._proofs.resource_proof(method, url, token)
        return (*lines, (b"dpop", proof.encode("ascii")))

    async def retry(
        self, method: str, url: str, status: int, headers: Mapping[str, str], sent: Lines
    ) -> bool:
        """Act on a refusal: with the nonce that it asks for, or with another token.

        Raises:
            AuthError: The server refuses the proofs, or no other token can be had.
        """
        proof = next((value for name, value in sent if name == b"dpop"), None)
        if (
            status == 401
            and proof is not None
            and self._proofs.resource_refused(url, headers, proof.decode("ascii"))
        ):
            return True
        return await self._auth.retry(method, url, status, headers, sent)

    def responded(self, url: str, headers: Mapping[str, str]) -> None:
        """Take notice of a response, and of the nonce in it."""
        self._proofs.resource_answered(url, headers)
        self._auth.responded(url, headers)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(
                "DPoP: the authorization server does not say that it supports it, and issued a "
                "bearer token: whoever steals the token can use it"
            )

    @property
    def identity(self) -> Hashable:
        """Whose credentials these are; None while there are none."""
        return self._auth.identity

    async def aclose(self) -> None:
        """Close what was opened."""
        await self._auth.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"DPoP({self._auth!r}, {self._proofs.algorithm})"


def _is_bound(lines: Lines) -> bool:
    return any(name == b"authorization" and value[:5].lower() == b"dpop " for name, value in lines)
