"""Tool cache: a read-only tool runs once a minute for equal arguments, or after a write."""

from mcp_gen import Server
from mcp_gen.middleware import ToolCache
from mcp_gen.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)

server = Server("cached", "1.0.0")
# `shared`: the stock is the same for every client.
cache = ToolCache(ttl_s=60, shared=True)
server.add_middleware(cache)

stock = {"bolt": 3}
counted: list[str] = []


@server.tool(annotations=READS)
async def count(item: str) -> str:
    """Count an item. It takes long, so results are cached."""
    counted.append(item)
    return f"{stock.get(item, 0)} (count {len(counted)})"


@server.tool
async def add(item: str, number: int) -> None:
    """Put items on the shelf."""
    stock[item] = stock.get(item, 0) + number
    cache.drop("count")


if __name__ == "__main__":
    server.run("stdio")
