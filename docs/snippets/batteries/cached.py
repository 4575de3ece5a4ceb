"""Results of a slow tool are cached, and too large ones are refused."""

from mcp_gen import Server
from mcp_gen.middleware import ResultSizeLimit, ToolCache
from mcp_gen.types import ToolAnnotations

server = Server("stock", "1.0.0")
server.add_middleware(ResultSizeLimit(2_000))
# The shelf is the same for every client.
cache = ToolCache(ttl_s=60, shared=True)
server.add_middleware(cache)

shelf = [f"item {number}" for number in range(1, 1001)]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def items(first: int, last: int) -> list[str]:
    """List items by their numbers."""
    return shelf[first - 1 : last]


@server.tool
async def add(item: str) -> int:
    """Put an item on the shelf, and return its number."""
    shelf.append(item)
    cache.drop("items")
    return len(shelf)


if __name__ == "__main__":
    server.run("stdio")
