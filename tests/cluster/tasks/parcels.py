"""Server of a web node (run as a program, with a port) or of a worker (imported)."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn

from mcp_gen import Server, TaskiqEngine, Tasks
from mcp_gen.cluster import Redis

URL = os.environ["PARCELS_REDIS"]
EFFECTS = Path(os.environ["PARCELS_EFFECTS"])

redis_broker: Any = import_module("taskiq_redis").RedisStreamBroker
broker = redis_broker(URL, xread_block=50, xread_count=1, unacknowledged_lock_timeout=1)
options = Tasks(
    engine=TaskiqEngine(broker), lease_s=1, resubmit_s=1, poll_interval_s=0.1, grace_s=0
)
server = Server("parcels", tasks=options)


def effect(parcel: str) -> bool:
    """Write down the effect; return True if it is the first of its parcel."""
    is_first = parcel not in EFFECTS.read_text().split()
    with EFFECTS.open("a") as file:
        file.write(f"{parcel}\n")
    return is_first


async def send(parcel: str, wait_s: float) -> str:
    await asyncio.sleep(wait_s)
    return f"{parcel} is sent"


@server.tool(task="required")
async def send_once(parcel: str, wait_s: float) -> str:
    effect(parcel)
    return await send(parcel, wait_s)


@server.tool(task="required", retry=True)
async def send_again(parcel: str) -> str:
    return await send(parcel, 300 if effect(parcel) else 0)


if __name__ == "__main__":
    uvicorn.run(server.asgi(cluster=Redis(URL)), port=int(sys.argv[1]), log_level="info")
