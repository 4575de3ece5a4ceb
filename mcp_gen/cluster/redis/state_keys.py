"""Keys that seal `requestState`, shared by all nodes in Redis, and their rotation."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from redis.exceptions import RedisError

from mcp_gen.core.stores.failures import StoreDown

from .bus import BusKeys
from .connection import Argument, RedisConnection, Script

__all__ = ["StateKeys"]

KEY_BYTES = 32
REFRESH_S = 30.0
"""Seconds between two looks at the keys in Redis."""
SPREAD_S = 3 * REFRESH_S
"""Age at which a key begins to seal: by then all nodes know it."""

REPLACE = Script(
    """
    if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
    return 1
    """
)
"""Replace the keys, if they are still those that the node has read."""


class _StateKey(Struct, array_like=True):
    made_at: float
    """Seconds since the epoch."""
    secret: bytes


_decode = msgspec.json.Decoder(list[_StateKey]).decode


class StateKeys:
    """Keys of `requestState`.

    Args:
        connection: The connection to Redis.
        keys: Names of keys.
        rotate_s: Seconds after which a new key is made.
        keep_s: Seconds for which an older key opens states after a newer one was made.
    """

    def __init__(
        self, connection: RedisConnection, keys: BusKeys, *, rotate_s: float, keep_s: float
    ) -> None:
        self._connection = connection
        self._name = keys.state_keys
        self._rotate_s = rotate_s
        self._keep_s = keep_s
        self._keys: list[_StateKey] = []
        self._loaded_at = 0.0

    def current(self) -> Sequence[bytes]:
        """Return the keys: the newest that all nodes know first; all of them open."""
        known_since = time.time() - SPREAD_S
        newest_first = sorted(self._keys, key=lambda key: key.made_at, reverse=True)
        sealing = next((key for key in newest_first if key.made_at <= known_since), None)
        if sealing is None and newest_first:
            # The first key of a new cluster: there is no older one that could seal.
            sealing = newest_first[-1]
        return [key.secret for key in sorted(newest_first, key=lambda key: key is not sealing)]

    async def refresh(self) -> None:
        """Load the keys, if they were not loaded lately.

        Raises:
            StoreDown: The server cannot be used.
        """
        if time.monotonic() - self._loaded_at >= REFRESH_S:
            await self.load()

    async def load(self) -> None:
        """Load the keys; make a new one if there is none, or the newest is old.

        Raises:
            StoreDown: The server cannot be used.
        """
        stored = await self._get()
        for _ in range(3):
            keys = _read(stored)
            now = time.time()
            kept = self._due(keys, now)
            if kept == keys and keys:
                break
            await self._replace(stored, kept)
            stored = await self._get()
        self._keys = _read(stored)
        self._loaded_at = time.monotonic()

    def _due(self, keys: list[_StateKey], now: float) -> list[_StateKey]:
        """Return the keys that there should be now."""
        kept = [key for key in keys if key.made_at + self._rotate_s + self._keep_s > now]
        newest = max((key.made_at for key in kept), default=0.0)
        if newest + self._rotate_s <= now:
            kept.append(_StateKey(now, secrets.token_bytes(KEY_BYTES)))
        return kept

    async def _get(self) -> bytes:
        [reply] = await self._connection.send([("GET", self._name)])
        return self._checked(reply) or b""

    async def _replace(self, stored: bytes, keys: list[_StateKey]) -> None:
        ttl_ms = int((self._rotate_s + self._keep_s) * 1000)
        arguments: list[Argument] = [stored, msgspec.json.encode(keys), ttl_ms]
        [reply] = await self._connection.send([REPLACE.command([self._name], arguments)])
        self._checked(reply)

    def _checked(self, reply: object) -> bytes | None:
        if isinstance(reply, RedisError):
            raise self._connection.down_error(reply)
        return reply if isinstance(reply, bytes) else None


def _read(stored: bytes) -> list[_StateKey]:
    try:
        return _decode(stored) if stored else []
    except msgspec.MsgspecError:
        raise StoreDown(
            "the keys of requestState cannot be read: is the prefix used twice?"
        ) from None
