"""Gateway over stdio: its own tool, one of an in-process server, one of a remote server.

Its argument is the revision that it speaks with the other process.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bench.programs.ours import server as other
from mcp_gen import Client, Server


@asynccontextmanager
async def connected(server: Server) -> AsyncGenerator[None]:
    """Mount a remote server while the gateway serves."""
    command = [sys.executable, "-m", "bench.programs.ours_stdio"]
    async with Client("gateway", forward_requests=True) as client:
        session = await client.connect(command, env="inherit", revision=sys.argv[1])
        server.mount("remote", session)
        yield


gateway = Server("gateway", "1.0.0", lifespan=connected)
gateway.mount("local", other)


@gateway.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    if "--uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    gateway.run("stdio")
