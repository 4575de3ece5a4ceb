"""The server that is attacked: `python -m tests.attack.server PORT`."""

from __future__ import annotations

import asyncio
import logging
import sys

from mcp_gen import Context, Server

__all__ = ["build"]


def build() -> Server:
    """Return the server under attack, with the defaults of every limit."""
    server = Server("attacked", "1.0.0", declare=["logging"])

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def echo(text: str) -> int:
        return len(text)

    @server.tool
    async def count(values: dict[str, int]) -> int:
        return len(values)

    @server.tool
    async def pour(ctx: Context, messages: int) -> str:
        """Log at the pace of the client."""
        for _ in range(messages):
            await ctx.log("info", "x" * 1000)
        return "poured"

    @server.tool(task="optional")
    async def job() -> str:
        await asyncio.sleep(0.01)
        return "done"

    @server.resource("note://{name}")
    async def note(name: str) -> str:
        return name

    @server.prompt
    def greet(name: str) -> str:
        return f"say hello to {name}"

    @server.completion("greet", "name")
    def names(value: str) -> list[str]:
        return ["Ada"]

    return server


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    build().run("http", port=int(sys.argv[1]))
