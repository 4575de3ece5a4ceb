"""Takes over who calls from the headers of a gateway that has checked it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from hmac import compare_digest
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from mcp_gen.auth.verifiers.token_verifier import InvalidToken
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.access_token import AccessToken

__all__ = ["GatewayHeaders"]

MAX_VALUE_BYTES = 1024
MIN_SECRET_CHARS = 16
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class GatewayHeaders:
    """Takes over user, client and scopes from headers that an API gateway sets.

    The gateway has to remove these headers from what its clients send. They are read only from a
    peer of `peers`, with the secret of `secret` if there is one. Other requests are refused.

    ```python
    verifier = GatewayHeaders(user="x-user-id", scopes="x-scopes", peers=["10.1.0.0/16"])
    auth = ResourceServer(audience=url, verifier=verifier)
    ```

    The peer is the one that the ASGI server names. Some put the address of `X-Forwarded-For` in
    its place: switch that off (uvicorn: `proxy_headers=False`), or use `secret` alone.

    Args:
        user: Header with the user.
        client: Header with the OAuth client; None if there is none.
        scopes: Header with the scopes, separated by spaces or commas; None if there is none.
        issuer: Name of who knows the users, for the principal.
        peers: Addresses and networks of the gateway.
        secret: Name and value of a header that the gateway alone can send: at least 16 characters.

    Raises:
        UsageError: There are neither peers nor a secret, or a value is none.
    """

    def __init__(
        self,
        *,
        user: str,
        client: str | None = None,
        scopes: str | None = None,
        issuer: str = "gateway",
        peers: Collection[str] = (),
        secret: tuple[str, str] | None = None,
    ) -> None:
        if isinstance(peers, str):
            raise UsageError(f"peers={peers!r}: expected a list")
        if not peers and secret is None:
            raise UsageError("expected peers or a secret: everybody can send headers")
        try:
            self._networks = [ip_network(peer) for peer in peers]
        except ValueError as error:
            raise UsageError(f"peers: {error}") from None
        if secret is not None and len(secret[1]) < MIN_SECRET_CHARS:
            raise UsageError(f"secret: expected at least {MIN_SECRET_CHARS} characters")
        self._user = _name(user)
        self._client = None if client is None else _name(client)
        self._scopes = None if scopes is None else _name(scopes)
        self._issuer = issuer
        self._secret = None if secret is None else (_name(secret[0]), secret[1].encode())

    async def verify_request(self, scope: Mapping[str, Any]) -> AccessToken | None:
        """Return who calls; None if the request does not come from the gateway or names nobody.

        Args:
            scope: The ASGI scope of the request.

        Raises:
            InvalidToken: A header is there twice, or is no text of a usual length.
        """
        if self._networks and not self._is_peer(scope.get("client")):
            return None
        if self._secret is not None:
            given = _values(scope, self._secret[0])
            if len(given) != 1 or not compare_digest(given[0], self._secret[1]):
                return None
        user = _text(scope, self._user)
        if user is None:
            return None
        scopes = _text(scope, self._scopes) or ""
        return AccessToken(
            "",
            issuer=self._issuer,
            subject=user,
            client_id=_text(scope, self._client),
            scopes=frozenset(scopes.replace(",", " ").split()),
        )

    def _is_peer(self, client: Any) -> bool:
        try:
            address = ip_address(client[0])
        except (TypeError, ValueError, IndexError):
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(_contains(network, address) for network in self._networks)

    def __repr__(self) -> str:
        return f"GatewayHeaders(user={self._user.decode()!r}, issuer={self._issuer!r})"


def _contains(network: IPv4Network | IPv6Network, address: Any) -> bool:
    return address in network


def _name(given: str) -> bytes:
    if not _NAME.fullmatch(given):
        raise UsageError(f"{given!r} is not the name of a header")
    return given.lower().encode("ascii")


def _values(scope: Mapping[str, Any], name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _text(scope: Mapping[str, Any], name: bytes | None) -> str | None:
    """Return the text of a header; None if it is absent or empty."""
    values = [] if name is None else _values(scope, name)
    if not values:
        return None
    if len(values) > 1:
        # One of them may be the client's own.
        raise InvalidToken("a header of the gateway is there more than once")
    try:
        text = values[0].strip(b" \t").decode()
    except UnicodeDecodeError:
        raise InvalidToken("a header of the gateway is not a text") from None
    if len(values[0]) > MAX_VALUE_BYTES or not text.isprintable():
        raise InvalidToken("a header of the gateway is not a usual text")
    return text or None
