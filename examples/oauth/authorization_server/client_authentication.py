"""Client authentication at the token endpoint and its neighbours."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from examples.oauth.authorization_server.clients import Client, ClientDirectory, is_json
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import audiences, checked, unchecked
from examples.oauth.authorization_server.memory import ReplayMemory
from examples.oauth.authorization_server.requests import Parameters, Received
from examples.oauth.authorization_server.settings import JwksSource, Settings

__all__ = ["ClientAuthenticator"]

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class ClientAuthenticator:
    """Finds out which client sends a request, by the one method that it registered."""

    def __init__(self, settings: Settings, clients: ClientDirectory) -> None:
        self._settings = settings
        self._clients = clients
        self._assertions = ReplayMemory(settings.max_held, settings.clock)

    async def authenticate(self, asked: Received, form: Parameters) -> Client:
        """Return the client of a request.

        Raises:
            OAuthError: it has not authenticated as it must.
        """
        method, client_id, proof = self._presented(asked, form)
        client = await self._clients.find(client_id)
        if client is None:
            raise self._refused("the client is unknown", method)
        if method != client.auth_method or method not in self._settings.token_endpoint_auth_methods:
            raise self._refused(f"the client is registered for {client.auth_method}", method)
        if method == "private_key_jwt":
            await self._check_assertion(client, proof)
        elif method != "none" and not hmac.compare_digest(
            proof.encode(), (client.secret or "").encode()
        ):
            raise self._refused("the client secret is wrong", method)
        return client

    def _presented(self, asked: Received, form: Parameters) -> tuple[str, str, str]:
        """Return the method, the client id and the secret or assertion of a request."""
        found: list[tuple[str, str, str]] = []
        if (header := asked.headers.get("authorization")) is not None:
            found.append(("client_secret_basic", *_basic(header)))
        if "client_assertion" in form or "client_assertion_type" in form:
            if form.get("client_assertion_type") != ASSERTION_TYPE:
                raise OAuthError("invalid_request", "client_assertion_type is not supported")
            assertion = form.required("client_assertion")
            found.append(("private_key_jwt", unchecked(assertion, "sub"), assertion))
        if "client_secret" in form:
            found.append(("client_secret_post", form.required("client_id"), form["client_secret"]))
        if len(found) > 1:
            raise OAuthError("invalid_request", "more than one method of client authentication")
        method, client_id, proof = found[0] if found else ("none", form.get("client_id", ""), "")
        if not client_id:
            raise self._refused("client_id is missing", method)
        if form.get("client_id", client_id) != client_id:
            raise OAuthError("invalid_request", "client_id is of another client")
        return method, client_id, proof

    async def _check_assertion(self, client: Client, assertion: str) -> None:
        settings = self._settings
        claims = checked(
            assertion,
            await self._keys_of(client),
            settings,
            error="invalid_client",
            issuer=client.client_id,
            lives_s=settings.assertion_lifetime_s,
        )
        if not {settings.issuer, settings.token_url} & set(audiences(claims)):
            raise self._refused("aud of the assertion is not this server", "private_key_jwt")
        jti = claims.get("jti")
        if not isinstance(jti, str) or not 1 <= len(jti) <= 200:
            raise self._refused("the assertion has no jti", "private_key_jwt")
        remembered_s = settings.assertion_lifetime_s + 2 * settings.leeway_s
        if not self._assertions.first_use(f"{client.client_id} {jti}", remembered_s):
            raise self._refused("the assertion was used before", "private_key_jwt")

    async def _keys_of(self, client: Client) -> JwksSource:
        if client.jwks is not None or client.jwks_uri is None:
            return client.jwks or {}
        fetch = self._settings.fetch
        if fetch is None or not client.jwks_uri.startswith("https://"):
            raise self._refused("jwks_uri is not fetched", "private_key_jwt")
        try:
            found = await fetch(client.jwks_uri)
        except (OSError, TimeoutError):
            raise self._refused("jwks_uri was not fetched", "private_key_jwt") from None
        small = len(found.body) <= self._settings.max_document_bytes
        if found.status != 200 or not small or not is_json(found.content_type):
            raise self._refused("jwks_uri gave no key set", "private_key_jwt")
        try:
            return msgspec.json.decode(found.body, type=dict[str, Any])
        except msgspec.DecodeError:
            raise self._refused("jwks_uri gave no key set", "private_key_jwt") from None

    def _refused(self, description: str, method: str) -> OAuthError:
        basic = method == "client_secret_basic"
        headers = {"www-authenticate": f'Basic realm="{self._settings.issuer}"'} if basic else {}
        return OAuthError("invalid_client", description, 401, headers)


def _basic(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise OAuthError("invalid_client", "the scheme of Authorization must be Basic", 401)
    try:
        name, colon, secret = b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        name, colon, secret = "", "", ""
    if not colon:
        raise OAuthError("invalid_client", "Authorization: Basic has no client id and secret", 401)
    return unquote_plus(name), unquote_plus(secret)
