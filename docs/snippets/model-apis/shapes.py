"""A tool and one of its results, in the format of the API that is named on the command line."""

import asyncio
import json
import sys
from typing import Literal

from mcp_gen import ClientManager, tool_result_for

from agent import shop

Api = Literal["anthropic", "openai", "openai-responses", "gemini"]
APIS: tuple[Api, ...] = ("anthropic", "openai", "openai-responses", "gemini")


async def show(api: Api) -> None:
    async with ClientManager({"shop": shop}) as manager:
        (tool,) = await manager.tools_for(api)
        print(json.dumps(tool))
        result = await manager.call_tool("mcp__shop__count", {"item": "bolt"})
        made = tool_result_for(api, result, id="call_1", name="mcp__shop__count")
        print(json.dumps(made))


if __name__ == "__main__":
    asyncio.run(show(next(api for api in APIS if api in sys.argv)))
