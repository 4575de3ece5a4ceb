"""A resource that changes, and a client that hears of it."""

import asyncio

from mcp_gen import Client, Server, text_of

server = Server("board", "1.0.0")
lines = ["The board is empty."]


@server.resource("board://lines", mime_type="text/plain")
def board() -> str:
    """The lines on the board."""
    return "\n".join(lines)


@server.tool
def write(line: str) -> str:
    """Write a line on the board."""
    lines.append(line)
    server.notify.resource_updated("board://lines")
    return "written"


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(server)
        async with session.watch("board://lines") as changes:
            await session.call_tool("write", {"line": "Meeting at ten."})
            change = await anext(changes)
            print(change.uri, "has changed:")
        print(text_of(await session.read_resource("board://lines")))


if __name__ == "__main__":
    asyncio.run(main())
