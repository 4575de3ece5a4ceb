"""A client that was registered by hand: its id, and its secret or key."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_gen.auth.flows.metadata import ServerMetadata
from mcp_gen.auth.flows.targets import shown_issuer
from mcp_gen.auth.flows.token_requests import (
    AUTH_METHODS,
    AssertionSigner,
    ClientAuthentication,
    choose_auth_method,
)
from mcp_gen.auth.proofs.client_assertions import KeyAssertions
from mcp_gen.auth.proofs.keys import PrivateKey
from mcp_gen.core.errors import AuthError, UsageError

__all__ = ["ConfiguredClient"]

_NEEDS = {
    "client_secret_basic": "client_secret",
    "client_secret_post": "client_secret",
    "private_key_jwt": "private_key",
}


class ConfiguredClient:
    """Credentials of a client at one authorization server. Its repr has no secret.

    Args:
        client_id: The client.
        client_secret: Its secret; None for none.
        private_key: Its private key as PEM or JWK, for `private_key_jwt`; None for none.
        algorithm: What the key signs with; None for the usual algorithm of its kind.
        auth_method: One of `AUTH_METHODS`; None for what the authorization server supports.

    Raises:
        UsageError: They do not fit together, or the extra `auth` is not installed.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        private_key: PrivateKey | None = None,
        *,
        algorithm: str | None = None,
        auth_method: str | None = None,
    ) -> None:
        if not client_id:
            raise UsageError("client_id: expected the id of a registered client, got nothing")
        if client_secret is not None and private_key is not None:
            raise UsageError("give client_secret or private_key, not both")
        if algorithm is not None and private_key is None:
            raise UsageError("algorithm is that of private_key: give the key")
        self.client_id = client_id
        self._secret = client_secret
        self._signer: AssertionSigner | None = None
        if private_key is not None:
            self._signer = KeyAssertions(private_key, algorithm)
        self._usable = self._methods(auth_method)

    @property
    def secret(self) -> str | None:
        """The secret; None for none."""
        return self._secret

    @property
    def signer(self) -> AssertionSigner | None:
        """Signs assertions of the client; None without a key."""
        return self._signer

    @property
    def is_public(self) -> bool:
        """True if the client has neither a secret nor a key."""
        return self._secret is None and self._signer is None

    def authentication(self, server: ServerMetadata) -> ClientAuthentication:
        """Return how the client shows an authorization server who it is.

        Args:
            server: The authorization server.

        Raises:
            AuthError: It supports no method that the client can use.
        """
        method = choose_auth_method(server.token_endpoint_auth_methods_supported, self._usable)
        if method is None:
            supported = server.token_endpoint_auth_methods_supported or []
            raise AuthError(
                f"the authorization server {shown_issuer(server.issuer)} has no method of "
                f"authentication that this client can use: expected {' or '.join(self._usable)}, "
                f"got {', '.join(one for one in supported if one in AUTH_METHODS) or 'others'}; "
                "give what one of them needs"
            )
        self._check_algorithm(method, server)
        return self.authentication_by(method)

    def authentication_by(self, method: str | None = None) -> ClientAuthentication:
        """Return how the client shows who it is where no metadata says what is supported.

        Args:
            method: One of its methods; None for the first.
        """
        return ClientAuthentication(
            self.client_id, method or self._usable[0], self._secret, self._signer
        )

    def _methods(self, wanted: str | None) -> Sequence[str]:
        if wanted is None:
            if self._signer is not None:
                return ["private_key_jwt"]
            return (
                ["none"] if self._secret is None else ["client_secret_basic", "client_secret_post"]
            )
        if wanted not in AUTH_METHODS:
            raise UsageError(
                f"unknown auth_method {wanted!r}: use one of {', '.join(AUTH_METHODS)}"
            )
        given = {"client_secret": self._secret, "private_key": self._signer}
        needed = _NEEDS.get(wanted)
        if needed is not None and given[needed] is None:
            raise UsageError(f"auth_method {wanted!r} needs {needed}")
        if needed is None and not self.is_public:
            raise UsageError("auth_method 'none' has neither client_secret nor private_key")
        return [wanted]

    def _check_algorithm(self, method: str, server: ServerMetadata) -> None:
        supported = server.token_endpoint_auth_signing_alg_values_supported
        if method != "private_key_jwt" or supported is None or self._signer is None:
            return
        if self._signer.algorithm not in supported:
            raise AuthError(
                f"the authorization server {shown_issuer(server.issuer)} does not take client "
                f"assertions signed with {self._signer.algorithm}; register a key for another "
                "algorithm of its `token_endpoint_auth_signing_alg_values_supported`"
            )

    def __repr__(self) -> str:
        return f"ConfiguredClient({self.client_id!r}, {' or '.join(self._usable)})"
