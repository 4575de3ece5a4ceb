"""Grants without a browser: client credentials, token exchange, and JWTs of other issuers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from examples.oauth.authorization_server.clients import Client
from examples.oauth.authorization_server.endpoints.token import GrantMethod, TokenEndpoint
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import (
    audiences,
    checked,
    header_of,
    new_id,
    unchecked,
)
from examples.oauth.authorization_server.requests import Parameters, Received
from examples.oauth.authorization_server.settings import JWT_BEARER, TOKEN_EXCHANGE
from examples.oauth.authorization_server.tokens import Grant

__all__ = ["ID_JAG", "ID_JAG_TYPE", "AssertionGrants", "Subject"]

TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"
ACCESS_TOKEN, ID_TOKEN = f"{TOKEN_TYPE}access_token", f"{TOKEN_TYPE}id_token"
ID_JAG = f"{TOKEN_TYPE}id-jag"
ID_JAG_TYPE = "oauth-id-jag+jwt"


class Subject(NamedTuple):
    """User that a subject token is of, and the grant that it follows from."""

    name: str
    scopes: tuple[str, ...] | None
    """Scopes that an exchange may ask for; None: any."""
    grant: Grant | None


class AssertionGrants(TokenEndpoint):
    """Token endpoint with the grants of RFC 6749 section 4.4, RFC 8693 and RFC 7523."""

    def grants(self) -> Mapping[str, GrantMethod]:
        """Return the method of each grant type."""
        return {
            **super().grants(),
            "client_credentials": self.client_credentials,
            TOKEN_EXCHANGE: self.token_exchange,
            JWT_BEARER: self.jwt_bearer,
        }

    async def client_credentials(
        self, asked: Received, form: Parameters, key_thumbprint: str | None
    ) -> Mapping[str, Any]:
        """Give a token to a client for itself."""
        client = await self.client_for(asked, form, key_thumbprint)
        if client.auth_method == "none":
            raise OAuthError("unauthorized_client", "a public client has no credentials")
        return self.given_to(client, client.client_id, form, key_thumbprint)

    def given_to(
        self, client: Client, subject: str, form: Parameters, key_thumbprint: str | None
    ) -> dict[str, Any]:
        """Return a response with the scopes and resources that a request asks for."""
        grant = Grant(
            client_id=client.client_id,
            subject=subject,
            scopes=self.checked_scopes(client, form.get("scope")),
            resources=self.checked_resources(form),
        )
        return self.given(grant, grant.scopes, grant.resources or (self.issuer,), key_thumbprint)

    # Token exchange (RFC 8693)

    async def token_exchange(
        self, asked: Received, form: Parameters, key_thumbprint: str | None
    ) -> Mapping[str, Any]:
        """Exchange a token of a user for an access token or an ID-JAG."""
        client = await self.client_for(asked, form, key_thumbprint)
        if "actor_token" in form:
            raise OAuthError("invalid_request", "actor_token is not supported")
        requested = form.get("requested_token_type", ACCESS_TOKEN)
        subject = self.exchanged_subject(client, form)
        if requested == ID_JAG:
            return self.id_jag(client, subject, form)
        if requested != ACCESS_TOKEN:
            raise OAuthError("invalid_request", "requested_token_type is not supported")
        scopes = self.checked_scopes(client, form.get("scope"))
        if subject.scopes is not None and set(scopes) - set(subject.scopes):
            raise OAuthError("invalid_scope", "an exchange can only narrow the scopes")
        audience = (*self.checked_resources(form), *form.all("audience"))
        if self.resources is not None and set(audience) - self.resources:
            raise OAuthError("invalid_target", "no tokens are given for this audience")
        grant = Grant(client.client_id, subject.name, scopes, audience, parent=subject.grant)
        given = self.given(grant, scopes, audience or (self.issuer,), key_thumbprint)
        return {**given, "issued_token_type": ACCESS_TOKEN}

    def exchanged_subject(self, client: Client, form: Parameters) -> Subject:
        """Return the user that a subject token is of.

        Raises:
            OAuthError: the token is refused, or of a type that is not supported.
        """
        token, kind = form.required("subject_token"), form.required("subject_token_type")
        if kind == ACCESS_TOKEN:
            record = self.tokens.access(token)
            if record is None:
                raise OAuthError("invalid_request", "subject_token is unknown, or has ended")
            return Subject(record.grant.subject, record.scopes, record.grant)
        if kind != ID_TOKEN:
            raise OAuthError("invalid_request", "subject_token_type is not supported")
        claims = checked(
            token,
            self.keys.public(),
            self,
            error="invalid_request",
            issuer=self.issuer,
            lives_s=self.id_token_lifetime_s,
        )
        # An access token is signed with the same key: only its type and audience tell.
        if header_of(token).get("typ") != "JWT" or audiences(claims) != (client.client_id,):
            raise OAuthError("invalid_request", "subject_token is no ID token of this client")
        return Subject(str(claims["sub"]), None, None)

    def id_jag(self, client: Client, subject: Subject, form: Parameters) -> Mapping[str, Any]:
        """Return a response with an ID-JAG: an assertion for another authorization server."""
        if len(form.all("audience")) != 1:
            raise OAuthError("invalid_request", "audience must be one authorization server")
        audience = form["audience"]
        if self.exchange_audiences is not None and audience not in self.exchange_audiences:
            raise OAuthError("invalid_target", "no ID-JAG is given for this audience")
        now, resources = self.clock(), self.checked_resources(form)
        ours = (audience, client.client_id)
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "sub": subject.name,
            "aud": audience,
            "client_id": self.foreign_client_ids.get(ours, client.client_id),
            "jti": new_id(),
            "iat": int(now),
            "exp": int(now + self.id_jag_lifetime_s),
        }
        if resources:
            claims["resource"] = resources[0] if len(resources) == 1 else list(resources)
        if "scope" in form:
            claims["scope"] = form["scope"]
        response = {
            "issued_token_type": ID_JAG,
            "access_token": self.keys.sign(ID_JAG_TYPE, claims),
            "token_type": "N_A",
            "expires_in": int(self.id_jag_lifetime_s),
        }
        return {**response, "scope": form["scope"]} if "scope" in form else response

    # JWTs of other issuers (RFC 7523)

    async def jwt_bearer(
        self, asked: Received, form: Parameters, key_thumbprint: str | None
    ) -> Mapping[str, Any]:
        """Give a token for an ID-JAG, or for the JWT of a workload."""
        assertion = form.required("assertion")
        issuer = unchecked(assertion, "iss")
        keys = self.trusted_issuers.get(issuer)
        if keys is None:
            raise OAuthError("invalid_grant", "the issuer of the assertion is not trusted")
        claims = checked(
            assertion,
            keys,
            self,
            error="invalid_grant",
            issuer=issuer,
            lives_s=self.assertion_lifetime_s,
        )
        if not isinstance(claims.get("sub"), str):
            raise OAuthError("invalid_grant", "the assertion has no sub")
        if header_of(assertion).get("typ") == ID_JAG_TYPE:
            client = await self.client_for(asked, form, key_thumbprint)
            return self.for_id_jag(client, claims, form, key_thumbprint)
        client = await self.workload(asked, claims, form, key_thumbprint)
        return self.given_to(client, client.client_id, form, key_thumbprint)

    def for_id_jag(
        self,
        client: Client,
        claims: Mapping[str, Any],
        form: Parameters,
        key_thumbprint: str | None,
    ) -> Mapping[str, Any]:
        """Give a token to a client for the user of an ID-JAG.

        Raises:
            OAuthError: it is of another client or server, was used, or allows less.
        """
        if client.auth_method == "none":
            raise OAuthError("unauthorized_client", "an ID-JAG needs client authentication")
        if audiences(claims) != (self.issuer,):
            raise OAuthError("invalid_grant", "the ID-JAG is for another authorization server")
        if claims.get("client_id") != client.client_id:
            raise OAuthError("invalid_grant", "the ID-JAG is of another client")
        jti = claims.get("jti")
        if not isinstance(jti, str) or not 1 <= len(jti) <= 200:
            raise OAuthError("invalid_grant", "the ID-JAG has no jti")
        remembered_s = self.assertion_lifetime_s + 2 * self.leeway_s
        if not self.assertions.first_use(f"{claims['iss']} {jti}", remembered_s):
            raise OAuthError("invalid_grant", "the ID-JAG was used before")
        scopes = self.checked_scopes(client, form.get("scope", claims.get("scope")))
        if "scope" in claims and set(scopes) - set(str(claims["scope"]).split()):
            raise OAuthError("invalid_scope", "the ID-JAG allows fewer scopes")
        allowed = claims.get("resource", ())
        resources = (allowed,) if isinstance(allowed, str) else tuple(allowed)
        subject = self.linked_subject(claims["iss"], claims["sub"])
        grant = Grant(client.client_id, subject, scopes, resources)
        audience = self.narrowed_resources(grant, form)
        return self.given(grant, scopes, audience, key_thumbprint)

    def linked_subject(self, issuer: str, subject: str) -> str:
        """Return our name of another issuer's user; two issuers' users are never the same."""
        return f"{issuer}|{subject}"

    async def workload(
        self,
        asked: Received,
        claims: Mapping[str, Any],
        form: Parameters,
        key_thumbprint: str | None,
    ) -> Client:
        """Return the client that a workload is, by issuer and subject of its JWT.

        Raises:
            OAuthError: there is none, or the request names another.
        """
        if not {self.issuer, self.token_url} & set(audiences(claims)):
            raise OAuthError("invalid_grant", "the JWT is for another authorization server")
        client_id = self.workloads.get((claims["iss"], claims["sub"]))
        if client_id is None:
            raise OAuthError("invalid_grant", "the workload is unknown")
        if form.get("client_id", client_id) != client_id:
            raise OAuthError("invalid_grant", "the workload is another client")
        if await self.clients.find(client_id) is None:
            return Client(client_id=client_id)
        return await self.client_for(
            asked, form.with_default("client_id", client_id), key_thumbprint
        )
