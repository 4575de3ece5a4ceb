"""A server that asks for access tokens."""

from mcp_gen import Context, Server
from mcp_gen.auth import ResourceServer, StaticTokens

server = Server("notes", "1.0.0")


@server.tool
def whoami(ctx: Context) -> str:
    """Say whose token the request has, and what it allows."""
    assert ctx.token is not None  # every request has one
    return f"{ctx.token.subject} may {' '.join(sorted(ctx.token.scopes))}"


@server.tool(scopes=["notes:write"])
def save(text: str) -> str:
    """Save a note."""
    return f"saved {len(text)} characters"


# Tokens for development. Without `verifier` the tokens of the issuer are verified by its keys.
tokens = {
    "reader-token": {"sub": "ada", "scope": "notes:read"},
    "writer-token": {"sub": "ada", "scope": "notes:read notes:write"},
}
auth = ResourceServer(
    issuer="https://login.example.com",
    audience="http://127.0.0.1:8001/mcp",
    verifier=StaticTokens(tokens),
)
app = server.asgi(auth=auth)
