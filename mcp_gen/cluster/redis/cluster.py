"""Cluster over Redis: one object per node, given to the app."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from redis.exceptions import NoPermissionError, RedisError

from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.failures import BusDown, StoreDown

from .addresses import (
    AnyRedisClient,
    ClientAddress,
    ClusterAddress,
    RedisAddress,
    SentinelAddress,
    ServerAddress,
)
from .bus import BusKeys, RedisBus
from .connection import RedisConnection
from .events import RedisEvents
from .keys import Keys
from .nodes import NodeTimes, RedisNode
from .once import RedisOnce
from .sessions import RedisSessions
from .state_keys import StateKeys
from .states import RedisStates
from .tasks import RedisTasks

__all__ = ["Redis"]

log = logging.getLogger("mcp_gen.cluster")

MIN_RELEASE = (7, 0)
KEEPS_ALL = "noeviction"
"""The only policy for full memory that deletes no keys."""


class Redis:
    """A node of a cluster over Redis (or Valkey), 7.0 or later.

        app = server.asgi(cluster=Redis("redis://user:password@redis.example:6379"))

    Each app has an object of its own. Whoever can read Redis can read all that is stored, the keys
    of `requestState` included.

    Args:
        address: URL: `redis://` or `rediss://` (TLS), `[user:password@]host[:port][/db]`, as
            redis-py reads it; or a client of `redis.asyncio`, whose retries are switched off, and
            which stays open at the end. See also `sentinel` and `cluster`.
        prefix: Beginning of the names of all keys; "mcp" by default. Clusters that share a server
            have different ones.
        timeout_s: Seconds within which Redis must connect and answer; 0.5 by default. What takes
            longer has failed, and is not tried again.
        lease_s: Seconds after which a node that did not renew its lease is lost; 5 by default.
        heartbeat_s: Seconds between renewals; 1 by default.
        min_backoff_s: Seconds until the second attempt to recover after a failure; 0.1 by default.
            The first attempt is made at once.
        max_backoff_s: Maximum seconds between two attempts; 2 by default.
        bus_messages: Number of messages to all nodes that Redis keeps at least, 10,000 by default:
            a node that was cut off and has missed more sends all its listeners everything anew.
        data_ttl_s: Seconds after which what all nodes share expires when the last node has ended;
            a day by default.
        state_key_rotate_s: Seconds after which a new key seals `requestState`; a day by default.
        state_key_keep_s: Seconds for which older keys open states; a day by default.
        session_events: Maximum number of messages of one session's streams, 1,000 by default; the
            oldest are dropped.
        session_bytes: Maximum size of one session's messages, in bytes; 4 MiB by default.
        events_ttl_s: Seconds after the last message of a session until its messages expire; an hour
            by default.
        max_tasks: Maximum number of tasks; 10,000 by default.
        once_ttl_s: Seconds for which the values of `ctx.once` are kept; an hour by default. At
            least `request_state_ttl_s` of the server.
        max_once_names: Maximum number of requests whose values of `ctx.once` are kept, for each
            principal and for all clients without one; 10,000 by default. The one that used it
            longest ago is evicted.
        options: Options of redis-py's connections, such as `ssl_ca_certs`, `username`, `password`
            or `credential_provider`.

    Raises:
        UsageError: An option is wrong, or the text is not a URL.
    """

    def __init__(
        self,
        address: str | AnyRedisClient | RedisAddress,
        *,
        prefix: str = "mcp",
        timeout_s: float = 0.5,
        lease_s: float = 5.0,
        heartbeat_s: float = 1.0,
        min_backoff_s: float = 0.1,
        max_backoff_s: float = 2.0,
        bus_messages: int = 10_000,
        data_ttl_s: float = 86_400.0,
        state_key_rotate_s: float = 86_400.0,
        state_key_keep_s: float = 86_400.0,
        session_events: int = 1000,
        session_bytes: int = 4 * 1024 * 1024,
        events_ttl_s: float = 3600.0,
        max_tasks: int = 10_000,
        once_ttl_s: float = 3600.0,
        max_once_names: int = 10_000,
        **options: Any,
    ) -> None:
        _check(
            prefix,
            timeout_s=timeout_s,
            heartbeat_s=heartbeat_s,
            min_backoff_s=min_backoff_s,
            max_backoff_s=max_backoff_s,
            bus_messages=bus_messages,
            data_ttl_s=data_ttl_s,
            state_key_rotate_s=state_key_rotate_s,
            state_key_keep_s=state_key_keep_s,
            session_events=session_events,
            session_bytes=session_bytes,
            events_ttl_s=events_ttl_s,
            max_tasks=max_tasks,
            once_ttl_s=once_ttl_s,
            max_once_names=max_once_names,
        )
        if lease_s < 2 * heartbeat_s:
            raise UsageError(
                f"Redis: lease_s={lease_s:g}: a lease lasts for at least two heartbeats "
                f"(heartbeat_s={heartbeat_s:g})"
            )
        place = _place(address)
        place.add(options)
        place.limit(timeout_s)
        connection = self._connection = RedisConnection(place, timeout_s)
        keys = BusKeys(prefix)
        self._bus = RedisBus(
            connection, keys, max_messages=bus_messages, ttl_ms=int(data_ttl_s * 1000)
        )
        self._state_keys = StateKeys(
            connection, keys, rotate_s=state_key_rotate_s, keep_s=state_key_keep_s
        )
        times = NodeTimes(
            lease_s=lease_s,
            heartbeat_s=heartbeat_s,
            min_backoff_s=min_backoff_s,
            max_backoff_s=max_backoff_s,
            data_ttl_s=data_ttl_s,
        )
        self._lease_s = lease_s
        self._node = RedisNode(connection, keys, self._bus, self._state_keys, times)
        self._is_started = False
        names = Keys(prefix)
        self._sessions = RedisSessions(connection, names)
        self._events = RedisEvents(
            connection,
            names,
            ttl_s=events_ttl_s,
            session_events=session_events,
            session_bytes=session_bytes,
        )
        self._tasks = RedisTasks(connection, names, max_tasks=max_tasks)
        self._once = RedisOnce(connection, names, ttl_s=once_ttl_s, max_names=max_once_names)
        self._states = RedisStates(connection, names)

    @classmethod
    def sentinel(
        cls,
        sentinels: Sequence[tuple[str, int]],
        service: str,
        *,
        sentinel_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Redis:
        """Return a node over the server that is the master of a service, whichever that is.

        Args:
            sentinels: Host and port of each Sentinel.
            service: Name of the service, as the Sentinels know it.
            sentinel_options: Options of redis-py's connections to the Sentinels, such as
                `password`.
            options: Options of `Redis`.
        """
        return cls(SentinelAddress(sentinels, service, sentinel_options or {}), **options)

    @classmethod
    def cluster(cls, url: str, **options: Any) -> Redis:
        """Return a node over a Redis Cluster.

        Args:
            url: URL of one of its servers; the others are found by it.
            options: Options of `Redis`.
        """
        return cls(ClusterAddress(url), **options)

    def __repr__(self) -> str:
        return f"<Redis {self._connection.address}, node {self.node}>"

    @property
    def node(self) -> str:
        """Id of this node. It changes when the node's lease has lapsed."""
        return self._node.id

    @property
    def lease_s(self) -> float:
        """Seconds of silence after which a node is lost."""
        return self._lease_s

    @property
    def is_up(self) -> bool:
        """True if the stores and the bus can be used."""
        return self._connection.is_up

    @property
    def bus(self) -> RedisBus:
        """The bus."""
        return self._bus

    @property
    def sessions(self) -> RedisSessions:
        """Store of sessions."""
        return self._sessions

    @property
    def events(self) -> RedisEvents:
        """Store of the messages of streams."""
        return self._events

    @property
    def tasks(self) -> RedisTasks:
        """Store of tasks."""
        return self._tasks

    @property
    def once(self) -> RedisOnce:
        """Store of the values of `ctx.once`."""
        return self._once

    @property
    def states(self) -> RedisStates:
        """Store of the values of `ctx.state`."""
        return self._states

    def request_state_keys(self) -> Sequence[bytes]:
        """Return the keys that seal `requestState`; the first one seals, all of them open."""
        return self._state_keys.current()

    async def start(self) -> None:
        """Connect and join the cluster.

        Raises:
            UsageError: The server cannot be reached, refuses the user, or is too old.
        """
        if self._is_started:
            raise UsageError("Redis: started already; each app has a `Redis(...)` of its own")
        self._is_started = True
        try:
            await self._check_release()
            await self._warn_of_eviction()
            await self._node.start()
        except (StoreDown, RedisError) as error:
            await self._connection.aclose()
            self._is_started = False
            raise UsageError(_start_error(error)) from None

    async def aclose(self) -> None:
        """Leave the cluster and disconnect. The lease ends at once."""
        await self._node.aclose()
        await self._connection.aclose()
        self._is_started = False

    async def is_alive(self, node: str) -> bool:
        """Return True if a node's lease has not lapsed.

        Raises:
            BusDown: The store cannot be asked.
        """
        try:
            return await self._node.is_alive(node)
        except StoreDown as error:
            raise BusDown(str(error)) from None

    def on_lost(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Register a callback for a lapsed lease of this node; it gets the old id."""
        return self._node.lost.add(callback)

    def on_emptied(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for a store that has lost its data."""
        return self._node.emptied.add(callback)

    def on_heartbeat(self, hook: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Register a hook that is awaited with each heartbeat while the store is up.

        What it writes first shares the pipeline of the heartbeat.
        """
        return self._node.hooks.add(hook)

    async def _check_release(self) -> None:
        connection = self._connection
        [told] = await connection.send([("INFO", "server")])
        if isinstance(told, NoPermissionError):
            # Not all users may ask; whatever is missing then fails by name.
            return
        if isinstance(told, Exception):
            raise connection.down_error(told)
        release = str(_info(told, "redis_version").get("redis_version", "0.0"))
        if tuple(int(part) for part in release.split(".")[:2]) < MIN_RELEASE:
            raise StoreDown(f"Redis at {connection.address} is {release}: 7.0 or later is needed")

    async def _warn_of_eviction(self) -> None:
        """Log a warning if the server deletes keys when its memory is short."""
        [told] = await self._connection.send([("INFO", "memory")])
        if isinstance(told, Exception):
            # Not all users may ask.
            return
        policy = str(_info(told, "maxmemory_policy").get("maxmemory_policy", KEEPS_ALL))
        if policy != KEEPS_ALL:
            log.warning(
                "cluster: Redis at %s has maxmemory-policy %s: it deletes sessions and streams "
                "when memory is short; set it to %s",
                self._connection.address,
                policy,
                KEEPS_ALL,
            )


def _place(address: str | AnyRedisClient | RedisAddress) -> RedisAddress:
    if isinstance(address, RedisAddress):
        return address
    return ServerAddress(address) if isinstance(address, str) else ClientAddress(address)


def _info(told: Any, fact: str) -> Mapping[str, Any]:
    """Return the facts of INFO, which a cluster's client gives by server; one of them is named."""
    if isinstance(told, bytes | str):
        text = told.decode() if isinstance(told, bytes) else told
        pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
        return {name: value for name, _, value in pairs}
    return told if fact in told else next(iter(told.values()))


def _check(prefix: str, **positive: float) -> None:
    if not prefix or set("{}") & set(prefix):
        raise UsageError(f"Redis: prefix={prefix!r}: expected a name without braces")
    for name, value in positive.items():
        if value <= 0:
            raise UsageError(f"Redis: {name}={value:g}: expected more than 0")


def _start_error(error: Exception) -> str:
    text = str(error).removesuffix("; try again later")
    return f"{text}; see that it runs there, and that this machine reaches it"
