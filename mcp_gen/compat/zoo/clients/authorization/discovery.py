"""Clients with a fault in how they find an authorization server, and their twins."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.zoo.clients.authorization.authorizing import (
    RESOURCE_PATH,
    SERVER_PATH,
    Authorizes,
)
from mcp_gen.compat.zoo.clients.http import wire_of
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("authorization:client:resource-metadata")
class AsksTheOriginAlone(Authorizes):
    """Looks for the authorization server at the origin of the server, without its metadata."""

    async def found_resource(self, challenge: Mapping[str, str]) -> Json | None:
        """Return what the metadata would say if the server were its own authorization server."""
        if self.profile.authorization_at_origin or not challenge.get("resource_metadata"):
            return await super().found_resource(challenge)
        if "scope" in challenge:
            return await super().found_resource(challenge)
        origin = urljoin(wire_of(self).url, "/").rstrip("/")
        return {"authorization_servers": [origin], "scopes_supported": ["mcp:use", "mcp:more"]}


@keeps("authorization:client:resource-metadata")
class AsksForMetadataTwice(Authorizes):
    """Asks for the metadata once more before it believes them."""

    async def found_resource(self, challenge: Mapping[str, str]) -> Json | None:
        await super().found_resource(challenge)
        return await super().found_resource(challenge)


@breaks("authorization:client:challenge")
class ReadsNoChallenge(Authorizes):
    """Looks for metadata at the well-known paths, whatever the challenge says."""

    def resource_urls(self, challenge: Mapping[str, str]) -> list[str]:
        return super().resource_urls({})


@keeps("authorization:client:challenge")
class FollowsTheChallengeFirst(Authorizes):
    """Has the well-known paths in reserve, behind the URL of the challenge."""

    def resource_urls(self, challenge: Mapping[str, str]) -> list[str]:
        told = super().resource_urls(challenge)
        return list(dict.fromkeys([*told, *super().resource_urls({})]))


@breaks("authorization:client:resource-metadata:fallback")
class BeginsAtTheRoot(Authorizes):
    """Begins with the well-known path of the origin."""

    def resource_urls(self, challenge: Mapping[str, str]) -> list[str]:
        found = super().resource_urls(challenge)
        return found if challenge.get("resource_metadata") else found[::-1]


@keeps("authorization:client:resource-metadata:fallback")
class KnowsOneMorePlace(Authorizes):
    """Has a third place to look at, behind the two."""

    def resource_urls(self, challenge: Mapping[str, str]) -> list[str]:
        found = super().resource_urls(challenge)
        return [*found, urljoin(wire_of(self).url, f"{RESOURCE_PATH}/of/zoo")]


@breaks("authorization:client:server-metadata")
class KnowsTheEndpoints(Authorizes):
    """Takes the default paths of endpoints, whatever the metadata say."""

    async def found_server(self, resource: Json | None) -> Json:
        found = await super().found_server(resource)
        if urlsplit(str(found["issuer"])).path or "registration_endpoint" not in found:
            return found
        if "client_id_metadata_document_supported" not in found:
            return found
        origin = found["issuer"]
        return {**found, "token_endpoint": f"{origin}/token"}


@keeps("authorization:client:server-metadata")
class AsksForServersTwice(Authorizes):
    """Asks for the metadata of the authorization server once more before it believes them."""

    async def found_server(self, resource: Json | None) -> Json:
        await super().found_server(resource)
        return await super().found_server(resource)


@breaks("authorization:client:server-metadata:order")
class AppendsFirst(Authorizes):
    """Begins with the place behind the path of the issuer."""

    def server_urls(self, issuer: str) -> list[str]:
        return super().server_urls(issuer)[::-1]


@keeps("authorization:client:server-metadata:order")
class LooksOnceMore(Authorizes):
    """Tries the last place twice."""

    def server_urls(self, issuer: str) -> list[str]:
        found = super().server_urls(issuer)
        return [*found, found[-1]]


@breaks("authorization:client:server-metadata:issuer")
class BelievesAnyIssuer(Authorizes):
    """Uses metadata of another issuer."""

    def check_issuer(self, metadata: Json, issuer: str) -> None:
        metadata["issuer"] = issuer


@keeps("authorization:client:server-metadata:issuer")
class LooksForBetterMetadata(Authorizes):
    """Asks at every place for metadata before it gives up."""

    async def found_server(self, resource: Json | None) -> Json:
        for issuer in (resource or {}).get("authorization_servers", []):
            for url in self.server_urls(issuer):
                await self.first_of([url])
        return await super().found_server(resource)


@breaks("authorization:client:origin")
class KeepsThePath(Authorizes):
    """Looks for metadata behind the path of the server before it asks at the origin."""

    def origin_urls(self) -> list[str]:
        url = wire_of(self).url
        return [urljoin(url, SERVER_PATH + urlsplit(url).path), *super().origin_urls()]


@keeps("authorization:client:origin")
class AsksTheOriginTwice(Authorizes):
    """Asks at the origin once more before it takes the default paths."""

    def origin_urls(self) -> list[str]:
        return super().origin_urls() * 2


@breaks("authorization:client:default-endpoints")
class KnowsOtherDefaults(Authorizes):
    """Takes other paths than the default ones."""

    def default_server(self) -> Json:
        found = super().default_server()
        return {**found, "token_endpoint": f"{found['issuer']}/oauth/token"}


@keeps("authorization:client:default-endpoints")
class TakesDefaults(Authorizes):
    """Takes the default paths, and sends a query with a registration."""

    def default_server(self) -> Json:
        found = super().default_server()
        return {**found, "registration_endpoint": f"{found['registration_endpoint']}?from=zoo"}
