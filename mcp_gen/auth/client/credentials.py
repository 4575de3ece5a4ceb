"""Credentials of a client: why new ones are needed, their state, and what sends requests."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mcp_gen.auth.flows.challenges import BearerChallenge
from mcp_gen.auth.flows.discovery import Discovered
from mcp_gen.auth.flows.targets import shown_issuer
from mcp_gen.auth.flows.token_requests import plain
from mcp_gen.auth.stores.token_store import StoredCredentials
from mcp_gen.core.errors import AuthError

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines

__all__ = [
    "AuthorizationStatus",
    "Need",
    "of_issuer",
    "token_of",
    "without_tokens",
]

T = TypeVar("T")


class AuthorizationStatus(Struct, frozen=True, kw_only=True):
    """State of the credentials for a server.

    Args:
        server: The URL of the server.
        issuer: The authorization server.
        client_id: The client there.
        scopes: Scopes that are granted.
        expires_at: End of the access token, in seconds since 1970; None if it is not told.
        subject: The user; None if the authorization server did not say it.
        logged_in: True if there is an access token that has not ended, or one can be had without
            the user.
    """

    server: str
    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    expires_at: float | None
    subject: str | None
    logged_in: bool


class Need(Struct, frozen=True, kw_only=True):
    """Why new credentials are needed.

    Args:
        challenge: What the refusal said.
        known: Credentials of the same authorization server, which are not enough; None for none.
        is_new: True if the server refused a token that was issued just now.
        step_up: True if it refused a token for its scopes alone.
    """

    challenge: BearerChallenge = BearerChallenge()
    known: StoredCredentials | None = None
    is_new: bool = False
    step_up: bool = False

    def challenged(self, resource: Sequence[str] | None) -> Sequence[str] | None:
        """Return the scopes that the refusal demands; None if it demands none.

        Args:
            resource: `scopes_supported` of the resource, which are meant by a refusal for scopes
                that does not name them.
        """
        named = self.challenge.scopes
        return resource if named is None and self.step_up else named

    def check(self, scopes: Collection[str] | None) -> None:
        """Check that new credentials would be others than those that were refused.

        Args:
            scopes: Scopes that would be asked for; None for none.

        Raises:
            AuthError: They were asked for before, and the server refused what came of it.
        """
        if self.known is None or not (self.is_new or self.step_up):
            return
        known = self.known
        if not set(scopes or ()) <= {*known.requested_scopes, *known.scopes}:
            return
        issuer = shown_issuer(known.issuer)
        lacking = sorted(set(self.challenge.scopes or ()) - set(known.scopes))
        if self.step_up and lacking:
            raise AuthError(
                f"{issuer} did not grant the scope {plain(' '.join(lacking))!r}, which the server "
                "needs for this: the client has asked for it before; log in again to be asked "
                "once more",
                "insufficient_scope",
            )
        raise AuthError(
            f"the server refuses a token that {issuer} has issued for it, with all scopes that "
            f"it asks for: {self.challenge.error or 'no reason given'}; ask its operator which "
            "scopes and audience it wants, and if you may have them",
            self.challenge.error,
        )


def without_tokens(found: StoredCredentials) -> StoredCredentials:
    """Return the registration of stored credentials, without tokens."""
    return replace(found, access_token=None, refresh_token=None, expires_at=None, key=None)


def of_issuer(stored: StoredCredentials | None, discovered: Discovered) -> StoredCredentials | None:
    """Return credentials of this authorization server: those of another are of no use there."""
    return stored if stored is not None and stored.issuer == discovered.server.issuer else None


def token_of(sent: Lines) -> str | None:
    """Return the token of header lines; None if there is none."""
    for name, value in sent:
        if name == b"authorization":
            return value.decode("ascii").partition(" ")[2]
    return None
