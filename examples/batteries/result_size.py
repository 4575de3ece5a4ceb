"""Result size limit: a model is told to ask for less, instead of reading a million lines."""

from mcp_gen import Server
from mcp_gen.middleware import ResultSizeLimit

server = Server("sized", "1.0.0")
server.add_middleware(ResultSizeLimit(2_000, tools={"export": 10_000_000}))


@server.tool
async def lines(first: int, last: int) -> str:
    """Read lines of the log."""
    return "\n".join(f"line {number}" for number in range(first, last + 1))


@server.tool
async def export() -> str:
    """Export the whole log."""
    return await lines(1, 10_000)


if __name__ == "__main__":
    server.run("stdio")
