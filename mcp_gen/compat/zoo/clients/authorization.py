"""Clients that get themselves a token where one is wanted; some of them wrongly."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_gen.compat.json_values import Json, is_object
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.zoo.clients.http import wire_of
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.reference.client import ServerReply
    from mcp_gen.compat.transcript import WireEvent

UNAUTHORIZED = 401
REDIRECT_URI = "http://localhost:3999/callback"


class Authorizes(ClientScript):
    """Asks for a token when it is refused without one; its user agrees at once."""

    names_resource: ClassVar[bool] = True
    challenges: ClassVar[bool] = True
    access_token: str = ""

    async def open(self) -> ServerReply:
        opening = await super().open()
        head = self.transcript.head(opening.asked.exchange)
        if head is not None and head.status == UNAUTHORIZED:
            await self.authorize(head)
            opening = await super().open()
        return opening

    def headers(self, message: Json | list[Any] | bytes) -> dict[str, str]:
        named = super().headers(message)
        if not self.access_token:
            return named
        return {**named, "Authorization": f"Bearer {self.access_token}"}

    async def authorize(self, refusal: WireEvent) -> None:
        """Get a token, from the refusal on."""
        server = await self.found_server(refusal)
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": "zoo",
            "redirect_uri": REDIRECT_URI,
            "state": "state",
            **self.resource(),
        }
        if self.challenges:
            query["code_challenge"] = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            query["code_challenge_method"] = "S256"
        asked = f"{server['authorization_endpoint']}?{urlencode(query)}"
        code = parse_qs(urlsplit(await self._location(asked)).query)["code"][0]
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        body = urlencode({**form, "redirect_uri": REDIRECT_URI, **self.resource()}).encode()
        kind = {"content-type": "application/x-www-form-urlencoded"}
        number = await wire_of(self).exchange("POST", body, kind, server["token_endpoint"])
        self.access_token = str((await self._json(number))["access_token"])

    def resource(self) -> dict[str, str]:
        """Return the parameter that names the server."""
        return {"resource": wire_of(self).url} if self.names_resource else {}

    async def found_server(self, refusal: WireEvent) -> Json:
        """Return the metadata of the authorization server, found by those of the resource."""
        challenge = refusal.headers["www-authenticate"]
        metadata = await self.fetched(challenge.partition('resource_metadata="')[2].rstrip('"'))
        issuer = metadata["authorization_servers"][0]
        return await self.fetched(f"{issuer}/.well-known/oauth-authorization-server")

    async def fetched(self, url: str) -> Json:
        """Return the JSON object at a URL."""
        return await self._json(await wire_of(self).exchange("GET", headers={}, path=url))

    async def _location(self, url: str) -> str:
        number = await wire_of(self).exchange("GET", headers={}, path=url)
        head = await wire_of(self).response(number, self.timeout_s)
        if head is None or "location" not in head.headers:
            raise ScriptFailure("the user was not sent back")
        return head.headers["location"]

    async def _json(self, number: int) -> Json:
        await wire_of(self).ended(number, self.timeout_s)
        for event in self.transcript.events:
            found = event.exchange == number and event.sender == "server" and event.kind
            if found == "message" and is_object(event.message):
                return event.message
        raise ScriptFailure("no metadata, or no token")


@breaks("authorization:by-client")
class NeedsNoProof(Authorizes):
    """Sends no challenge with its authorization request."""

    challenges = False


@keeps("authorization:by-client")
class AsksTwice(Authorizes):
    """Gets itself a second token before it goes on."""

    async def authorize(self, refusal: WireEvent) -> None:
        await super().authorize(refusal)
        await super().authorize(refusal)


@breaks("authorization:client:resource")
class NamesNoResource(Authorizes):
    """Does not say which server its token is for."""

    names_resource = False


@keeps("authorization:client:resource")
class NamesTheOrigin(Authorizes):
    """Names the server by its origin alone."""

    def resource(self) -> dict[str, str]:
        parts = urlsplit(wire_of(self).url)
        return {"resource": f"{parts.scheme}://{parts.netloc}"}
