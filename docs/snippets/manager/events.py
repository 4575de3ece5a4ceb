"""Events of servers, and a server that is added and removed later."""

import asyncio

from mcp_gen import ClientManager, ManagerEvent, Reconnect

from shelf import server

changed = asyncio.Event()
manager = ClientManager({"shelf": server}, reconnect=Reconnect(first_s=0.5, limit=3))


@manager.on_event("connected", "connect_failed", "reconnecting", "reconnect_failed")
def connection(event: ManagerEvent) -> None:
    print(event.server, event.kind, event.error or "")


@manager.on_event("tools_changed")
async def tools_changed(event: ManagerEvent) -> None:
    print(event.server, event.kind, [tool.name for tool in await manager.tools()])
    changed.set()


async def main() -> None:
    async with manager:
        await manager.add("second", "shelf.py")
        await manager.remove("second")
        server.remove_tool("count")
        await asyncio.wait_for(changed.wait(), 10)


if __name__ == "__main__":
    asyncio.run(main())
