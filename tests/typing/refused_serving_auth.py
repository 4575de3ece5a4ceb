"""Errors for type checkers: exactly the lines that end in `# refused`. Never run."""

from __future__ import annotations

from mcp_gen import Context, InsufficientScope, Server
from mcp_gen.auth import ResourceServer, StaticTokens

server = Server("typed")


def plain() -> str:
    return ""


async def wrong_tokens(ctx: Context) -> None:
    ctx.token.raw()  # refused
    subject: str = ctx.principal  # refused
    if ctx.token is not None:
        print(ctx.token.scope)  # refused
        subject = ctx.token.raw()
    del subject
    raise InsufficientScope(7)  # refused


def wrong_servers() -> None:
    server.asgi(auth="https://as.example")  # refused
    server.asgi(auth=ResourceServer)  # refused
    server.asgi(auth=StaticTokens({"token": "alice"}))  # refused
    server.asgi(auth=ResourceServer(audience="a", verifier=StaticTokens({"token": "alice"})))
    server.add_tool(plain, scopes=7)  # refused
    server.add_tool(plain, scopes=[1])  # refused
    server.add_tool(plain, scope=["admin"])  # refused
    server.add_tool(plain, scopes=["admin"])
    server.add_resource("a://b", "text", scopes=1)  # refused
    server.add_prompt(plain, scopes=1)  # refused
    Server("typed", hide_unauthorized="yes")  # refused
