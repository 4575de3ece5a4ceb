"""An async tool that blocks the event loop, and with it every other request."""

import time

from mcp_gen import Server

server = Server("shop", "1.0.0")


def look_up(item: str) -> int:
    """Look a price up with a driver that blocks."""
    time.sleep(0.3)  # the mistake that --dev reports
    return len(item)


@server.tool
async def price(item: str) -> int:
    """Look a price up."""
    return look_up(item)


if __name__ == "__main__":
    server.run("stdio")
