"""Values of `Context.state` in Redis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .connection import Script

if TYPE_CHECKING:
    from .connection import RedisConnection
    from .keys import Keys

__all__ = ["RedisStates"]

# The hash of a client: `v:<name>` a value, `bytes` their size with their names, `until`.
_SAVE = Script("""
local key, name, value = KEYS[1], 'v:' .. ARGV[1], ARGV[2]
local until_s, now, limit = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local present = redis.call('HGET', key, 'until')
if present and tonumber(present) <= now then redis.call('UNLINK', key) end
local size = tonumber(redis.call('HGET', key, 'bytes') or '0') + #value
if redis.call('HEXISTS', key, name) == 1 then
  size = size - redis.call('HSTRLEN', key, name)
else
  size = size + #ARGV[1]
end
if size > limit then return 0 end
redis.call('HSET', key, name, value, 'bytes', size, 'until', until_s)
redis.call('EXPIRE', key, ARGV[6])
return 1
""")

_FORGET = Script("""
local key, name = KEYS[1], 'v:' .. ARGV[1]
if redis.call('HEXISTS', key, name) == 0 then return 0 end
local size = redis.call('HSTRLEN', key, name) + #ARGV[1]
redis.call('HDEL', key, name)
if redis.call('HLEN', key) == 2 then redis.call('UNLINK', key)
else redis.call('HINCRBY', key, 'bytes', 0 - size) end
return 1
""")


class RedisStates:
    """Stores state in Redis. Each method is one command.

    The size of all clients' state is not limited: it is dropped when its time is over.

    Args:
        connection: Connection to Redis.
        keys: Names of the keys.
    """

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._keys = keys

    async def save(
        self, key: str, name: str, value: bytes, *, expires_at: float, now: float, max_bytes: int
    ) -> bool:
        """Store a value; see `StateStore.save`."""
        ttl_s = max(1, math.ceil(expires_at - now))
        saved = await self._connection.run(
            _SAVE,
            [self._keys.state(key)],
            (name, value, repr(expires_at), repr(now), max_bytes, ttl_s),
        )
        return bool(saved)

    async def load(self, key: str, name: str, *, now: float) -> bytes | None:
        """Return a value; see `StateStore.load`."""
        value: bytes | None
        value, until = await self._connection.execute(
            "HMGET", self._keys.state(key), f"v:{name}", "until"
        )
        return None if until is None or float(until) <= now else value

    async def forget(self, key: str, name: str | None = None) -> None:
        """Delete a value, or all of a key; see `StateStore.forget`."""
        if name is None:
            await self._connection.execute("UNLINK", self._keys.state(key))
        else:
            await self._connection.run(_FORGET, [self._keys.state(key)], [name])
