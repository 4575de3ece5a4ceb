"""Contracts of verifiers, and what they raise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mcp_gen.core.errors import AuthError, TransportError

if TYPE_CHECKING:
    from mcp_gen.core.transport.access_token import AccessToken

__all__ = ["InvalidToken", "RequestVerifier", "TokenVerifier", "VerifierUnavailable"]


class InvalidToken(AuthError):
    """A token is refused with 401.

    Args:
        reason: What is wrong with it, for the one who sent it: fixed text, nothing of the token.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "invalid_token")
        self.reason = reason


class VerifierUnavailable(TransportError):
    """A token could not be verified now, though it may be valid: answered with 503.

    Args:
        message: What failed, for the log of the server.
        retry_after_s: Seconds after which to try again.
    """

    def __init__(self, message: str, retry_after_s: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TokenVerifier(Protocol):
    """Verifies access tokens: write one for whatever `JwtVerifier` and others do not know.

    The verifier says whether a token is genuine. `ResourceServer` then checks its issuer, its
    audience if the claims have `aud`, its end, its scopes and the key that it is bound to.

    A verifier with an attribute `cache_s` allows `ResourceServer` to remember its tokens for that
    many seconds; without one, it is asked at each request.
    """

    async def verify(self, token: str) -> AccessToken | None:
        """Return what a token says; None if it is not valid.

        Args:
            token: The token as the client sent it: visible ASCII within the limit of
                `ResourceServer(max_token_bytes=...)`. It is a secret.

        Raises:
            InvalidToken: It is not valid, for a reason that the client may know.
            VerifierUnavailable: It cannot be verified now.
        """
        ...


@runtime_checkable
class RequestVerifier(Protocol):
    """Verifies requests that show who calls by something else than a token of their own."""

    async def verify_request(self, scope: Mapping[str, Any]) -> AccessToken | None:
        """Return who calls and what is allowed; None if the request does not say.

        Args:
            scope: The ASGI scope of the request.

        Raises:
            InvalidToken: What it says is not valid, for a reason that the client may know.
            VerifierUnavailable: It cannot be verified now.
        """
        ...
