"""Our protected server, on loopback, behind an authorization server of anybody."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from mcp_gen import Client, ClientSession, Context, Server
from mcp_gen.auth import AuthorizationRequest, OAuth, ResourceServer
from mcp_gen.auth.client.oauth import OnAuthorize
from mcp_gen.core.transport.authorizing import RequestAuthorizer
from tests.auth.client.over_sockets import REDIRECT, agree
from tests.support.http.loopback import Web, serving
from tests.support.ports import free_port

__all__ = [
    "READ",
    "WRITE",
    "Clock",
    "User",
    "connected",
    "forms",
    "oauth",
    "protecting",
    "queries",
    "said",
    "with_tools",
]

READ = "notes"
WRITE = "notes:write"

Gate = Callable[[str], ResourceServer]
"""Makes the gate of the server at a URL."""


class Clock:
    """The time, and what tests add to it."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return self._now() + self.ahead_s


class User:
    """A user who agrees to all that is asked; `seen` has what was shown."""

    def __init__(self) -> None:
        self.seen: list[AuthorizationRequest] = []

    async def __call__(self, request: AuthorizationRequest) -> str:
        self.seen.append(request)
        return await agree(request)


def oauth(user: OnAuthorize, **more: Any) -> OAuth:
    """Return our client's authorization by a user."""
    return OAuth(client_name="app", redirect_uri=REDIRECT, on_authorize=user, **more)


def with_tools(server: Server[Any]) -> Server[Any]:
    """Add a tool that says who calls, and one that needs more than reading."""

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.principal} may {' '.join(sorted(ctx.token.scopes)) if ctx.token else None}"

    @server.tool(scopes=[WRITE])
    async def write(ctx: Context) -> str:
        return f"{ctx.principal} has written"

    return server


@asynccontextmanager
async def protecting(gate: Gate) -> AsyncGenerator[Web, None]:
    """Serve both tools over HTTP, behind a gate."""
    port = free_port()
    app = with_tools(Server("protected")).asgi(auth=gate(f"http://127.0.0.1:{port}/mcp"))
    async with serving(app, port=port) as web:
        yield web


@asynccontextmanager
async def connected(
    url: str, auth: RequestAuthorizer, revision: str | None = None
) -> AsyncGenerator[ClientSession, None]:
    """Connect our client."""
    async with Client("app", "1.0.0") as client:
        yield await client.connect(url, auth=auth, revision=revision)


def said(result: Any) -> str:
    """Return the text of a tool result that is no error."""
    is_error = getattr(result, "is_error", False)
    (block,) = result.content
    assert not is_error, block
    return str(block.text)


def forms(web: Web, path: str) -> list[dict[str, str]]:
    """Return the forms that came to a path."""
    return [dict(parse_qsl(got.body.decode())) for got in web.got if got.path == path and got.body]


def queries(seen: list[AuthorizationRequest]) -> list[dict[str, str]]:
    """Return the parameters of the links that a user was shown."""
    return [dict(parse_qsl(one.url.partition("?")[2])) for one in seen]
