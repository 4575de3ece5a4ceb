import asyncio
from pathlib import Path

from mcp_gen import ClientManager, text_of


async def main() -> None:
    async with ClientManager.from_file(Path("servers.json")) as manager:
        for status in manager.servers().values():
            print(status.name, status.state, status.revision)
        print([tool.name for tool in await manager.tools()])
        print(await manager.call_tool("mcp__shelf__count", {"item": "bolt"}, returns=int))
        print(text_of(await manager.read_resource("shelf://settings", server="shelf")))
        print(text_of(await manager.get_prompt("mcp__shelf__order", {"item": "nut"})))


if __name__ == "__main__":
    asyncio.run(main())
