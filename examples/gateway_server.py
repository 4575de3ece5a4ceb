"""A gateway: tools of its own, a server of the same process, and one that is somewhere else.

`python examples/gateway_server.py` serves it over stdio.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_gen import Client, Server

NOTES = [sys.executable, str(Path(__file__).with_name("notes_server.py"))]

weather = Server("weather")


@weather.tool
async def forecast(city: str) -> str:
    """Forecast the weather."""
    return f"sun in {city}"


@asynccontextmanager
async def connected(server: Server) -> AsyncGenerator[None]:
    """While the gateway serves, it is connected to the server that is somewhere else."""
    async with Client("gateway", "1.0.0", forward_requests=True) as client:
        session = await client.connect(NOTES)
        server.mount("notes", session)
        yield
        server.unmount("notes")


gateway = Server("gateway", "1.0.0", lifespan=connected)
gateway.mount("weather", weather)


@gateway.tool
async def about() -> str:
    """Describe this server."""
    return "a gateway"


if __name__ == "__main__":
    gateway.run("stdio")
