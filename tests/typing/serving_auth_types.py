"""Typing of servers that verify tokens, for type checkers. `nox -s types` reads this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

from mcp_gen import Context, InsufficientScope, Server, transformed
from mcp_gen.auth import AccessToken, ResourceServer, StaticTokens, TokenVerifier
from mcp_gen.types import Prompt, Tool

server = Server("typed", hide_unauthorized=True)


@server.tool(scopes=["files:write", "admin"])
async def save(path: str, ctx: Context) -> str:
    assert_type(ctx.principal, str | None)
    assert_type(ctx.token, AccessToken | None)
    if ctx.token is None:
        raise InsufficientScope(["files:write"])
    assert_type(ctx.token.scopes, frozenset[str])
    assert_type(ctx.token.claims, Mapping[str, Any])
    assert_type(ctx.token.subject, str | None)
    return ctx.token.raw()


@server.tool("blocking", scopes={"admin"})
def blocking(ctx: Context) -> str:
    assert_type(ctx.blocking.token, AccessToken | None)
    assert_type(ctx.blocking.principal, str | None)
    return ""


@server.resource("note://{id}", scopes=("notes:read",))
def note(id: str) -> str:
    return id


@server.prompt(scopes=["notes:read"])
def review(code: str) -> str:
    return code


class KeyHeader:
    """A verifier of a user."""

    async def verify(self, token: str) -> AccessToken | None:
        return AccessToken(token, subject="alice") if token == "key" else None


def added(tool: Tool, prompt: Prompt) -> None:
    server.add_tool(tool, lambda ctx, arguments: "", scopes=["admin"])
    server.add_tool(save, name="other", scopes=["admin"])
    server.add_tool(transformed(server.tools["save"], name="third", scopes=["admin"]))
    server.transform_tool("save", scopes=["audit"])
    server.add_prompt(prompt, lambda ctx, arguments: "", scopes=["admin"])
    server.add_resource("note://one", "text", scopes=["admin"])
    server.add_resource_template("note://{id}/more", note, scopes=["admin"])


def served() -> None:
    verifier: TokenVerifier = KeyHeader()
    auth = ResourceServer(audience="https://api.example/mcp", verifier=verifier)
    app = server.asgi(auth=auth)
    server.asgi(auth=None)
    server.run("http", auth=ResourceServer(audience="a", verifier=StaticTokens({"t": "alice"})))
    assert_type(app.path, str)
    mounted: Any = app.well_known
    del mounted


async def in_a_session(ctx: Context) -> None:
    ctx.server.for_session(ctx.session).add_tool(save, scopes=["admin"])
    ctx.server.transform_tool("save", scopes=["audit"])
