"""An agent's loop. The model is a script here, so that it runs without a key."""

import asyncio
from typing import Any

from mcp_gen import ClientManager, Server, ToolError

shop = Server("shop", "1.0.0")


@shop.tool
async def count(item: str) -> int:
    """Count an item on the shelf."""
    stock = {"bolt": 12, "nut": 3}
    if item not in stock:
        raise ToolError(f"there is no {item}")
    return stock[item]


async def create_message(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    """Reply as `anthropic.messages.create(...)` does: two calls of a tool, then a text."""
    if len(messages) > 1:
        bolts, screws = messages[-1]["content"]
        said = f"bolts: {bolts['content'][0]['text']}; screws: {screws['content'][0]['text']}"
        return {"role": "assistant", "content": [{"type": "text", "text": said}]}
    name = tools[0]["name"]
    calls = [
        {"type": "tool_use", "id": f"call_{item}", "name": name, "input": {"item": item}}
        for item in ("bolt", "screw")
    ]
    return {"role": "assistant", "content": calls}


async def main() -> None:
    messages: list[Any] = [{"role": "user", "content": "How many bolts and screws are there?"}]
    async with ClientManager({"shop": shop}) as manager:
        tools = await manager.tools_for("anthropic")
        while True:
            reply = await create_message(messages, tools)
            messages.append({"role": "assistant", "content": reply["content"]})
            results = await manager.run_tool_calls("anthropic", reply)
            if not results:
                break
            messages += results
    print(reply["content"][0]["text"])


if __name__ == "__main__":
    asyncio.run(main())
