from mcp_gen import PeerLimits, Server, Tasks

server = Server(
    "shop",
    "1.0.0",
    request_timeout_s=30,
    max_concurrent_requests=20,
    mask_errors=True,
    peer_limits=PeerLimits(max_listens=10, max_subscriptions=500),
    tasks=Tasks(max_running=20, max_created_per_s=5),
)


@server.tool
async def price(item: str) -> int:
    """Look up a price."""
    return len(item)


app = server.asgi(allowed_hosts=["mcp.example.org"], max_sessions=500)
