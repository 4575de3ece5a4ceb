"""Values of `Context.once` in Redis."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.core.stores.once import new_once_name

from .connection import Script
from .keys import plain

if TYPE_CHECKING:
    from .connection import RedisConnection
    from .keys import Keys

__all__ = ["RedisOnce"]

EXPIRED_PER_PUT = 100
"""Names that have expired of which one `put` drops so many at most."""

# `values` is a hash: the end of its time and the values by name. `ends` is a sorted set: names by
# the ends. Both live as long as the name that was put last.
_PUT = Script("""
local values, ends = KEYS[1], KEYS[2]
local name, value, end_s, now_s = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, most, ttl_s = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
redis.call('HSET', values, name, end_s .. ' ' .. value)
redis.call('ZADD', ends, end_s, name)
local expired = redis.call('ZCOUNT', ends, '-inf', now_s)
local drop = math.max(math.min(expired, most), redis.call('ZCARD', ends) - limit)
if drop > 0 then
  local dropped = redis.call('ZPOPMIN', ends, drop)
  for i = 1, #dropped, 2 do redis.call('HDEL', values, dropped[i]) end
end
redis.call('EXPIRE', values, ttl_s)
redis.call('EXPIRE', ends, ttl_s)
return 1
""")


class RedisOnce:
    """Stores the values of `Context.once` in Redis as JSON. Each method is one command.

    Args:
        connection: Connection to Redis.
        keys: Names of the keys.
        ttl_s: Seconds for which values are stored after they were last put.
        max_names: Maximum number of names of one principal, and of all clients without one; the one
            put longest ago is evicted.
    """

    values_are_json = True

    def __init__(
        self,
        connection: RedisConnection,
        keys: Keys,
        *,
        ttl_s: float = 3600.0,
        max_names: int = 10_000,
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._max_names = max_names
        self.ttl_s = max(1, math.ceil(ttl_s))
        """Seconds for which values are stored after they were last put."""

    async def get(self, name: str | None, principal: str | None = None) -> dict[str, Any]:
        """Return the values of a name; see `OnceStore.get`."""
        if not name:
            return {}
        found = await self._connection.execute(
            "HGET", self._keys.once(principal).values, plain(name)
        )
        if found is None:
            return {}
        end_s, _, values = found.partition(b" ")
        if float(end_s) <= time.time():
            return {}
        return msgspec.json.decode(values, type=dict[str, Any])

    async def put(
        self, name: str | None, values: dict[str, Any], principal: str | None = None
    ) -> str:
        """Store values; see `OnceStore.put`."""
        name = name or new_once_name()
        now_s = time.time()
        await self._connection.run(
            _PUT,
            self._keys.once(principal),
            (
                plain(name),
                msgspec.json.encode(values),
                repr(now_s + self.ttl_s),
                repr(now_s),
                self._max_names,
                EXPIRED_PER_PUT,
                self.ttl_s,
            ),
        )
        return name
