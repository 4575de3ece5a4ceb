from mcp_gen import Server

server = Server("shop", "1.0.0")


@server.tool
async def price(item: str) -> int:
    """Look a price up."""
    return len(item)


if __name__ == "__main__":
    server.run("http")
