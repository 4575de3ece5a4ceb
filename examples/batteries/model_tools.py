"""Tools for a model's API, and its calls answered: here the model is a script, and needs no key."""

import asyncio
from typing import Any

from mcp_gen import ClientManager, Server

shop = Server("shop", "1.0.0")


@shop.tool
async def count(item: str) -> int:
    """Count an item on the shelf."""
    return {"bolt": 12, "nut": 3}[item]


def ask_model(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    """Reply as `anthropic.messages.create` does: with two calls at first, then with a text."""
    if len(messages) == 1:
        name = tools[0]["name"]
        calls = [
            {"type": "tool_use", "id": f"call_{item}", "name": name, "input": {"item": item}}
            for item in ("bolt", "screw")
        ]
        return {"role": "assistant", "content": calls}
    bolts, screws = messages[-1]["content"]
    said = f"bolts: {bolts['content'][0]['text']}, screws: an error is {screws['is_error']}"
    return {"role": "assistant", "content": [{"type": "text", "text": said}]}


async def main() -> None:
    messages: list[Any] = [{"role": "user", "content": "How many bolts and screws are there?"}]
    async with ClientManager({"shop": shop}) as manager:
        tools = await manager.tools_for("anthropic")
        while True:
            reply = ask_model(messages, tools)
            messages.append({"role": "assistant", "content": reply["content"]})
            # Concurrently, in order; a call that fails is an error result for the model.
            results = await manager.run_tool_calls("anthropic", reply, timeout_s=30)
            if not results:
                break
            messages += results
    print(messages[-1]["content"][0]["text"])


if __name__ == "__main__":
    asyncio.run(main())
