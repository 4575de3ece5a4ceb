"""Opens stores over one Redis, each with a connection of its own, as nodes have."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ClassVar

import pytest

from mcp_gen.cluster.redis.addresses import RedisAddress, ServerAddress
from mcp_gen.cluster.redis.connection import RedisConnection
from mcp_gen.cluster.redis.keys import Keys
from tests.support.processes.redis_server import ANSWER_S, RedisServer

__all__ = ["OverRedis", "connections", "keys_for_ever"]

FOR_EVER = """
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('TTL', key) < 0 then found[#found + 1] = key end
end
return found
"""


@asynccontextmanager
async def connections(
    server: RedisServer, count: int, address: Callable[[], RedisAddress] | None = None
) -> AsyncGenerator[list[RedisConnection]]:
    """Open connections to a server, or to an address."""
    places = [address() if address else ServerAddress(server.url) for _ in range(count)]
    for place in places:
        place.limit(ANSWER_S)
    opened = [RedisConnection(place, ANSWER_S) for place in places]
    for connection in opened:
        connection.restored()
    try:
        yield opened
    finally:
        for connection in opened:
            await connection.aclose()


def keys_for_ever(servers: Sequence[RedisServer]) -> list[bytes]:
    """Return the keys that have no time to live."""
    return [key for server in servers for key in server.run("EVAL", FOR_EVER, 0)]


class OverRedis:
    """Opens stores over a server, and looks at each key when the test has ended."""

    make: ClassVar[Any]

    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> Iterator[None]:
        self.servers = [redis_server]
        yield
        assert keys_for_ever(self.servers) == []

    def address(self) -> RedisAddress:
        """Return the address that stores connect to."""
        return ServerAddress(self.servers[0].url)

    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[Any]]:
        """Open stores that share their data, which is empty at first."""
        return self._opened(count)

    @asynccontextmanager
    async def _opened(self, count: int) -> AsyncGenerator[Sequence[Any]]:
        async with connections(self.servers[0], count, self.address) as opened:
            yield [type(self).make(connection, Keys("test")) for connection in opened]
