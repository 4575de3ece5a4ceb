"""Many servers at once, as an agent has them: those of a file, with tools for a model's API.

python examples/manager.py
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp_gen import ClientManager, ManagerEvent, text_of

HERE = Path(__file__).parent


async def main() -> None:
    env = {**os.environ, "PYTHON": sys.executable, "EXAMPLES": str(HERE)}
    manager = ClientManager.from_file(HERE / "servers.json", env=env)

    @manager.on_event("connect_failed", "reconnecting", "reconnected", "reconnect_failed")
    def told(event: ManagerEvent) -> None:
        print(event.server, event.kind, event.error or "", file=sys.stderr)

    async with manager:
        for status in manager.servers().values():
            print(status.name, status.state, status.revision)
        for tool in await manager.tools_for("anthropic"):
            print(tool["name"], list(tool["input_schema"]["properties"]))
        bolts = {"item": "bolt", "shelf": 3}
        print(await manager.call_tool("mcp__shelves__count", bolts, returns=int))
        read = await manager.read_resource("note://shopping", server="notes")
        print(text_of(read))


if __name__ == "__main__":
    asyncio.run(main())
