from mcp_gen import Server
from starlette.applications import Starlette
from starlette.routing import Mount

server = Server("inventory", "1.0.0")


@server.tool
async def count(item: str) -> int:
    """Count the items in stock."""
    return len(item)


app = Starlette(routes=[Mount("/tools", server.asgi())])
