"""Nodes over Redis: leases, heartbeat, generation of the store, back-off and recovery."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import secrets
import time
from typing import Any

from redis.exceptions import RedisError

from mcp_gen.cluster.signals.callbacks import CallbackList
from mcp_gen.cluster.signals.heartbeat import HookRunner, new_node_id
from mcp_gen.core.stores.failures import StoreDown

from .bus import BusKeys, RedisBus, is_before
from .connection import RedisConnection, Script
from .state_keys import StateKeys

__all__ = ["NodeTimes", "RedisNode"]

log = logging.getLogger("mcp_gen.cluster")

INBOX_TTL_MS = 60_000

LOOK = Script(
    """
    redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2])
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
    local last = '0-0'
    if redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 1 then
        local info = redis.call('XINFO', 'STREAM', KEYS[1])
        for at = 1, #info, 2 do
            if info[at] == 'last-generated-id' then last = info[at + 1] end
        end
    end
    return {redis.call('GET', KEYS[2]), last}
    """
)
"""Return the generation, a new one if there is none, and the offset of the last broadcast."""

RENEW = Script(
    """
    local held = ARGV[2] == 'take' or redis.call('EXISTS', KEYS[1]) == 1
    if held then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
    redis.call('XTRIM', KEYS[2], 'MINID', ARGV[3])
    redis.call('PEXPIRE', KEYS[2], ARGV[4])
    local now = redis.call('TIME')
    return {held and 1 or 0, now[1] * 1000 + math.floor(now[2] / 1000)}
    """
)
"""Take a lease, or renew it if it has not lapsed, and drop what was read from the inbox."""


class NodeTimes:
    """Times of a node.

    Args:
        lease_s: Seconds for which a lease lasts.
        heartbeat_s: Seconds between renewals.
        min_backoff_s: Seconds before the second attempt to recover; the first is made at once.
        max_backoff_s: Maximum seconds between attempts.
        data_ttl_s: Time to live of what all nodes share, in seconds.
    """

    def __init__(
        self,
        *,
        lease_s: float,
        heartbeat_s: float,
        min_backoff_s: float,
        max_backoff_s: float,
        data_ttl_s: float,
    ) -> None:
        self.lease_s = lease_s
        self.heartbeat_s = heartbeat_s
        self.min_backoff_s = min_backoff_s
        self.max_backoff_s = max_backoff_s
        self.data_ttl_ms = int(data_ttl_s * 1000)

    def backoff_s(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt; 0 for the first attempt."""
        longest = min(self.max_backoff_s, self.min_backoff_s * 2.0 ** min(attempt, 30))
        return longest * random.uniform(0.5, 1.0)


class RedisNode:
    """Holds the lease of this node, and brings connection and bus back when they were down.

    Args:
        connection: The connection to Redis.
        keys: Names of keys.
        bus: The bus of this node.
        state_keys: Keys of `requestState`.
        times: Lease, heartbeat and back-off.
    """

    def __init__(
        self,
        connection: RedisConnection,
        keys: BusKeys,
        bus: RedisBus,
        state_keys: StateKeys,
        times: NodeTimes,
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._bus = bus
        self._state_keys = state_keys
        self._times = times
        self.id = new_node_id()
        self.lost: CallbackList[[str]] = CallbackList("on_lost")
        self.emptied: CallbackList[[]] = CallbackList("on_emptied")
        self.hooks = HookRunner()
        self._leased_until: float | None = None
        """End of the lease on the monotonic clock; None without a lease."""
        self._changed = asyncio.Event()
        self._supervisor: asyncio.Task[None] | None = None
        self._hooking: asyncio.Task[None] | None = None
        connection.on_down = self._on_down
        connection.before_flush = self.check_lease

    async def start(self) -> None:
        """Take a lease, begin to read, and keep both.

        Raises:
            StoreDown: The server cannot be used.
        """
        self._bus.become(self.id)
        await self._enter()
        self._supervisor = asyncio.create_task(self._supervise())

    async def aclose(self) -> None:
        """Give the lease up."""
        tasks = [task for task in (self._supervisor, self._hooking) if task is not None]
        self._supervisor = self._hooking = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._bus.aclose()
        if self._connection.is_up and self._leased_until is not None:
            keys = (self._keys.lease(self.id), self._keys.inbox(self.id))
            try:
                await self._connection.execute("DEL", *keys)
            except (StoreDown, RedisError) as error:
                log.debug("cluster: the lease ends by itself: %s", error)
        self._leased_until = None

    async def is_alive(self, node: str) -> bool:
        """Return True if a node has a lease.

        Raises:
            StoreDown: The server cannot be used.
        """
        return bool(await self._connection.execute("EXISTS", self._keys.lease(node)))

    def check_lease(self) -> None:
        """Become another node if the lease has lapsed."""
        if self._leased_until is not None and time.monotonic() > self._leased_until:
            self._lose()

    # --- While up ---

    async def _supervise(self) -> None:
        attempt = 0
        while True:
            try:
                if self._connection.is_up:
                    attempt = 0
                    await self._wait(self._times.heartbeat_s)
                    if self._connection.is_up:
                        await self._beat()
                    continue
                await self._bus.pause()
                if await self._recovered():
                    continue
            except Exception as error:
                # Without this task the node would never be up again.
                log.exception("cluster: the heartbeat failed")
                self._connection.failed(error)
            await self._wait(self._until_lapse(self._times.backoff_s(attempt)))
            self.check_lease()
            attempt += 1

    async def _wait(self, seconds: float) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _until_lapse(self, seconds: float) -> float:
        if self._leased_until is None:
            return seconds
        return min(seconds, max(self._leased_until - time.monotonic(), 0.0) + 0.001)

    async def _beat(self) -> None:
        self.check_lease()
        if not self._connection.is_up:
            return
        if self._hooking is None or self._hooking.done():
            self._hooking = asyncio.create_task(self.hooks.run())
            # The hooks ask for what they write first: one pipeline takes it all.
            await asyncio.sleep(0)
        sent, read = time.monotonic(), self._bus.offset
        try:
            look, renewed, _ = await asyncio.gather(
                self._connection.run(LOOK, *self._look()),
                self._connection.run(RENEW, *self._renewal("renew")),
                self._state_keys.refresh(),
            )
        except StoreDown:
            return
        except RedisError as error:
            self._connection.failed(error)
            return
        generation, last = look
        if generation != self._bus.generation or is_before(last.decode("ascii"), read):
            self._connection.failed(StoreDown("data is gone from it"))
        elif not renewed[0]:
            self._lose()
        else:
            self._leased_until = sent + self._times.lease_s
            self._bus.set_clock(renewed[1])

    def _on_down(self) -> None:
        self._changed.set()
        self._bus.handlers.down()

    def _lose(self) -> None:
        """Take another id, without a lease yet: others may have ended what this node ran."""
        old, self.id = self.id, new_node_id()
        self._leased_until = None
        log.warning("cluster: the lease of node %s has lapsed; it goes on as %s", old, self.id)
        self._connection.failed(StoreDown("the lease has lapsed"))
        self.lost(old)

    # --- While down ---

    async def _recovered(self) -> bool:
        try:
            await self._connection.reset()
            await self._enter()
        except (StoreDown, RedisError) as error:
            log.debug("cluster: not recovered: %s", error)
            return False
        self._bus.handlers.up()
        log.warning("cluster: %s can be used again", self._connection.address)
        return True

    async def _enter(self) -> None:
        """Take or renew the lease, catch up with the bus, and go up."""
        connection, bus = self._connection, self._bus
        [look] = await self._replies(LOOK.command(*self._look()))
        generation, last = look[0], look[1].decode("ascii")
        is_first = bus.generation is None
        is_emptied = not is_first and generation != bus.generation
        is_behind = not is_emptied and not is_first and is_before(last, bus.offset)
        if is_first:
            bus.adopt(generation)
            bus.begin_after(last)
        await self._take_lease(is_emptied)
        if is_emptied:
            bus.adopt(generation)
        elif is_behind:
            bus.begin_after(last)
        await self._state_keys.load()
        await connection.load_scripts()
        missed = await bus.missed()
        # From here on nothing is awaited: nobody acts on a state that is not whole.
        connection.restored()
        if is_emptied:
            log.warning("cluster: %s has lost its data", connection.address)
            self.emptied()
        if is_emptied or is_behind:
            bus.handlers.gap()
        bus.resume(missed)

    async def _take_lease(self, is_emptied: bool) -> None:
        self.check_lease()
        if self._leased_until is not None and not is_emptied:
            if await self._renewed("renew"):
                return
            self._lose()
        # The inbox of an emptied store may begin with ids below those that were read.
        if self._leased_until is None or is_emptied:
            self._bus.become(self.id)
        await self._renewed("take")

    async def _renewed(self, act: str) -> bool:
        sent = time.monotonic()
        [(held, server_ms)] = await self._replies(RENEW.command(*self._renewal(act)))
        if held:
            self._leased_until = sent + self._times.lease_s
            self._bus.set_clock(server_ms)
        return bool(held)

    async def _replies(self, *commands: tuple[Any, ...]) -> list[Any]:
        replies = await self._connection.send(commands)
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._connection.down_error(reply)
        return replies

    def _look(self) -> tuple[list[str], list[Any]]:
        candidate = f"{math.floor(time.time() * 1000)}.{secrets.token_hex(8)}"
        keys = [self._keys.broadcasts, self._keys.generation]
        return keys, [candidate, self._times.data_ttl_ms]

    def _renewal(self, act: str) -> tuple[list[str], list[Any]]:
        lease_ms = int(self._times.lease_s * 1000)
        keys = [self._keys.lease(self.id), self._keys.inbox(self.id)]
        return keys, [lease_ms, act, self._bus.inbox_offset, INBOX_TTL_MS]
