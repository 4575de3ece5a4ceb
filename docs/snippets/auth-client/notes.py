"""A server with a tool that needs more than the login gives at first."""

from mcp_gen import Context, Server
from mcp_gen.auth import ResourceServer

server = Server("notes", "1.0.0")


@server.tool
def whoami(ctx: Context) -> str:
    """Say who calls."""
    assert ctx.token is not None
    return ctx.token.subject or f"the program {ctx.token.client_id}"


@server.tool(scopes=["notes:write"])
def save(text: str) -> str:
    """Save a note."""
    return f"saved {len(text)} characters"


app = server.asgi(
    auth=ResourceServer(
        issuer="http://127.0.0.1:9000",
        audience="http://127.0.0.1:8000/mcp",
        scopes=["notes:read"],
    )
)
