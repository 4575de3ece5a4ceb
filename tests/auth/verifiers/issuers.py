"""An issuer whose documents are given, and the tokens that it signs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from joserfc import jws
from joserfc.jwk import ECKey, Key, OctKey, RSAKey

from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.server.requests import ISSUER, NOW, RESOURCE

T = TypeVar("T")

METADATA_URL = f"{ISSUER}/.well-known/oauth-authorization-server"
JWKS_URL = f"{ISSUER}/keys"


def ec_key(kid: str | None = "one") -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid} if kid else None)


def rsa_key(kid: str = "one", bits: int = 2048) -> RSAKey:
    return RSAKey.generate_key(bits, {"kid": kid})


def public(*keys: Key, **members: Any) -> list[dict[str, Any]]:
    """Return keys as the issuer publishes them."""
    return [{**key.as_dict(private=isinstance(key, OctKey)), **members} for key in keys]


def claims(**more: Any) -> dict[str, Any]:
    """Return the claims of a valid token; None leaves one out."""
    found = {
        "iss": ISSUER,
        "sub": "alice",
        "client_id": "app",
        "aud": RESOURCE,
        "iat": NOW,
        "exp": NOW + 600,
        "scope": "mcp",
        "jti": "1",
    } | more
    return {name: value for name, value in found.items() if value is not None}


def sign(
    key: Key,
    payload: Mapping[str, Any] | None = None,
    *,
    alg: str = "ES256",
    kid: str | None = "one",
    **header: Any,
) -> str:
    """Return a signed token; a header member that is None is left out."""
    members = {"alg": alg, "kid": kid, "typ": "at+jwt"} | header
    given = {name: value for name, value in members.items() if value is not None}
    body = msgspec.json.encode(claims() if payload is None else payload)
    lenient = jws.JWSRegistry(algorithms=[alg], strict_check_header=False)
    return jws.serialize_compact(given, body, key, registry=lenient)


class Held:
    """A request that waits for its response."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.released = asyncio.Event()


class Documents:
    """Runs flows against a table of documents, and notes what was asked."""

    def __init__(self) -> None:
        self.table: dict[str, tuple[int, Mapping[str, str], bytes] | Exception] = {}
        self.asked: list[HttpAsk] = []
        self.configured: list[str | None] = []
        self.held: Held | None = None
        """Responses wait for it if it is there."""

    def put(self, url: str, document: Any, *, status: Any = 200, **headers: str) -> None:
        body = document if isinstance(document, bytes) else msgspec.json.encode(document)
        lines = {name.replace("_", "-"): value for name, value in headers.items()}
        self.table[url] = (status, lines, body)

    def publish(self, *keys: Key, **headers: str) -> None:
        """Publish metadata, and these keys."""
        self.put(METADATA_URL, {"issuer": ISSUER, "jwks_uri": JWKS_URL})
        self.put(JWKS_URL, {"keys": public(*keys)}, **headers)

    def hold(self) -> Held:
        """Let responses wait until they are released."""
        self.held = Held()
        return self.held

    def count(self, url: str = JWKS_URL) -> int:
        return sum(one.url == url for one in self.asked)

    async def run(self, flow: Flow[T], *, configured: str | None = None) -> T:
        self.configured.append(configured)
        try:
            ask = next(flow)
            while True:
                self.asked.append(ask)
                # A fetch takes at least one turn of the loop.
                await asyncio.sleep(0)
                if self.held is not None:
                    self.held.reached.set()
                    await self.held.released.wait()
                found = self.table.get(ask.url, (404, {}, b""))
                if isinstance(found, AuthError | TransportError):
                    ask = flow.throw(found)
                elif isinstance(found, Exception):
                    raise found
                else:
                    ask = flow.send(HttpAnswer(*found))
        except StopIteration as end:
            result: T = end.value
            return result

    async def aclose(self) -> None:
        pass
