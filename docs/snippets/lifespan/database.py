"""One connection for the process, one transaction for each call."""

import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated

from mcp_gen import Context, Depends, Server


@asynccontextmanager
async def open_database(server: Server) -> AsyncGenerator[sqlite3.Connection]:
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute("create table orders (item text)")
    yield database
    database.close()


def transaction(ctx: Context[sqlite3.Connection]) -> Iterator[sqlite3.Connection]:
    """Commit when the call succeeds, roll back when it fails."""
    with ctx.lifespan as database:
        yield database


server = Server("orders", "1.0.0", lifespan=open_database)
Transaction = Annotated[sqlite3.Connection, Depends(transaction)]


@server.tool
async def order(item: str, database: Transaction) -> int:
    """Order an item, and return the number of orders."""
    database.execute("insert into orders values (?)", [item])
    (count,) = database.execute("select count(*) from orders").fetchone()
    return int(count)


if __name__ == "__main__":
    server.run("stdio")
