"""A manager that calls tools only if they are as they were approved."""

import asyncio

from mcp_gen import ClientManager, ManagerEvent, ToolNotApproved


async def main() -> None:
    servers = {"shelf": "server.py", "other shelf": "next.py"}
    locks = {"shelf": "mcp.lock.json", "other shelf": "mcp.lock.json"}
    manager = ClientManager(servers, lock=locks)

    @manager.on_event("tool_not_approved")
    def tell(event: ManagerEvent) -> None:
        print("not approved:", event.server, event.tool)

    async with manager:
        print([tool.name for tool in await manager.tools()])
        print(await manager.call_tool("mcp__shelf__count", {"item": "bolt"}, returns=int))
        try:
            await manager.call_tool("mcp__other_shelf__count", {"item": "bolt"})
        except ToolNotApproved as error:
            print(*error.changes, sep="\n")


if __name__ == "__main__":
    asyncio.run(main())
