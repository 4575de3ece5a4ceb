"""One node's link to the others, as its sessions and their streams use it."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.stores.failures import BusError, NodeGone, StoreDown
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.bodies import About, Missed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.session.http_server.sessions import SessionLimits

__all__ = ["ClusterLink", "UnsavedSession"]

_log = logging.getLogger("mcp_gen.server")

LOOKS_EVERY_S = 0.05
"""Seconds between two looks whether the stores can be used again."""
TOUCHES_PER_LIMIT = 8
"""Number of times that the store is told of a session within its idle time, if it is used."""
MAX_TOUCH_S = 60.0
"""Maximum number of seconds until the store is told that a session was used."""
LATE_S = 5.0
"""Seconds by which the store may be told later."""
LAST_WORDS_S = 1.0
"""Seconds that a node that ends has to tell others what it still has to."""


class UnsavedSession(Protocol):
    """Session with changes that the store could not take."""

    async def save(self) -> None:
        """Write what has changed to the store."""
        ...


class ClusterLink(ABC):
    """Link of one node to the others.

    Args:
        cluster: The cluster.
        limits: Limits on the sessions of all nodes.
    """

    def __init__(self, cluster: Cluster, limits: SessionLimits) -> None:
        self.cluster = cluster
        self.limits = limits
        self.unsaved: set[UnsavedSession] = set()
        """Sessions whose changes the store could not take."""
        self.touch_s = min(limits.idle_s / TOUCHES_PER_LIMIT, MAX_TOUCH_S)
        """Seconds of use of a session after which the store is told of it."""
        self.carriers = count(1)
        """Numbers of the responses of this node that carry messages of no request."""
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def id(self) -> str:
        """Id of this node."""
        return self.cluster.node

    async def wait_up(self) -> None:
        """Wait until the stores can be used."""
        while not self.cluster.is_up:  # noqa: ASYNC110
            # A signal of the bus is not enough: the stores are up after it.
            await asyncio.sleep(LOOKS_EVERY_S)

    async def retry(
        self, work: Callable[[], Awaitable[object]], is_needed: Callable[[], bool]
    ) -> None:
        """Do something, and again after each failure of the stores, as long as it is needed."""
        while is_needed():
            try:
                await work()
            except StoreDown:
                await asyncio.sleep(LOOKS_EVERY_S)
                await self.wait_up()
            else:
                return

    # --- saying ---

    async def publish(self, topic: str, body: About) -> None:
        """Say something to all nodes.

        Raises:
            StoreDown: It is not known if it was said.
        """
        await self.cluster.bus.publish(topic, bodies.encode(body))

    def publish_soon(self, topic: str, body: About) -> None:
        """Say something to all nodes; a failure is logged."""
        self.run(self.publish(topic, body))

    def publish_surely(self, topic: str, body: About) -> None:
        """Say something to all nodes, again until it was said, while this node has its id."""
        id = self.id
        self.run(self.retry(partial(self.publish, topic, body), lambda: self.id == id))

    async def ask(self, node: str, topic: str, body: About | Missed) -> bytes:
        """Ask a node.

        Raises:
            BusError: There is no answer.
        """
        return await self.cluster.bus.ask(node, topic, bodies.encode(body))

    def ask_soon(self, node: str, topic: str, body: About | Missed) -> None:
        """Tell a node something; a failure is logged."""
        self.run(self.ask(node, topic, body))

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run something beside the requests; failures of the cluster are logged."""
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except NodeGone:
            _log.debug("a node is gone that was to be told something")
        except (BusError, StoreDown) as error:
            _log.warning("other nodes could not be told of a session: %s", error)
        except Exception:
            _log.exception("work for the other nodes failed")

    async def end_everywhere(self, session_id: str) -> None:
        """Remove a session that has ended from the stores, and end its copies.

        Raises:
            StoreDown: It may not have been removed.
        """
        await self.cluster.sessions.forget(session_id)
        forgotten = self.cluster.events.forget(session_id)
        if forgotten is not None:
            await forgotten
        await self.publish(bodies.ENDED, About(session_id))

    async def make_room(self) -> bool:
        """End the session that was silent for longest at all nodes; return False if none was.

        As in one process, but no session that was used so lately that the store may not know it.

        Raises:
            StoreDown: The store cannot be reached.
        """
        silent_s = self.limits.makes_room_after_s + self.touch_s + LATE_S
        found = await self.cluster.sessions.expired(time.time() - silent_s, most=1)
        for id in found:
            await self.end_everywhere(id)
        return bool(found)

    @abstractmethod
    def tell_missed(self, session_id: str, node: str, topics: Iterable[bytes]) -> None:
        """Hand changes that no stream has carried to the node that has one now."""

    @abstractmethod
    def tell(self, session_id: str, topics: Iterable[bytes]) -> None:
        """Send changes to a session of this node, if its client has subscribed to them."""

    @abstractmethod
    def recover_soon(self, session_id: str) -> None:
        """Send every change that may have been missed, once a stream to the client is open."""

    async def finish(self) -> None:
        """Wait until others are told what they were to be told; with a time limit."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LAST_WORDS_S)
            for task in late:
                task.cancel()
