"""Client that gets itself a token as it has to, each step of which is a method of its own."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import msgspec

from mcp_gen.auth.flows.challenges import parse_challenges
from mcp_gen.compat.json_values import Json, is_object
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.clients.http import wire_of

if TYPE_CHECKING:
    from mcp_gen.compat.reference.client import ServerReply

__all__ = ["OIDC_PATH", "RESOURCE_PATH", "SERVER_PATH", "Authorizes"]

REDIRECT_URI = "http://localhost:3999/callback"
FORM = {"content-type": "application/x-www-form-urlencoded"}
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
SERVER_PATH = "/.well-known/oauth-authorization-server"
OIDC_PATH = "/.well-known/openid-configuration"
MAX_ATTEMPTS = 3


class Authorizes(ClientScript):
    """Asks for a token when it is refused without one; its user agrees at once.

    Of a server it uses the tools alone, so that its way to a token is most of what it does.
    """

    redirect_uri: ClassVar[str] = REDIRECT_URI
    max_attempts: ClassVar[int] = MAX_ATTEMPTS
    """Number of authorizations for one request."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.access_token = ""
        self.scope = ""
        """Scopes of the token."""
        self.client_ids: dict[str, str] = {}
        """Ids of this client by issuer."""

    async def use(self) -> None:
        if "tools" in self.server_capabilities:
            await self.walk("list_tools", "tools")

    def headers(self, message: Json | list[Any] | bytes) -> dict[str, str]:
        named = super().headers(message)
        if self.access_token:
            named["Authorization"] = f"Bearer {self.access_token}"
        return named

    async def ask_frame(
        self,
        frame: Json,
        *,
        within_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerReply:
        reply = await super().ask_frame(frame, within_s=within_s, headers=headers)
        for _ in range(self.max_attempts):
            head = self.transcript.head(reply.asked.exchange)
            if head is None or head.status not in (401, 403):
                break
            if head.status == 403 and not self.steps_up:
                break
            await self.authorize(_bearer_params(head.headers.get("www-authenticate", "")))
            reply = await super().ask_frame(frame, within_s=within_s)
        return reply

    steps_up: ClassVar[bool] = True
    """True if more scopes are asked for where a token lacks some."""

    # --- the way to a token ---

    async def authorize(self, challenge: Mapping[str, str]) -> None:
        """Get a token, from a refusal on."""
        resource = await self.found_resource(challenge)
        server = await self.found_server(resource)
        self.check_proofs(server)
        issuer = server["issuer"]
        client_id = await self.client_id(server)
        scope = self.chosen_scope(challenge, resource or {})
        verifier = secrets.token_urlsafe(48)
        state = secrets.token_urlsafe(16)
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": self.redirect_uri,
            **self.state_params(state),
            **self.resource_params(),
            **self.challenge_params(verifier),
            **({"scope": scope} if scope else {}),
        }
        params = await self.redirected(f"{server['authorization_endpoint']}?{urlencode(query)}")
        self.check_response(params, state, issuer, server)
        form = {
            "grant_type": "authorization_code",
            "client_id": client_id,
            "code": params["code"],
            "code_verifier": verifier,
            "redirect_uri": self.redirect_uri,
            **self.resource_params(),
        }
        await self.take_tokens(server["token_endpoint"], form, scope)

    async def take_tokens(self, url: str, form: Mapping[str, str], scope: str) -> None:
        """Exchange a code for a token, and use it from now on."""
        found = await self.posted(url, urlencode(form).encode(), FORM)
        self.access_token = str(found["access_token"])
        self.scope = found.get("scope", scope)

    # --- documents ---

    def resource_urls(self, challenge: Mapping[str, str]) -> list[str]:
        """Return the URLs of the metadata of the server, in their order."""
        url = wire_of(self).url
        told = challenge.get("resource_metadata")
        own = [urljoin(url, RESOURCE_PATH + urlsplit(url).path), urljoin(url, RESOURCE_PATH)]
        return [told] if told else own

    async def found_resource(self, challenge: Mapping[str, str]) -> Json | None:
        """Return the metadata of the server; None if there are none."""
        if self.profile.authorization_at_origin:
            return None
        return await self.first_of(self.resource_urls(challenge))

    def server_urls(self, issuer: str) -> list[str]:
        """Return the URLs of the metadata of an authorization server, in their order."""
        parts = urlsplit(issuer)
        origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        inserted = [f"{origin}{one}{path}" for one in (SERVER_PATH, OIDC_PATH)]
        return [*inserted, f"{issuer}{OIDC_PATH}"] if path else inserted

    async def found_server(self, resource: Json | None) -> Json:
        """Return the metadata of the authorization server, or what is to be taken for them.

        Raises:
            ScriptFailure: they are not those of the issuer.
        """
        if resource is None:
            return await self.found_at_origin()
        issuer: str = resource["authorization_servers"][0]
        metadata = await self.first_of(self.server_urls(issuer))
        if metadata is None:
            raise ScriptFailure("the authorization server has no metadata")
        self.check_issuer(metadata, issuer)
        return metadata

    def check_issuer(self, metadata: Json, issuer: str) -> None:
        """Refuse metadata of another issuer.

        Raises:
            ScriptFailure: they are.
        """
        if metadata["issuer"] != issuer:
            raise ScriptFailure("the metadata are those of another issuer")

    def origin_urls(self) -> list[str]:
        """Return the URLs of metadata at the origin of the server."""
        return [urljoin(wire_of(self).url, SERVER_PATH)]

    async def found_at_origin(self) -> Json:
        """Return the metadata at the origin of the server, or the default endpoints."""
        found = await self.first_of(self.origin_urls())
        return self.default_server() if found is None else found

    def default_server(self) -> Json:
        """Return the endpoints of a server without metadata."""
        origin = urljoin(wire_of(self).url, "/").rstrip("/")
        return {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "code_challenge_methods_supported": ["S256"],
        }

    # --- parts of requests ---

    def check_proofs(self, server: Json) -> None:
        """Refuse a server that does not offer PKCE.

        Raises:
            ScriptFailure: it does not.
        """
        if "S256" not in server.get("code_challenge_methods_supported", []):
            raise ScriptFailure("the authorization server does not offer PKCE")

    async def client_id(self, server: Json) -> str:
        """Return the id of this client at an issuer; register it if there is none."""
        issuer = server["issuer"]
        if issuer not in self.client_ids:
            kind = {"content-type": "application/json"}
            body = msgspec.json.encode(self.registration())
            found = await self.posted(server["registration_endpoint"], body, kind)
            if "client_id" not in found:
                raise ScriptFailure(f"the registration was refused: {found}")
            self.client_ids[issuer] = found["client_id"]
        return self.client_ids[issuer]

    def registration(self) -> Json:
        """Return what the client says of itself."""
        return {
            "client_name": "zoo",
            "redirect_uris": [self.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        }

    def chosen_scope(self, challenge: Mapping[str, str], resource: Json) -> str:
        """Return the scopes to ask for, beside those of the token that there is."""
        wanted = challenge.get("scope", "").split() or resource.get("scopes_supported", [])
        return " ".join(dict.fromkeys([*self.scope.split(), *wanted]))

    def state_params(self, state: str) -> dict[str, str]:
        """Return the parameter that comes back with the response."""
        return {"state": state}

    def resource_params(self) -> dict[str, str]:
        """Return the parameter that names the server."""
        return {"resource": wire_of(self).url}

    def challenge_params(self, verifier: str) -> dict[str, str]:
        """Return the parameters of PKCE."""
        digest = hashlib.sha256(verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        return {"code_challenge": challenge, "code_challenge_method": "S256"}

    def check_response(
        self, params: Mapping[str, str], state: str, issuer: str, server: Json
    ) -> None:
        """Refuse a response that is not one to this request.

        Raises:
            ScriptFailure: it is not.
        """
        if params.get("state") != state:
            raise ScriptFailure("the response has another state")
        promised = server.get("authorization_response_iss_parameter_supported", False)
        if params.get("iss", None if promised else issuer) != issuer:
            raise ScriptFailure("the response is of another issuer")

    # --- requests ---

    async def first_of(self, urls: list[str]) -> Json | None:
        """Return the first JSON object at some URLs; None if there is none."""
        for url in urls:
            number = await wire_of(self).exchange("GET", headers={}, path=url)
            found = await self._json(number)
            if found is not None:
                return found
        return None

    async def posted(self, url: str, body: bytes, headers: Mapping[str, str]) -> Json:
        """Return the JSON object that answers a POST.

        Raises:
            ScriptFailure: there is none.
        """
        number = await wire_of(self).exchange("POST", body, dict(headers), url)
        found = await self._json(number)
        if found is None:
            raise ScriptFailure("the authorization server did not answer with JSON")
        return found

    async def redirected(self, url: str) -> dict[str, str]:
        """Return the parameters of the redirect that a URL leads to.

        Raises:
            ScriptFailure: it leads nowhere.
        """
        number = await wire_of(self).exchange("GET", headers={}, path=url)
        head = await wire_of(self).response(number, self.timeout_s)
        if head is None or "location" not in head.headers:
            raise ScriptFailure("the user was not sent back")
        return dict(parse_qsl(urlsplit(head.headers["location"]).query))

    async def _json(self, number: int) -> Json | None:
        await wire_of(self).ended(number, self.timeout_s)
        for event in self.transcript.events:
            if event.exchange != number or event.sender != "server":
                continue
            if event.kind == "message" and is_object(event.message):
                return event.message
            if event.kind == "ended" and event.data:
                return _object_in(event.data)
        return None


def _object_in(data: bytes) -> Json | None:
    try:
        found: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if is_object(found) else None


def _bearer_params(header: str) -> Mapping[str, str]:
    """Return the parameters of the challenge for bearer tokens."""
    nothing: Mapping[str, str] = {}
    return next((one.params for one in parse_challenges(header) if one.scheme == "bearer"), nothing)
