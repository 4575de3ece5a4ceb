"""A tool that blocks the event loop."""

from mcp_gen import Server

server = Server("slow", "1.0.0")


@server.tool
async def report() -> str:
    """Write a report."""
    return f"the sum is {sum(number % 7 for number in range(10_000_000))}"
