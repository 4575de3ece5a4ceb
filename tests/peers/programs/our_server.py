"""Server of ours for the official client, at the revisions in its arguments."""

import asyncio
import os
import subprocess
import sys

import mcp_wire
from mcp_gen import Server

server = Server("ours", "1.0.0", revisions=sys.argv[1:] or mcp_wire.REVISIONS)
hanging = asyncio.Event()
stopped = asyncio.Event()

print("printed before serving")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def shout() -> str:
    """Write to stdout in every way there is."""
    print("printed by a tool")
    os.write(1, b"written by a tool\n")
    subprocess.run(["/bin/echo", "echoed by a child"], check=True)
    return "shouted"


@server.tool
async def hang() -> None:
    """Never return."""
    hanging.set()
    try:
        await asyncio.Event().wait()
    finally:
        stopped.set()


@server.tool
async def until_hanging() -> None:
    """Return once `hang` was called."""
    await hanging.wait()


@server.tool
async def until_stopped() -> None:
    """Return once `hang` was cancelled."""
    await stopped.wait()


if __name__ == "__main__":
    server.run("stdio")
