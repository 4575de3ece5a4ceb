"""Servers that want a token and have a fault in their refusals or metadata, and their twins."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.zoo.zoo import breaks, keeps

WELL_KNOWN = "/.well-known/oauth-protected-resource"
SCOPE = "mcp"


class AsksForTokens(ReferenceEndpoint):
    """Refuses requests without a token, and has metadata that say where to get one."""

    served_at: ClassVar[tuple[str, ...]] = (WELL_KNOWN, f"{WELL_KNOWN}/mcp")
    """Paths of the metadata."""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        if request.path != self.path:
            if request.path in self.served_at:
                return self.document(request)
            return EndpointResponse(status=404)
        said = request.headers.get("authorization")
        return self.refuse(request) if said is None else self.refuse_token(request)

    def refuse(self, request: EndpointRequest) -> EndpointResponse:
        """Refuse a request without a token."""
        headers = {"WWW-Authenticate": self.challenge(request)}
        return EndpointResponse(status=401, headers=headers)

    def refuse_token(self, request: EndpointRequest) -> EndpointResponse:
        """Refuse a token: nobody has issued any."""
        line = f'{self.challenge(request)}, error="invalid_token"'
        return EndpointResponse(status=401, headers={"WWW-Authenticate": line})

    def challenge(self, request: EndpointRequest) -> str:
        """Return the challenge."""
        return f'Bearer resource_metadata="{_origin(request)}{WELL_KNOWN}/mcp", scope="{SCOPE}"'

    def document(self, request: EndpointRequest) -> EndpointResponse:
        """Return the metadata."""
        body = msgspec.json.encode(self.metadata(request))
        return EndpointResponse(status=200, headers={"Content-Type": "application/json"}, body=body)

    def metadata(self, request: EndpointRequest) -> Json:
        """Return the members of the metadata."""
        return {
            "resource": f"{_origin(request)}{self.path}",
            "authorization_servers": ["https://login.example"],
            "scopes_supported": [SCOPE],
        }


def _origin(request: EndpointRequest) -> str:
    return f"http://{request.headers.get('host', '')}"


# --- refusals ---


@breaks("authorization:challenge:unauthorized")
class ForbidsStrangers(AsksForTokens):
    """Refuses a request without a token with status 403."""

    def refuse(self, request: EndpointRequest) -> EndpointResponse:
        refusal = super().refuse(request)
        return EndpointResponse(status=403, headers=refusal.headers)


@keeps("authorization:challenge:unauthorized")
class TakesPasswordsToo(AsksForTokens):
    """Names another way to authenticate before that of tokens."""

    def challenge(self, request: EndpointRequest) -> str:
        return f'Basic realm="people", {super().challenge(request)}'


@breaks("authorization:challenge:expired")
class ForbidsUnknownTokens(AsksForTokens):
    """Refuses a token that nobody issued with status 403."""

    def refuse_token(self, request: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(status=403)


@keeps("authorization:challenge:expired")
class RefusesTokensBriefly(AsksForTokens):
    """Says no more of a token than of its absence."""

    def refuse_token(self, request: EndpointRequest) -> EndpointResponse:
        return self.refuse(request)


@breaks("authorization:challenge:metadata")
class NamesNoMetadata(AsksForTokens):
    """Does not name the metadata that it has."""

    def challenge(self, request: EndpointRequest) -> str:
        return f'Bearer scope="{SCOPE}"'


@keeps("authorization:challenge:metadata")
class NamesAnyPlace(AsksForTokens):
    """Has its metadata at a place of its own, and nowhere else."""

    served_at = ("/about",)

    def challenge(self, request: EndpointRequest) -> str:
        return f'bearer realm="it, all", RESOURCE_METADATA="{_origin(request)}/about", scope="a b"'


@breaks("authorization:challenge:scope")
class NamesNoScope(AsksForTokens):
    """Does not name the scopes that it has."""

    def challenge(self, request: EndpointRequest) -> str:
        return super().challenge(request).partition(", scope")[0]


@keeps("authorization:challenge:scope")
class NamesOneScopeOfMany(AsksForTokens):
    """Names the scope that is needed, and lists others in its metadata."""

    def metadata(self, request: EndpointRequest) -> Json:
        return {**super().metadata(request), "scopes_supported": [SCOPE, "files:read", "admin"]}


@breaks("authorization:challenge:no-offline-access")
class AsksForRefreshTokens(AsksForTokens):
    """Lists the scope of refresh tokens."""

    def metadata(self, request: EndpointRequest) -> Json:
        return {**super().metadata(request), "scopes_supported": [SCOPE, "offline_access"]}


@keeps("authorization:challenge:no-offline-access")
class ListsAScopeOfThatName(AsksForTokens):
    """Lists scopes whose names begin alike."""

    def metadata(self, request: EndpointRequest) -> Json:
        scopes = [SCOPE, "offline_access:read", "offline"]
        return {**super().metadata(request), "scopes_supported": scopes}


# --- metadata ---


@breaks("authorization:metadata")
class NamesNoResourceItself(AsksForTokens):
    """Leaves out of its metadata what they are about."""

    def metadata(self, request: EndpointRequest) -> Json:
        found = super().metadata(request)
        del found["resource"]
        return found


@keeps("authorization:metadata")
class IsItsWholeOrigin(AsksForTokens):
    """Has metadata for all paths of its origin."""

    def metadata(self, request: EndpointRequest) -> Json:
        return {**super().metadata(request), "resource": f"{_origin(request)}/"}


@breaks("authorization:metadata:servers")
class NamesNoServer(AsksForTokens):
    """Has an empty list of authorization servers."""

    def metadata(self, request: EndpointRequest) -> Json:
        return {**super().metadata(request), "authorization_servers": []}


@keeps("authorization:metadata:servers")
class NamesTwoServers(AsksForTokens):
    """Has two authorization servers, one of which has a path."""

    def metadata(self, request: EndpointRequest) -> Json:
        servers = ["https://login.example/tenant", "https://other.example"]
        return {**super().metadata(request), "authorization_servers": servers}


@breaks("authorization:metadata:found")
class HasNoMetadata(AsksForTokens):
    """Has no metadata where its challenge says, nor elsewhere."""

    served_at = ()


@keeps("authorization:metadata:found")
class HasThemAtTheRoot(AsksForTokens):
    """Has its metadata at the well-known path of its origin alone, and names none."""

    served_at = (WELL_KNOWN,)

    def challenge(self, request: EndpointRequest) -> str:
        return f'Bearer scope="{SCOPE}"'
