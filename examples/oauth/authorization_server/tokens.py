"""Codes, grants and tokens: what was given to whom, and whether it still holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import SigningKeys, new_id
from examples.oauth.authorization_server.memory import ExpiringStore
from examples.oauth.authorization_server.settings import Settings

__all__ = ["AccessRecord", "AuthorizationCode", "Grant", "RefreshRecord", "TokenBook"]


@dataclass(eq=False)
class Grant:
    """Consent or credential that tokens follow from; revoking it ends them all."""

    client_id: str
    subject: str
    scopes: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    key_thumbprint: str | None = None
    """DPoP key that refresh tokens of a public client are bound to."""
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More claims of its access tokens."""
    parent: Grant | None = None
    """Grant of the token that it was exchanged for."""
    revoked: bool = False

    @property
    def holds(self) -> bool:
        """True if neither it nor a grant that it follows from was revoked."""
        return not self.revoked and (self.parent is None or self.parent.holds)


@dataclass
class AuthorizationCode:
    """Authorization code, and the request that it answers."""

    grant: Grant
    redirect_uri: str
    redirect_uri_was_sent: bool
    challenge: str | None
    challenge_method: str
    key_thumbprint: str | None
    nonce: str | None
    expires_at: float
    used: bool = False


@dataclass
class RefreshRecord:
    """Refresh token."""

    grant: Grant
    expires_at: float
    used: bool = False


@dataclass
class AccessRecord:
    """Access token."""

    grant: Grant
    claims: Mapping[str, Any]
    revoked: bool = False

    @property
    def scopes(self) -> tuple[str, ...]:
        """Scopes of the token, which may be fewer than those of its grant."""
        return tuple(str(self.claims.get("scope", "")).split())

    @property
    def holds(self) -> bool:
        """True if it was not revoked; says nothing of its time."""
        return not self.revoked and self.grant.holds


class TokenBook:
    """All codes and tokens that were given."""

    def __init__(self, settings: Settings, keys: SigningKeys) -> None:
        self._settings = settings
        self._keys = keys
        self._codes = ExpiringStore[AuthorizationCode](settings.max_held, settings.clock)
        self._refresh = ExpiringStore[RefreshRecord](settings.max_held, settings.clock)
        self._access = ExpiringStore[AccessRecord](settings.max_held, settings.clock)

    # Codes

    def add_code(self, code: AuthorizationCode) -> str:
        """Keep a code; return its text."""
        text = new_id()
        # Longer than it is good for: a replay revokes the tokens of that time.
        remembered_s = self._settings.code_lifetime_s + self._settings.access_token_lifetime_s
        self._codes.put(text, code, remembered_s)
        return text

    def use_code(self, text: str, client_id: str) -> AuthorizationCode:
        """Return a code, which is then used up; a second use revokes what the first gave.

        Raises:
            OAuthError: it is unknown, used, expired, or another client's.
        """
        code = self._codes.get(text)
        if code is None or code.grant.client_id != client_id:
            raise OAuthError("invalid_grant", "the code is unknown, or of another client")
        if code.used:
            code.grant.revoked = True
            raise OAuthError("invalid_grant", "the code was used before; its tokens are revoked")
        code.used = True
        if code.expires_at <= self._settings.clock():
            raise OAuthError("invalid_grant", "the code has expired")
        return code

    # Refresh tokens

    def add_refresh(self, grant: Grant) -> str:
        """Return a new refresh token of a grant."""
        text = new_id()
        lifetime_s = self._settings.refresh_token_lifetime_s
        record = RefreshRecord(grant, self._settings.clock() + lifetime_s)
        self._refresh.put(text, record, lifetime_s)
        return text

    def refresh(self, text: str, client_id: str) -> RefreshRecord:
        """Return the record of a refresh token; one that was rotated out revokes its grant.

        Raises:
            OAuthError: it is unknown, used, revoked, or another client's.
        """
        record = self._refresh.get(text)
        if record is None or record.grant.client_id != client_id:
            raise OAuthError("invalid_grant", "the refresh token is unknown, or of another client")
        if record.used:
            record.grant.revoked = True
            raise OAuthError("invalid_grant", "the refresh token was used before; log in again")
        if not record.grant.holds:
            raise OAuthError("invalid_grant", "the refresh token is revoked; log in again")
        return record

    # Access tokens

    def add_access(
        self,
        grant: Grant,
        scopes: tuple[str, ...],
        audience: tuple[str, ...],
        key_thumbprint: str | None,
    ) -> str:
        """Return a new access token: a JWT of RFC 9068, or an opaque text."""
        settings = self._settings
        now = settings.clock()
        claims: dict[str, Any] = {
            **grant.claims,
            "iss": settings.issuer,
            "aud": audience[0] if len(audience) == 1 else list(audience),
            "sub": grant.subject,
            "client_id": grant.client_id,
            "scope": " ".join(scopes),
            "iat": int(now),
            "exp": int(now + settings.access_token_lifetime_s),
            "jti": new_id(),
        }
        if not scopes:
            del claims["scope"]
        if key_thumbprint is not None:
            claims["cnf"] = {"jkt": key_thumbprint}
        jwt = settings.access_token_format == "jwt"
        text = self._keys.sign("at+jwt", claims) if jwt else new_id()
        self._access.put(text, AccessRecord(grant, claims), settings.access_token_lifetime_s)
        return text

    def access(self, text: str) -> AccessRecord | None:
        """Return the record of an access token that holds; None if there is none."""
        record = self._access.get(text)
        return record if record is not None and record.holds else None

    def id_token(self, grant: Grant, nonce: str | None) -> str:
        """Return an ID token of OpenID Connect for the user of a grant."""
        now = self._settings.clock()
        claims: dict[str, Any] = {
            "iss": self._settings.issuer,
            "sub": grant.subject,
            "aud": grant.client_id,
            "iat": int(now),
            "exp": int(now + self._settings.id_token_lifetime_s),
        }
        return self._keys.sign("JWT", claims if nonce is None else {**claims, "nonce": nonce})

    # All of them

    def owner(self, text: str) -> Grant | None:
        """Return the grant of a token of any kind."""
        found = self._refresh.get(text) or self._access.get(text)
        return None if found is None else found.grant

    def revoke(self, text: str) -> None:
        """Revoke a token: an access token alone, a refresh token with its whole grant."""
        if (record := self._refresh.get(text)) is not None:
            record.grant.revoked = True
        if (access := self._access.get(text)) is not None:
            access.revoked = True

    def active_refresh(self, text: str) -> RefreshRecord | None:
        """Return the record of a refresh token that holds; it does not count as used."""
        record = self._refresh.get(text)
        return None if record is None or record.used or not record.grant.holds else record
