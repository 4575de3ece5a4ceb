"""A server that opens a database for as long as it runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp.server.mcpserver import Context, MCPServer


@dataclass
class Database:
    rows: dict[str, int] = field(default_factory=dict)


@asynccontextmanager
async def lifespan(server: MCPServer[Database]) -> AsyncIterator[Database]:
    yield Database({"bolt": 12})


mcp = MCPServer("stock", lifespan=lifespan)


@mcp.tool()
async def stock(item: str, ctx: Context[Database]) -> int:
    """Tell how many there are."""
    return ctx.request_context.lifespan_context.rows.get(item, 0)


if __name__ == "__main__":
    mcp.run()
