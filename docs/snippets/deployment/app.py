import os

from mcp_gen import Server

server = Server(
    "inventory", "1.0.0", request_state_keys=[os.environ.get("STATE_KEY", "only for trying out")]
)


@server.tool
async def count(item: str) -> int:
    """Count the items in stock."""
    return len(item)


app = server.asgi(stateless=True, allowed_hosts=["mcp.example.org"])
