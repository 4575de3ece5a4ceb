"""Rate limit: each client may begin 3 searches at once, then one per second."""

from mcp_gen import Server
from mcp_gen.middleware import RateLimit

server = Server("limited", "1.0.0")
server.add_middleware(RateLimit(1, burst=3, tools=["search"]))
# All clients together, whatever the tool: those without a principal may open many sessions.
server.add_middleware(RateLimit(100, count="requests", client=lambda ctx: None))


@server.tool
async def search(text: str) -> list[str]:
    """Search the notes."""
    return [note for note in ("buy bolts", "sell nuts") if text in note]


if __name__ == "__main__":
    server.run("stdio")
