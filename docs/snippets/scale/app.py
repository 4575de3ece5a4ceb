"""The same server in an ASGI app; each app has a `Redis` of its own."""

import os

from mcp_gen.cluster import Redis

from server import server

url = os.environ.get("MCP_GEN_CLUSTER", "redis://127.0.0.1:6379")
app = server.asgi(cluster=Redis(url), health=True)
