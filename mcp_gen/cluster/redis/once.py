"""Values of `Context.once` in Redis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.stores.once import new_once_name

if TYPE_CHECKING:
    from .connection import RedisConnection
    from .keys import Keys

__all__ = ["RedisOnce"]


class RedisOnce:
    """Stores the values of `Context.once` in Redis as JSON. Each method is one command.

    Their number is not limited: they are dropped when their time is over.

    Args:
        connection: Connection to Redis.
        keys: Names of the keys.
        ttl_s: Seconds for which values are stored after they were last put.
    """

    values_are_json = True

    def __init__(self, connection: RedisConnection, keys: Keys, *, ttl_s: float = 3600.0) -> None:
        self._connection = connection
        self._keys = keys
        self.ttl_s = max(1, math.ceil(ttl_s))
        """Seconds for which values are stored after they were last put."""

    async def get(self, name: str | None, principal: str | None = None) -> dict[str, Any]:
        """Return the values of a name; see `OnceStore.get`."""
        if not name:
            return {}
        found = await self._connection.execute("GET", self._keys.once(name, principal))
        return {} if found is None else msgspec.json.decode(found, type=dict[str, Any])

    async def put(
        self, name: str | None, values: dict[str, Any], principal: str | None = None
    ) -> str:
        """Store values; see `OnceStore.put`."""
        name = name or new_once_name()
        await self._connection.execute(
            "SET", self._keys.once(name, principal), msgspec.json.encode(values), "EX", self.ttl_s
        )
        return name
