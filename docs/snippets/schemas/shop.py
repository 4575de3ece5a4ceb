from mcp_gen import Context, Server
from mcp_gen.types import Tool

server = Server("shop", schema_timeout_s=0.5)
ORDER = {
    "type": "object",
    "properties": {"code": {"type": "string", "pattern": "^(?=.*[0-9])[A-Z0-9]+$"}},
}


async def order(ctx: Context, arguments: dict[str, str]) -> str:
    return f"ordered {arguments['code']}"


server.add_tool(Tool(name="order", input_schema=ORDER), order)

if __name__ == "__main__":
    server.run("stdio")
