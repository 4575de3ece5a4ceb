"""The token endpoint: one method per grant."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from starlette.responses import Response

from examples.oauth.authorization_server.clients import Client
from examples.oauth.authorization_server.endpoints.parts import ServerParts
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.requests import Parameters, Received
from examples.oauth.authorization_server.tokens import AuthorizationCode, Grant

__all__ = ["GrantMethod", "TokenEndpoint"]

GrantMethod: TypeAlias = Callable[[Received, Parameters, str | None], Awaitable[Mapping[str, Any]]]
"""Method of a grant type: request, form and thumbprint of the DPoP key, to the response."""


class TokenEndpoint(ServerParts):
    """Endpoint that gives tokens for codes, refresh tokens, secrets and assertions."""

    def grants(self) -> Mapping[str, GrantMethod]:
        """Return the method of each grant type."""
        return {
            "authorization_code": self.authorization_code,
            "refresh_token": self.refresh_token,
        }

    async def token(self, asked: Received) -> Response:
        """Answer a token request."""
        headers = {"dpop-nonce": self.proofs.nonce()} if self.dpop_nonces else {}
        try:
            return self.json(await self.token_response(asked), headers=headers)
        except OAuthError as error:
            error.headers |= headers
            raise

    async def token_response(self, asked: Received) -> Mapping[str, Any]:
        """Return the response to a token request.

        Raises:
            OAuthError: it is refused.
        """
        form = asked.form
        form.refuse_repeated()
        grant_type = form.required("grant_type")
        method = self.grants().get(grant_type)
        if method is None or grant_type not in self.grant_types:
            raise OAuthError("unsupported_grant_type", f"{grant_type[:80]} is not supported")
        return await method(asked, form, self.key_thumbprint(asked))

    def key_thumbprint(self, asked: Received) -> str | None:
        """Return the thumbprint of the key that the DPoP header proves; None without one.

        Raises:
            OAuthError: the proof is refused, or there must be one.
        """
        proof = asked.headers.get("dpop")
        if self.dpop == "off" or (proof is None and self.dpop == "on"):
            return None
        if proof is None:
            raise OAuthError("invalid_dpop_proof", "a DPoP proof is required")
        return self.proofs.thumbprint(proof, asked.method, self.url(asked.endpoint))

    async def client_for(
        self, asked: Received, form: Parameters, key_thumbprint: str | None
    ) -> Client:
        """Return the authenticated client, which may use this grant.

        Raises:
            OAuthError: it is unknown, or has not registered the grant.
        """
        client = await self.authenticator.authenticate(asked, form)
        if form["grant_type"] not in client.grant_types:
            raise OAuthError("unauthorized_client", "the client has not registered this grant")
        if client.dpop_bound and key_thumbprint is None and self.dpop != "off":
            raise OAuthError("invalid_dpop_proof", "the client has registered to send DPoP proofs")
        return client

    async def authorization_code(
        self, asked: Received, form: Parameters, key_thumbprint: str | None
    ) -> Mapping[str, Any]:
        """Give tokens for a code."""
        client = await self.client_for(asked, form, key_thumbprint)
        code = self.tokens.use_code(form.required("code"), client.client_id)
        self.check_code(code, form, key_thumbprint)
        grant = code.grant
        if client.auth_method == "none":
            grant.key_thumbprint = key_thumbprint
        audience = self.narrowed_resources(grant, form)
        given = self.given(grant, grant.scopes, audience, key_thumbprint)
        if self.may_refresh(client, grant):
            given["refresh_token"] = self.tokens.add_refresh(grant)
        if "openid" in grant.scopes:
            given["id_token"] = self.tokens.id_token(grant, code.nonce)
        return given

    def check_code(
        self, code: AuthorizationCode, form: Parameters, key_thumbprint: str | None
    ) -> None:
        """Check what a token request must repeat of the authorization request.

        Raises:
            OAuthError: redirect URI, code verifier or key are others.
        """
        given = form.get("redirect_uri")
        if given != code.redirect_uri and (given is not None or code.redirect_uri_was_sent):
            raise OAuthError("invalid_grant", "redirect_uri is not the authorization request's")
        verifier = form.get("code_verifier")
        if (verifier is None) != (code.challenge is None):
            raise OAuthError("invalid_grant", "code_verifier goes with code_challenge")
        if verifier is not None and code.challenge is not None:
            made = challenge_of(verifier, code.challenge_method)
            if not hmac.compare_digest(made.encode(), code.challenge.encode()):
                raise OAuthError("invalid_grant", "code_verifier does not fit code_challenge")
        if code.key_thumbprint is not None and code.key_thumbprint != key_thumbprint:
            raise OAuthError("invalid_grant", "the code is bound to another DPoP key")

    async def refresh_token(
        self, asked: Received, form: Parameters, key_thumbprint: str | None
    ) -> Mapping[str, Any]:
        """Give new tokens for a refresh token."""
        client = await self.client_for(asked, form, key_thumbprint)
        text = form.required("refresh_token")
        record = self.tokens.refresh(text, client.client_id)
        grant = record.grant
        if grant.key_thumbprint is not None and grant.key_thumbprint != key_thumbprint:
            raise OAuthError("invalid_grant", "the refresh token is bound to another DPoP key")
        scopes = tuple(dict.fromkeys(form.get("scope", " ".join(grant.scopes)).split()))
        if set(scopes) - set(grant.scopes):
            raise OAuthError("invalid_scope", "a refresh can only narrow the scopes")
        audience = self.narrowed_resources(grant, form)
        given = self.given(grant, scopes, audience, key_thumbprint)
        if self.rotate_refresh_tokens:
            record.used = True
            given["refresh_token"] = self.tokens.add_refresh(grant)
        return given

    def may_refresh(self, client: Client, grant: Grant) -> bool:
        """Return True if a client gets a refresh token."""
        if "refresh_token" not in client.grant_types & set(self.grant_types):
            return False
        asked = "offline_access" in grant.scopes
        return {"always": True, "offline_access": asked, "never": False}[self.refresh_tokens]

    def narrowed_resources(self, grant: Grant, form: Parameters) -> tuple[str, ...]:
        """Return the audience of a token: resources of the request, within those of the grant.

        Raises:
            OAuthError: one is not the grant's.
        """
        if "resource" not in form:
            return grant.resources or (self.issuer,)
        asked = self.checked_resources(form)
        if grant.resources and set(asked) - set(grant.resources):
            raise OAuthError("invalid_target", "resource is not the authorization request's")
        return asked

    def given(
        self,
        grant: Grant,
        scopes: tuple[str, ...],
        audience: tuple[str, ...],
        key_thumbprint: str | None,
    ) -> dict[str, Any]:
        """Return a token response with a new access token."""
        response: dict[str, Any] = {
            "access_token": self.tokens.add_access(grant, scopes, audience, key_thumbprint),
            "token_type": "Bearer" if key_thumbprint is None else "DPoP",
            "expires_in": int(self.access_token_lifetime_s),
        }
        return {**response, "scope": " ".join(scopes)} if scopes else response


def challenge_of(verifier: str, method: str) -> str:
    """Return the code challenge of a verifier (RFC 7636)."""
    if method == "plain":
        return verifier
    digest = hashlib.sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
