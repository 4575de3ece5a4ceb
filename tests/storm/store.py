"""The store as the storm uses it: it looks at the keys, and cuts a node off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.storm.processes import HOST, user_of

__all__ = ["allow", "keys_of", "refuse"]

TIMEOUT_S = 1.0
AGAIN_S = 0.1
UNREACHABLE = (RedisError, OSError)


@asynccontextmanager
async def _admin(port: int) -> AsyncGenerator[Any]:
    # Not all of its methods have annotations.
    client: Any = Redis(host=HOST, port=port, socket_timeout=TIMEOUT_S)
    try:
        yield client
    finally:
        await client.aclose()


async def refuse(port: int, node: int) -> bool:
    """Refuse a node, and cut its connections; return False if the store cannot be reached."""
    try:
        async with _admin(port) as admin:
            await admin.execute_command("ACL", "SETUSER", user_of(node), "off")
            await admin.execute_command("CLIENT", "KILL", "USER", user_of(node))
    except UNREACHABLE:
        return False
    return True


async def allow(port: int, node: int) -> None:
    """Take a node again, once the store can be reached."""
    while True:
        try:
            async with _admin(port) as admin:
                await admin.execute_command("ACL", "SETUSER", user_of(node), "on")
        except UNREACHABLE:
            await asyncio.sleep(AGAIN_S)
        else:
            return


async def keys_of(port: int) -> dict[bytes, int]:
    """Return the seconds that each key has left, -1 for ever; nothing without a store."""
    try:
        async with _admin(port) as admin:
            keys: list[bytes] = [key async for key in admin.scan_iter(count=1000)]
            async with admin.pipeline(transaction=False) as asked:
                for key in keys:
                    asked.ttl(key)
                left: list[int] = await asked.execute()
    except UNREACHABLE:
        return {}
    return dict(zip(keys, left, strict=True))
