"""A lifespan with a type: `ctx.lifespan` is a `Shelf` for type checkers, too."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp_gen import Context, Server


@dataclass
class Shelf:
    books: dict[str, int] = field(default_factory=lambda: {"Emma": 2})


@asynccontextmanager
async def open_shelf(server: Server) -> AsyncGenerator[Shelf]:
    yield Shelf()


server = Server("library", "1.0.0", lifespan=open_shelf)


@server.tool
def borrow(ctx: Context[Shelf], title: str) -> str:
    """Borrow a book."""
    ctx.lifespan.books[title] -= 1
    return f"{ctx.lifespan.books[title]} left"


if __name__ == "__main__":
    server.run("stdio")
