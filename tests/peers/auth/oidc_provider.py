"""Authorization servers of npm's oidc-provider, in one process, and a browser for their pages."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from mcp_gen.auth import AuthorizationRequest, SigningKey
from tests.peers.auth.protected import READ, WRITE
from tests.support.processes.child import Child, started

__all__ = ["API", "KEY", "KEYED", "ROBOT", "SECRET", "Issuers", "Visitor", "issuing"]

SAYS = "listening at "
API, ROBOT, KEYED, SECRET = "api", "robot", "keyed", "a secret: 100 %"
KEY = SigningKey.generate()

AUTHENTICATIONS: dict[str, dict[str, Any]] = {
    API: {"client_secret": SECRET},
    ROBOT: {"client_secret": SECRET},
    KEYED: {
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": KEY.algorithm,
        "jwks": {"keys": [KEY.public_jwk]},
    },
}
CLIENTS = [
    {
        "client_id": client_id,
        "grant_types": ["client_credentials"],
        "response_types": [],
        "redirect_uris": [],
        "scope": f"{READ} {WRITE}",
        **authentication,
    }
    for client_id, authentication in AUTHENTICATIONS.items()
]
USUAL: dict[str, Any] = {
    "format": "jwt",
    "alg": "RS256",
    "scopes": ["openid", "offline_access", READ, WRITE],
    "resourceScopes": [READ, WRITE],
    "nonces": False,
    "clients": CLIENTS,
    "lifetimeS": 600,
}
SERVERS: dict[str, dict[str, Any]] = {
    "jwt": USUAL,
    "jwt-ec": {**USUAL, "alg": "ES256"},
    "opaque": {**USUAL, "format": "opaque"},
    "nonces": {**USUAL, "nonces": True},
    "unlisted": {**USUAL, "scopes": ["openid", "offline_access"], "clients": []},
}
MOST_REDIRECTS = 12


class Issuers(NamedTuple):
    """Running authorization servers by name."""

    child: Child
    urls: Mapping[str, str]


@contextmanager
def issuing() -> Iterator[Issuers]:
    """Run all of them."""
    program = Path(os.environ["PEERS_OIDC"]) / "provider.mjs"
    with started(["node", str(program), json.dumps(SERVERS)]) as child:
        child.says(SAYS)
        yield Issuers(child, json.loads(child.stderr.rpartition(SAYS)[2]))
        child.close_stdin()
        assert child.ended() == 0


class Visitor:
    """A user with a browser, who logs in at each authorization server and agrees to everything."""

    def __init__(self) -> None:
        self.seen: list[AuthorizationRequest] = []

    async def __call__(self, request: AuthorizationRequest) -> str:
        self.seen.append(request)
        url = httpx2.URL(request.url)
        async with httpx2.AsyncClient(trust_env=False) as browser:
            for _ in range(MOST_REDIRECTS):
                answer = await browser.get(url)
                assert answer.is_redirect, answer.text
                url = url.join(answer.headers["location"])
                if str(url).startswith(request.redirect_uri):
                    return str(url)
        raise AssertionError("the pages do not come to an end")
