"""The authorization endpoint: codes with PKCE, `resource` and `iss`, and the consent page."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, RedirectResponse, Response

from examples.oauth.authorization_server.clients import Client, redirects_to
from examples.oauth.authorization_server.endpoints.pages import (
    PAGE_HEADERS,
    consent_page,
    error_page,
)
from examples.oauth.authorization_server.endpoints.parts import NO_STORE, ServerParts
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import new_id
from examples.oauth.authorization_server.memory import ExpiringStore
from examples.oauth.authorization_server.requests import Parameters, Received
from examples.oauth.authorization_server.tokens import AuthorizationCode, Grant

__all__ = ["AuthorizationEndpoint", "AuthorizationRequest"]

CHALLENGE = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
CONSENT_S = 600.0


@dataclass(frozen=True)
class AuthorizationRequest:
    """Authorization request after its checks."""

    client: Client
    redirect_uri: str
    redirect_uri_was_sent: bool
    state: str | None
    scopes: tuple[str, ...]
    resources: tuple[str, ...]
    challenge: str | None
    challenge_method: str
    key_thumbprint: str | None
    nonce: str | None


class AuthorizationEndpoint(ServerParts):
    """Endpoint that a browser visits, and the form of its page."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pending = ExpiringStore[AuthorizationRequest](self.max_held, self.clock)

    async def authorize(self, asked: Received) -> Response:
        """Answer an authorization request: a redirect, a page, or an error without a redirect."""
        try:
            params = asked.parameters
            client, redirect_uri = await self.redirect_target(params)
        except OAuthError as error:
            return HTMLResponse(error_page(error), 400, PAGE_HEADERS)
        try:
            request = self.authorization_request(client, redirect_uri, params)
        except OAuthError as error:
            refused = {"error": error.error, "error_description": error.description}
            return self.authorization_response(redirect_uri, params.get("state"), refused)
        if self.consent == "automatic":
            return self.approve(request, self.user)
        if self.consent == "denied":
            return self.deny(request)
        ticket = new_id()
        self._pending.put(ticket, request, CONSENT_S)
        return self.consent_form(request, ticket)

    async def redirect_target(self, params: Parameters) -> tuple[Client, str]:
        """Return the client and the redirect URI of a request.

        Raises:
            OAuthError: either is wrong: then nothing may be redirected.
        """
        params.refuse_repeated("client_id", "redirect_uri")
        client = await self.clients.find(params.required("client_id"))
        if client is None:
            raise OAuthError("invalid_request", "the client is unknown")
        given = params.get("redirect_uri")
        if given is None and len(client.redirect_uris) == 1:
            given = client.redirect_uris[0]
        if given is None:
            raise OAuthError("invalid_request", "redirect_uri is missing")
        if not redirects_to(client, given, self):
            raise OAuthError("invalid_request", "redirect_uri is not registered for this client")
        return client, given

    def authorization_request(
        self, client: Client, redirect_uri: str, params: Parameters
    ) -> AuthorizationRequest:
        """Return a request after its checks.

        Raises:
            OAuthError: it is refused; the redirect tells the client.
        """
        params.refuse_repeated()
        for name in ("request", "request_uri"):
            if name in params:
                raise OAuthError(f"{name}_not_supported", f"{name} is not supported")
        if params.required("response_type") != "code":
            raise OAuthError("unsupported_response_type", "response_type must be code")
        if "authorization_code" not in client.grant_types & set(self.grant_types):
            raise OAuthError("unauthorized_client", "the client has not registered this grant")
        challenge, method = self.challenge(params)
        return AuthorizationRequest(
            client=client,
            redirect_uri=redirect_uri,
            redirect_uri_was_sent="redirect_uri" in params,
            state=params.get("state"),
            scopes=self.checked_scopes(client, params.get("scope")),
            resources=self.checked_resources(params),
            challenge=challenge,
            challenge_method=method,
            key_thumbprint=params.get("dpop_jkt"),
            nonce=params.get("nonce"),
        )

    def challenge(self, params: Parameters) -> tuple[str | None, str]:
        """Return the code challenge of a request and its method (RFC 7636).

        Raises:
            OAuthError: it is missing, malformed, or of a method that is not supported.
        """
        challenge, method = params.get("code_challenge"), params.get("code_challenge_method")
        if challenge is None:
            if self.pkce_required or method is not None:
                raise OAuthError("invalid_request", "code_challenge is missing")
            return None, ""
        # RFC 7636: without a method it is `plain`.
        if (method or "plain") not in self.pkce_methods:
            raise OAuthError("invalid_request", "code_challenge_method must be S256")
        if not CHALLENGE.fullmatch(challenge):
            raise OAuthError("invalid_request", "code_challenge is malformed")
        return challenge, method or "plain"

    def approve(self, request: AuthorizationRequest, user: str) -> Response:
        """Give a code for a request that a user has consented to."""
        params = {"code": self.new_code(request, user)}
        return self.authorization_response(request.redirect_uri, request.state, params)

    def deny(self, request: AuthorizationRequest) -> Response:
        """Tell a client that the user has refused."""
        refused = {"error": "access_denied", "error_description": "the user has refused"}
        return self.authorization_response(request.redirect_uri, request.state, refused)

    def new_code(self, request: AuthorizationRequest, user: str) -> str:
        """Return a new code for a request."""
        grant = Grant(
            client_id=request.client.client_id,
            subject=user,
            scopes=request.scopes,
            resources=request.resources,
        )
        code = AuthorizationCode(
            grant=grant,
            redirect_uri=request.redirect_uri,
            redirect_uri_was_sent=request.redirect_uri_was_sent,
            challenge=request.challenge,
            challenge_method=request.challenge_method,
            key_thumbprint=request.key_thumbprint,
            nonce=request.nonce,
            expires_at=self.clock() + self.code_lifetime_s,
        )
        return self.tokens.add_code(code)

    def authorization_response(
        self, redirect_uri: str, state: str | None, params: Mapping[str, str]
    ) -> Response:
        """Return the redirect with these parameters, `state` and `iss`."""
        sent = dict(params)
        if state is not None:
            sent["state"] = state
        if self.iss_parameter:
            sent["iss"] = self.issuer
        separator = "&" if "?" in redirect_uri else "?"
        location = f"{redirect_uri}{separator}{urlencode(sent)}"
        headers = {**NO_STORE, "referrer-policy": "no-referrer"}
        # 303: the browser must not post the consent form, with its password, to the client.
        return RedirectResponse(location, 303, headers)

    def consent_form(
        self, request: AuthorizationRequest, ticket: str, problem: str = "", status: int = 200
    ) -> Response:
        """Return the page that asks for consent."""
        page = consent_page(
            client=request.client.name or request.client.client_id,
            client_id=request.client.client_id,
            redirect_uri=request.redirect_uri,
            resources=request.resources,
            scopes=request.scopes,
            action=self.url("consent"),
            ticket=ticket,
            problem=problem,
        )
        return HTMLResponse(page, status, PAGE_HEADERS)

    async def decide(self, asked: Received) -> Response:
        """Answer the form of the consent page."""
        try:
            form = asked.form
            form.refuse_repeated()
            request = self._pending.take(form.required("ticket"))
            if request is None:
                raise OAuthError("invalid_request", "this page has expired; begin again")
        except OAuthError as error:
            return HTMLResponse(error_page(error), 400, PAGE_HEADERS)
        if form.get("decision") != "allow":
            return self.deny(request)
        user = form.get("user", "")
        password = self.users.get(user)
        given = form.get("password", "")
        if password is None or not hmac.compare_digest(password.encode(), given.encode()):
            ticket = new_id()
            self._pending.put(ticket, request, CONSENT_S)
            return self.consent_form(request, ticket, "Unknown user or wrong password.", 401)
        return self.approve(request, user)
