from mcp_gen import Server
from mcp_gen.middleware import RateLimit, RequestLog

server = Server("notes", "1.0.0")
server.add_middleware(RequestLog("key=value"))
server.add_middleware(RateLimit(0.1, burst=2, tools=["search"]))


@server.tool
async def search(text: str) -> list[str]:
    """Search the notes."""
    return [note for note in ("buy bolts", "sell nuts") if text in note]


if __name__ == "__main__":
    server.run("stdio")
