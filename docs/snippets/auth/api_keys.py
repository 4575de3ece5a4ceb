"""A server whose clients have keys of their own, which a verifier looks up."""

from hashlib import sha256

from mcp_gen import Context, Server
from mcp_gen.auth import AccessToken, ResourceServer

server = Server("inventory", "1.0.0")

# SHA-256 of each key: who reads the table has no key.
CUSTOMERS = {sha256(b"key-of-ada-7f3c9e1b").hexdigest(): "ada"}


class ApiKeys:
    """Verifier of keys; see `TokenVerifier`."""

    async def verify(self, token: str) -> AccessToken | None:
        """Return whose key it is; None if it is nobody's."""
        customer = CUSTOMERS.get(sha256(token.encode()).hexdigest())
        if customer is None:
            return None
        return AccessToken(token, issuer="keys", subject=customer, scopes=frozenset({"stock:read"}))


@server.tool(scopes=["stock:read"])
def count(item: str, ctx: Context) -> str:
    """Count the items in stock."""
    return f"{len(item)} for {ctx.principal}"


# No issuer: clients are told of no authorization server, and have their key from elsewhere.
app = server.asgi(auth=ResourceServer(audience="http://127.0.0.1:8002/mcp", verifier=ApiKeys()))
