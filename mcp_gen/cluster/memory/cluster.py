"""Cluster of several apps in one process, in memory: for tests, and the reference of others."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence

from mcp_gen.cluster.signals.callbacks import CallbackList
from mcp_gen.cluster.signals.heartbeat import HookRunner, new_node_id
from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.events import MemoryEventStore
from mcp_gen.core.stores.failures import BusDown
from mcp_gen.core.stores.once import MemoryOnceStore
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.core.stores.state import MemoryStateStore
from mcp_gen.core.stores.tasks import MemoryTaskStore

from .bus import MemoryBus, MessageLog

__all__ = ["MemoryCluster"]

LEASE_S = 5.0
ONCE_TTL_S = 3600.0
KEY_BYTES = 32


class _SharedMemory:
    """Log and stores, which the nodes of one process share."""

    def __init__(self, max_messages: int) -> None:
        self.log = MessageLog(max_messages)
        self.nodes: list[MemoryCluster] = []
        self.keys = [os.urandom(KEY_BYTES)]
        self.fill()

    def fill(self) -> None:
        """Make new, empty stores."""
        self.sessions = MemorySessionStore()
        self.events = MemoryEventStore()
        self.tasks = MemoryTaskStore()
        self.once = MemoryOnceStore(ONCE_TTL_S, time.monotonic)
        self.states = MemoryStateStore()


class MemoryCluster:
    """A node of a cluster in memory: several apps of one process share what they store.

        first = MemoryCluster()
        second = first.another_node()
        apps = server.asgi(cluster=first), server.asgi(cluster=second)

    Its methods that tests use make happen what happens between machines: `die`, `freeze` and
    `thaw`, `disconnect` and `reconnect`, `empty`.

    Args:
        max_messages: Number of broadcasts that are kept for nodes that are disconnected. A node
            that has missed more is told of a gap.
        heartbeat_s: Seconds between two calls of the hooks of `on_heartbeat`.
    """

    def __init__(self, *, max_messages: int = 10_000, heartbeat_s: float = 1.0) -> None:
        self._join(_SharedMemory(max_messages), heartbeat_s)

    def _join(self, shared: _SharedMemory, heartbeat_s: float) -> None:
        self._shared = shared
        self._heartbeat_s = heartbeat_s
        self._bus = MemoryBus(shared.log, new_node_id())
        self._hooks = HookRunner()
        self._lost = CallbackList[[str]]("on_lost")
        self._emptied = CallbackList[[]]("on_emptied")
        self._beating: asyncio.Task[None] | None = None

    def another_node(self) -> MemoryCluster:
        """Return a new node that shares everything with this one."""
        other = MemoryCluster.__new__(MemoryCluster)
        other._join(self._shared, self._heartbeat_s)
        return other

    def __repr__(self) -> str:
        return f"<MemoryCluster node {self.node}>"

    @property
    def node(self) -> str:
        """Id of this node. It changes when the node's lease has lapsed."""
        return self._bus.node

    @property
    def lease_s(self) -> float:
        """Seconds of silence after which a node is lost."""
        return LEASE_S

    @property
    def is_up(self) -> bool:
        """True if the stores and the bus can be used."""
        return self._bus.is_up

    @property
    def bus(self) -> MemoryBus:
        """The bus."""
        return self._bus

    @property
    def sessions(self) -> MemorySessionStore:
        """Store of sessions."""
        return self._shared.sessions

    @property
    def events(self) -> MemoryEventStore:
        """Store of the messages of streams."""
        return self._shared.events

    @property
    def tasks(self) -> MemoryTaskStore:
        """Store of tasks."""
        return self._shared.tasks

    @property
    def once(self) -> MemoryOnceStore:
        """Store of the values of `ctx.once`."""
        return self._shared.once

    @property
    def states(self) -> MemoryStateStore:
        """Store of the values of `ctx.state`."""
        return self._shared.states

    def request_state_keys(self) -> Sequence[bytes]:
        """Return the keys that seal `requestState`; the first one seals, all of them open."""
        return tuple(self._shared.keys)

    async def start(self) -> None:
        """Join the cluster.

        Raises:
            UsageError: The node has been started already.
        """
        if self._beating is not None:
            raise UsageError("MemoryCluster: started already; use `another_node()` for another app")
        self._bus.join()
        self._shared.nodes.append(self)
        self._beating = asyncio.create_task(self._beat())

    async def aclose(self) -> None:
        """Leave the cluster. The lease ends at once."""
        await self._stop(0.0)

    async def is_alive(self, node: str) -> bool:
        """Return True if a node's lease has not lapsed.

        Raises:
            BusDown: The store cannot be asked.
        """
        if not self.is_up:
            raise BusDown("the bus is down: try again later")
        return self._shared.log.is_alive(node)

    def on_lost(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Register a callback for a lapsed lease of this node; it gets the old id."""
        return self._lost.add(callback)

    def on_emptied(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for a store that has lost its data."""
        return self._emptied.add(callback)

    def on_heartbeat(self, hook: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Register a hook that is awaited with each heartbeat while the store is up."""
        return self._hooks.add(hook)

    async def beat(self) -> None:
        """Await the hooks of `on_heartbeat` now."""
        await self._hooks.run()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat_s)
            if self.is_up:
                await self.beat()

    async def _stop(self, lease_s: float) -> None:
        self._bus.leave(lease_s)
        if self in self._shared.nodes:
            self._shared.nodes.remove(self)
        beating, self._beating = self._beating, None
        if beating is not None:
            beating.cancel()
            await asyncio.wait([beating])
        await self._bus.left()

    # --- For tests: what happens between machines ---

    async def die(self, lease_s: float = 0.0) -> None:
        """End like a killed process: nothing is received, answered or sent any more.

        Args:
            lease_s: Seconds until the lease lapses; until then the node is silent, then gone.
        """
        await self._stop(lease_s)

    def freeze(self, lease_s: float = LEASE_S) -> None:
        """Receive and answer nothing until `thaw`, like a stopped process.

        Args:
            lease_s: Seconds until the lease lapses; 0 for a process that stands for longer.
        """
        self._bus.freeze(lease_s)

    def thaw(self) -> None:
        """Go on; with a new id and after the callbacks of `on_lost` if the lease has lapsed."""
        if not self._bus.thaw():
            self.lapse()

    def lapse(self) -> None:
        """Lose the lease while running: take a new id and call the callbacks of `on_lost`."""
        old = self.node
        self._bus.rename(new_node_id())
        self._lost(old)

    def disconnect(self) -> None:
        """Lose the connection of this node to the store: it is down until `reconnect`."""
        self._bus.disconnect()

    def reconnect(self) -> None:
        """Get the connection back; broadcasts that were missed are received now."""
        self._bus.reconnect()

    def empty(self) -> None:
        """Lose all data of the store, for all nodes: they are told of it, and of a gap."""
        self._shared.fill()
        self._shared.log.empty()
        for node in tuple(self._shared.nodes):
            node._emptied()
            node.bus.wake()
