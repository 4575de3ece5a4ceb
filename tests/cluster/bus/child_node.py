"""A node in a process of its own: `python -m tests.cluster.bus.child_node URL MESSAGES`.

It prints its id, publishes messages, answers questions, and prints all that it gets.
"""

from __future__ import annotations

import asyncio
import sys

from mcp_gen.cluster.redis.cluster import Redis

from .nodes import TOPIC, answer_upper


async def main(url: str, messages: int) -> None:
    """Run until stdin ends."""
    node = Redis(url, lease_s=2.0, heartbeat_s=0.2)
    node.bus.on(TOPIC, lambda message: print("got", message.body.decode(), flush=True))
    node.bus.on_gap(lambda: print("gap", flush=True))
    node.on_lost(lambda old: print("lost", old, node.node, flush=True))
    node.bus.answer(TOPIC, answer_upper)
    await node.start()
    print("node", node.node, flush=True)
    loop = asyncio.get_running_loop()
    # The others are there as well.
    await loop.run_in_executor(None, sys.stdin.readline)
    for number in range(messages):
        await node.bus.publish(TOPIC, f"{node.node}-{number}".encode())
    await loop.run_in_executor(None, sys.stdin.read)
    await node.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
