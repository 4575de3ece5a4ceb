"""A server whose users log in at GitHub."""

import os

from mcp_gen import Context, Server
from mcp_gen.auth import LoginProvider, OAuthProxy

server = Server("repositories", "1.0.0")
auth = OAuthProxy(
    upstream=LoginProvider(
        issuer="https://github.com/login/oauth",
        authorization_endpoint="https://github.com/login/oauth/authorize",
        token_endpoint="https://github.com/login/oauth/access_token",
        userinfo_endpoint="https://api.github.com/user",
        subject_claim="id",
    ),
    client_id=os.environ["GITHUB_CLIENT_ID"],
    client_secret=os.environ["GITHUB_CLIENT_SECRET"],
    resource=os.environ["PUBLIC_URL"] + "/mcp",
    # Without one, all users are logged out when the server restarts.
    secret=os.environ.get("PROXY_SECRET"),
    name="Repositories",
)


@server.tool
async def whoami(ctx: Context) -> str:
    """Say who is logged in."""
    assert ctx.token is not None  # every request has one
    await auth.upstream_token(ctx.token)  # for requests to api.github.com in the user's name
    return f"user {ctx.token.subject} of GitHub"


app = server.asgi(auth=auth)
