"""Errors for type checkers: exactly the lines that end in `# refused`. Never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_gen import Context, Server


@dataclass
class App:
    url: str


@asynccontextmanager
async def opened(server: Server) -> AsyncGenerator[App]:
    yield App(server.name)


async def closed(server: Server) -> App:
    return App(server.name)


Server("a", lifespan=closed)  # refused
Server("a", lifespan=App("a"))  # refused
Server[int]("a", lifespan=opened)  # refused
server = Server("a", lifespan=opened)
of_another: Server[int] = server  # refused


@server.tool
def use(ctx: Context[App]) -> str:
    number: int = ctx.lifespan.url  # refused
    print(ctx.lifespan.nope)  # refused
    return str(number)
