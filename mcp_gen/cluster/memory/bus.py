"""Bus in memory, between the apps of one process; can simulate what goes wrong between machines."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from mcp_gen.cluster.signals.callbacks import AnswerHandler, BusHandlers, MessageHandler
from mcp_gen.core.stores.bus import BusMessage
from mcp_gen.core.stores.failures import BusDown, NodeGone, NodeSilent

__all__ = ["MemoryBus", "MessageLog"]

ALIVE = float("inf")


class MessageLog:
    """Last broadcasts and leases, which the buses of one process share.

    Args:
        max_messages: Number of broadcasts that are kept; a node that is further behind has a gap.
    """

    def __init__(self, max_messages: int) -> None:
        self.messages: deque[BusMessage] = deque(maxlen=max_messages)
        self.end = 0
        """Number of broadcasts so far."""
        self.buses: dict[str, MemoryBus] = {}
        self.leases: dict[str, float] = {}
        """End of each node's lease on the monotonic clock."""

    def add(self, node: str, topic: str, body: bytes) -> str:
        """Append a broadcast and have it delivered to all nodes; return its offset."""
        self.end += 1
        message = BusMessage(str(self.end), node, topic, body)
        self.messages.append(message)
        for bus in tuple(self.buses.values()):
            bus.wake()
        return message.offset

    def after(self, end: int) -> tuple[list[BusMessage], bool]:
        """Return the broadcasts behind a number, and True if some before them are gone."""
        missed = self.end - end
        kept = len(self.messages)
        first = max(kept - missed, 0)
        return [self.messages[at] for at in range(first, kept)], missed > kept

    def is_alive(self, node: str) -> bool:
        """Return True if the node has a lease that has not lapsed."""
        return self.leases.get(node, 0.0) > time.monotonic()

    def empty(self) -> None:
        """Forget all broadcasts."""
        self.end += 1
        self.messages.clear()


class MemoryBus:
    """Bus of one node. Delivers in a later turn of the loop, like a bus between machines.

    Args:
        shared: The log that the nodes share.
        node: Id of this node.
    """

    def __init__(self, shared: MessageLog, node: str) -> None:
        self._log = shared
        self._node = node
        self._handlers = BusHandlers()
        self._seen = shared.end
        self._is_up = False
        self._is_frozen = False
        self._is_woken = False
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._answering: set[asyncio.Task[Any]] = set()

    @property
    def is_up(self) -> bool:
        """True if messages can be sent and are received."""
        return self._is_up

    @property
    def node(self) -> str:
        """Id of this node."""
        return self._node

    def join(self) -> None:
        """Begin to receive."""
        self._log.buses[self._node] = self
        self._log.leases[self._node] = ALIVE
        self._seen = self._log.end
        self._is_up = True

    def rename(self, node: str) -> None:
        """Go on under another id; the lease of the old one ends."""
        del self._log.buses[self._node], self._log.leases[self._node]
        self._node = node
        self._log.buses[node] = self
        self._log.leases[node] = ALIVE

    def leave(self, lease_s: float = 0.0) -> None:
        """Stop to receive and to answer; the lease lapses after `lease_s`."""
        self._log.buses.pop(self._node, None)
        self._log.leases[self._node] = time.monotonic() + lease_s
        self._is_up = False
        for task in tuple(self._answering):
            task.cancel()

    async def left(self) -> None:
        """Wait for the ends of the handlers that `leave` has cancelled."""
        if self._answering:
            await asyncio.wait(tuple(self._answering))

    def freeze(self, lease_s: float) -> None:
        """Neither receive nor answer until `thaw`; the lease lapses after `lease_s`."""
        self._log.leases[self._node] = time.monotonic() + lease_s
        self._is_frozen = True
        self._thawed.clear()

    def thaw(self) -> bool:
        """Receive what came meanwhile; return False if the lease has lapsed."""
        in_time = self._log.is_alive(self._node)
        if in_time:
            self._log.leases[self._node] = ALIVE
        self._is_frozen = False
        self._thawed.set()
        self.wake()
        return in_time

    def disconnect(self) -> None:
        """Lose the connection to the bus: it is down until `reconnect`."""
        if self._is_up:
            self._is_up = False
            self._handlers.down()

    def reconnect(self) -> None:
        """Receive what came meanwhile; then the bus is up."""
        if not self._is_up:
            self._is_up = True
            self._pump()
            self._handlers.up()

    def wake(self) -> None:
        """Deliver new broadcasts in the next turn of the loop."""
        if not self._is_woken and self._is_up and not self._is_frozen:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._is_woken = False
        if not self._is_up or self._is_frozen:
            return
        messages, has_gap = self._log.after(self._seen)
        self._seen = self._log.end
        if has_gap:
            self._handlers.gap()
        self._handlers.deliver(messages)

    async def publish(self, topic: str, body: bytes) -> str:
        """Send a broadcast; see `Bus.publish`."""
        self._require_up()
        return self._log.add(self._node, topic, body)

    async def ask(self, node: str, topic: str, body: bytes, timeout_s: float = 0.5) -> bytes:
        """Ask a node; see `Bus.ask`."""
        self._require_up()
        if not self._log.is_alive(node):
            raise NodeGone(f"node {node} is gone: its lease has lapsed")
        other = self._log.buses.get(node)
        answer: bytes | None = None
        try:
            async with asyncio.timeout(timeout_s):
                if other is None or not other.is_up:
                    await asyncio.Event().wait()
                else:
                    answer = await other.run(other.reply(self._node, topic, body))
        except TimeoutError:
            self._require_up()
            raise NodeSilent(
                f"node {node} did not answer about {topic} in {timeout_s:g} s"
            ) from None
        if answer is None:
            raise NodeSilent(f"node {node} has no answer about {topic}")
        return answer

    async def reply(self, node: str, topic: str, body: bytes) -> bytes | None:
        """Answer a question of another node, unless this one is frozen."""
        await self._thawed.wait()
        return await self._handlers.reply(node, topic, body)

    async def run(self, reply: Coroutine[Any, Any, bytes | None]) -> bytes | None:
        """Run a reply in a task of this node: it goes on if the asking node stops to wait."""
        task = asyncio.create_task(reply)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        await asyncio.wait([task])
        return None if task.cancelled() else task.result()

    def on(self, topic: str, handler: MessageHandler) -> Callable[[], None]:
        """Register a handler of broadcasts; see `Bus.on`."""
        return self._handlers.on(topic, handler)

    def answer(self, topic: str, handler: AnswerHandler) -> Callable[[], None]:
        """Register the handler of a topic's questions; see `Bus.answer`."""
        return self._handlers.answer(topic, handler)

    def on_gap(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for broadcasts that were missed; see `Bus.on_gap`."""
        return self._handlers.gap.add(callback)

    def on_down(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for a bus that is down; see `Bus.on_down`."""
        return self._handlers.down.add(callback)

    def on_up(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for a bus that is up again; see `Bus.on_up`."""
        return self._handlers.up.add(callback)

    def _require_up(self) -> None:
        if not self._is_up:
            raise BusDown("the bus is down: try again later")
