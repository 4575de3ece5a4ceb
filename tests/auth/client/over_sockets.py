"""A protected server and its authorization server, both behind sockets on loopback."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from examples.oauth.authorization_server.server import AuthorizationServer
from mcp_gen import Client, Context, Server
from mcp_gen.auth import AuthorizationRequest, DpopChecks, ResourceServer
from mcp_gen.core.transport.authorizing import RequestAuthorizer
from tests.support.http.loopback import Web, serving
from tests.support.ports import free_port

__all__ = ["REDIRECT", "Place", "agree", "called", "placed", "serving_issuer"]

REDIRECT = "http://127.0.0.1:1/callback"


class Place:
    """A protected server.

    Args:
        web: What serves it.
        url: Its URL.
        issuer: Its authorization server.
    """

    def __init__(self, web: Web, url: str, issuer: AuthorizationServer) -> None:
        self.web = web
        self.url = url
        self.issuer = issuer

    def authorizations(self) -> list[str]:
        """Return the schemes of the Authorization headers that came, without repetition."""
        sent = (got.headers.get("authorization", "") for got in self.web.got)
        return list(dict.fromkeys(one.partition(" ")[0] for one in sent if one))


@asynccontextmanager
async def serving_issuer(**settings: Any) -> AsyncGenerator[AuthorizationServer, None]:
    """Serve the example authorization server."""
    port = free_port()
    issuer = AuthorizationServer(issuer=f"http://127.0.0.1:{port}", **settings)
    async with serving(issuer.app, port=port):
        yield issuer


@asynccontextmanager
async def placed(checks: DpopChecks | None = None, **settings: Any) -> AsyncGenerator[Place, None]:
    """Serve a tool that says who calls it, behind tokens of the example authorization server."""
    server = Server("protected")

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.principal} {sorted(ctx.token.scopes) if ctx.token else None}"

    @server.tool(scopes=["write"])
    async def write(ctx: Context) -> str:
        return await who(ctx)

    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    async with serving_issuer(**settings) as issuer:
        gate = ResourceServer(issuer.issuer, audience=url, scopes=["mcp"], dpop=checks)
        async with serving(server.asgi(auth=gate), port=port) as web:
            yield Place(web, url, issuer)


async def called(place: Place, auth: RequestAuthorizer, tool: str = "who") -> str:
    """Connect, call a tool, and return what it says."""
    async with Client("test") as client:
        session = await client.connect(place.url, auth=auth)
        result = await session.call_tool(tool, {})
    (block,) = result.content
    return str(getattr(block, "text", block))


async def agree(request: AuthorizationRequest) -> str:
    """Do what a browser does whose user agrees: fetch the link, and return the redirect."""
    return await asyncio.to_thread(_redirect_of, request.url)


def _redirect_of(url: str) -> str:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().headers["location"]
    finally:
        connection.close()


def lifetime(seconds: int = 60) -> dict[str, int]:
    """Return the claims of a JWT that was issued now."""
    now = int(time.time())
    return {"iat": now, "exp": now + seconds}
