"""Notifications that every node of a cluster sends to its clients: changes, and others."""

from __future__ import annotations

import asyncio
import logging
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.server.notifications.topics import (
    LISTS,
    ExtensionTopic,
    decode_topic,
    encode_topic,
    updated,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.stores.bus import BusMessage
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.server.notifications.topics import ChangeTopic
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.peer.session import Session
    from mcp_wire.method import Method

__all__ = ["SharedChanges"]

_log = logging.getLogger("mcp_gen.server")

CHANGE = "server.change"
"""Topic of the bus: a list or a resource has changed."""
NOTICE = "server.notice"
"""Topic of the bus: a notification of an extension."""
COMPLETION = "server.completion"
"""Topic of the bus: a URL elicitation is complete."""
MAX_UNSENT = 1000
"""Maximum number of notifications that wait for a bus that is down; changes do not count."""
RETRY_S = 5.0
"""Seconds until what a bus refused is published again: such a bus is up, and calls nobody."""


class _Notice(Struct, array_like=True):
    """A notification of an extension for the listeners of a topic."""

    number: int
    """Tells notifications apart that are equal."""
    field: str
    value: str | int
    method: str
    params: Raw


_decode_notice = msgspec.json.Decoder(_Notice).decode


class SharedChanges:
    """Publishes the changes of one server to all nodes, and sends those of all nodes to clients.

    While the bus is down or refuses, changes go to the clients of this node, and to all when it
    takes them again. After a gap clients are told that every list and each resource they subscribed
    to may have changed. Notifications of extensions and completions of URL elicitations go the same
    way; after a gap they are not made up for.

    Args:
        notifier: Notifier of the server.
        kernel: Kernel of the server.
        cluster: The cluster.
    """

    def __init__(self, notifier: Notifier, kernel: Kernel[Any], cluster: Cluster) -> None:
        self._notifier = notifier
        self._kernel = kernel
        self._cluster = cluster
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unsent: dict[tuple[str, bytes], bool] = {}
        """Topics and bodies that wait to be published, in order; True if clients here know."""
        self._retry: asyncio.TimerHandle | None = None
        self._numbers = count()
        self._publishing: asyncio.Task[None] | None = None
        self._completing: set[asyncio.Task[None]] = set()
        self._ends: list[Callable[[], None]] = []

    def start(self) -> None:
        """Take part in the changes of all nodes; the cluster has started."""
        if self._ends:
            return
        self._loop = asyncio.get_running_loop()
        # Changes are published although this node has no client yet.
        self._kernel.loops.add(self._loop)
        self._notifier.shared = self
        bus = self._cluster.bus
        self._ends = [
            *(bus.on(topic, self._on_message) for topic in (CHANGE, NOTICE, COMPLETION)),
            bus.on_gap(self._on_gap),
            bus.on_up(self._publish_soon),
        ]

    async def aclose(self) -> None:
        """Publish what waits, and take part no more."""
        if self._publishing is not None:
            await asyncio.wait([self._publishing], timeout=1.0)
        # After that: a publication that failed now has set the timer again.
        self._cancel_retry()
        self._notifier.shared = None
        for end in self._ends:
            end()
        self._ends = []

    def change(self, topic: ChangeTopic, loop: asyncio.AbstractEventLoop) -> bool:
        """Publish a change; see `SharedNotifications.change`."""
        return loop is self._loop and self._share(CHANGE, encode_topic(topic))

    def notice(
        self,
        topic: ExtensionTopic,
        method: Method[Any, None],
        params: bytes,
        loop: asyncio.AbstractEventLoop,
    ) -> bool:
        """Publish a notification of an extension; see `SharedNotifications.notice`."""
        if loop is not self._loop:
            return False
        notice = _Notice(next(self._numbers), *topic, method.name, Raw(params))
        return self._share(NOTICE, msgspec.json.encode(notice))

    def completion(self, elicitation_id: str) -> None:
        """Publish that a URL elicitation is complete; see `SharedNotifications.completion`."""
        self._share(COMPLETION, elicitation_id.encode())

    def _share(self, topic: str, body: bytes) -> bool:
        """Publish a notification; return False if it goes to the clients here at once, too."""
        if topic != CHANGE and len(self._unsent) >= MAX_UNSENT:
            _log.warning("other nodes are not told of a notification: too many wait for the bus")
            return False
        is_up = self._cluster.bus.is_up
        self._unsent[topic, body] = not is_up
        if is_up:
            self._publish_soon()
        return is_up

    def _publish_soon(self) -> None:
        if self._unsent and self._publishing is None and self._loop is not None:
            self._publishing = self._loop.create_task(self._publish())

    async def _publish(self) -> None:
        try:
            while self._unsent:
                first = next(iter(self._unsent))
                # Before it is sent: the same change may come again in the meantime.
                is_known = self._unsent.pop(first)
                try:
                    await self._cluster.bus.publish(*first)
                except StoreDown as error:
                    _log.warning("other nodes could not be told of a change yet: %s", error)
                    # First again: changes keep their order.
                    self._unsent = {first: is_known, **self._unsent}
                    self._deliver_unsent()
                    self._retry_later()
                    return
        finally:
            self._publishing = None

    def _deliver_unsent(self) -> None:
        for (topic, body), is_known in self._unsent.items():
            if not is_known:
                self._deliver(topic, body)
        self._unsent = dict.fromkeys(self._unsent, True)

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()

    def _retry_later(self) -> None:
        """Publish again after a while: a bus that refuses without being down does not call."""
        self._cancel_retry()
        # Not once this has ended: it may be told of a failure later.
        if self._ends and self._loop is not None and self._cluster.bus.is_up:
            self._retry = self._loop.call_later(RETRY_S, self._publish_soon)

    def _on_message(self, message: BusMessage) -> None:
        self._deliver(message.topic, message.body)

    def _deliver(self, topic: str, body: bytes) -> None:
        if self._loop is None:
            return
        if topic == NOTICE:
            self._deliver_notice(_decode_notice(body), self._loop)
        elif topic == COMPLETION:
            task = self._loop.create_task(self._complete(body.decode()))
            self._completing.add(task)
            task.add_done_callback(self._completing.discard)
        elif (changed := decode_topic(body)) is not None:
            self._notifier.deliver(changed, self._loop)

    def _deliver_notice(self, notice: _Notice, loop: asyncio.AbstractEventLoop) -> None:
        owner = self._kernel.extensions.owners.get(notice.method)
        # Nodes of another version may have other extensions.
        if owner is not None:
            topic, method = ExtensionTopic(notice.field, notice.value), owner.methods[notice.method]
            params = bytes(notice.params)
            self._notifier.listeners.publish_extension(topic, method, params, loop)

    async def _complete(self, elicitation_id: str) -> None:
        try:
            await self._notifier.complete_here(elicitation_id)
        except Exception:
            _log.exception("a client could not be told that an elicitation is complete")

    def _on_gap(self) -> None:
        if self._loop is None:
            return
        topics = dict.fromkeys((*LISTS, *self._notifier.listeners.topics()))
        for session in list(self._kernel.sessions):
            topics |= dict.fromkeys(map(updated, session.__dict__.get("subscribed", ())))
        for topic in topics:
            self._notifier.deliver(topic, self._loop)

    # --- for the sessions of the cluster ---

    def tell(self, session: Session, topic: bytes) -> None:
        """Send a change to one session."""
        found = decode_topic(topic)
        if found is not None:
            self._notifier.publish(found, session)

    def recover(self, session: Session) -> None:
        """Send every change that may have been missed to one session."""
        uris = session.__dict__.get("subscribed", ())
        for topic in (*LISTS, *map(updated, sorted(uris))):
            self._notifier.publish(topic, session)
