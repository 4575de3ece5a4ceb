import asyncio

from mcp_gen import Client, McpError, ResourceNotFound, Server, ToolError

server = Server("library", "1.0.0")


@server.tool
def borrow(title: str) -> str:
    """Borrow a book."""
    if title == "Emma":
        raise ToolError("Emma is lent until Friday")
    if title == "":
        raise McpError(-31000, "a title is needed", {"argument": "title"})
    return f"{title} is yours"


@server.resource("book://{title}")
def book(title: str) -> str:
    """The text of a book."""
    raise ResourceNotFound


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(server)
        result = await session.call_tool("borrow", {"title": "Emma"})
        print("a result that failed:", result.is_error)
        try:
            await session.call_tool("borrow", {"title": "Emma"}, returns=str)
        except ToolError as error:
            print("a tool error:", error)
        try:
            await session.call_tool("borrow", {"title": ""})
        except McpError as error:
            print("a protocol error:", error.code, error.message, error.data)
        try:
            await session.read_resource("book://Emma")
        except McpError as error:
            print("no such resource:", error.code)


if __name__ == "__main__":
    asyncio.run(main())
