"""A server with scopes, behind a gate that knows its tokens."""

from __future__ import annotations

from typing import Any

from mcp_gen import Context, Server
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.transports.http_server.app import AsgiApp
from tests.support.http.gated import FakeGate, access_token

__all__ = ["ALICE", "BOB", "guarded", "open_tools"]

ALICE = access_token("alice", "files:read")
BOB = access_token("bob", "files:read")


def open_tools(server: Server[Any]) -> Server[Any]:
    """Add tools without scopes."""

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.principal} {sorted(ctx.token.scopes) if ctx.token else None}"

    return server


def guarded(
    server: Server[Any], *tokens: AccessToken, gate: FakeGate | None = None, **options: Any
) -> AsgiApp:
    """Return the app of a server, over both HTTP transports, behind a gate."""
    given = gate or FakeGate(*(tokens or (ALICE, BOB)))
    return server.asgi(auth=given, legacy_sse_path="/sse", **options)
