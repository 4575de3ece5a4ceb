"""List and resource changes of a remote server, for all clients of the outer server.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import McpGenError
from mcp_gen.server.mounting.kinds import KINDS, FeatureKind
from mcp_gen.server.notifications.topics import LISTS, updated
from mcp_gen.server.relaying.subscriptions import RemoteSubscriptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.core.relay import Relay
    from mcp_gen.server.mounting.mount import Mounting
    from mcp_gen.server.mounting.remote_list import RemoteList
    from mcp_gen.server.notifications.topics import ChangeTopic

__all__ = ["RemoteNotifications"]

_log = logging.getLogger("mcp_gen.server")


class NotifiedMount(Protocol):
    """Mount of a remote server, as its notifications use it."""

    relay: Relay
    outer: Mounting

    @property
    def title(self) -> str:
        """Name of the mount in messages."""
        ...

    @property
    def lists(self) -> Mapping[FeatureKind, RemoteList]:
        """Cached lists of the remote server."""
        ...

    def features(self) -> frozenset[str]:
        """Return the features that the remote server declares."""
        ...


class RemoteNotifications(RemoteSubscriptions):
    """Receives the notifications of one mounted session, as the listener of its relay.

    At revisions with `subscriptions/listen`, one such request is open for the lists, and a few for
    the resources with a subscription: each watches many of them.

    Args:
        mount: The mount of the session.
    """

    def __init__(self, mount: NotifiedMount) -> None:
        super().__init__(mount.relay, f"mount {mount.title}")
        self._mount = mount
        self._lists: asyncio.Task[None] | None = None
        self._listens = False
        self._may_have_missed = False
        """True if changes may have been missed since the last `subscriptions/listen` ended."""
        self._tasks: set[asyncio.Task[None]] = set()
        mount.relay.add(self)

    # --- RelayListener ---

    def on_notification(self, news: str, params: Any) -> None:
        """Handle a notification; `news` is its attribute name on a Profile."""
        outer = self._mount.outer
        if news == "resource_updated":
            outer.notify.publish(updated(params.uri))
        elif news == "elicitation_complete":
            notification = outer.notify.elicitation_complete(params.elicitation_id)
            task = asyncio.get_running_loop().create_task(notification)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for topic in LISTS:
            if topic.role == news:
                self._mark_outdated(topic.capability)
                outer.notify.publish(topic)

    def session_recreated(self) -> None:
        """Mark all lists as outdated and end the waits for a retry, after a reconnect."""
        super().session_recreated()
        self._mount.outer.runtime.declarations.capabilities_changed()
        self._mark_all_outdated()

    def _mark_all_outdated(self) -> None:
        """Mark all lists as outdated and publish list_changed for each of them."""
        self._may_have_missed = False
        for topic in LISTS:
            self._mark_outdated(topic.capability)
            if topic.capability in self._mount.features():
                self._mount.outer.notify.publish(topic)

    def _mark_outdated(self, feature: str) -> None:
        for kind in KINDS:
            if kind.feature == feature:
                self._mount.lists[kind].outdate()
                kind.of(self._mount.outer).invalidate()

    # --- lists ---

    def covers(self, kind: FeatureKind) -> bool:
        """Return True if list_changed notifications arrive for a list now."""
        relay = self._mount.relay
        declared: Any = getattr(relay.capabilities, kind.feature, None)
        if relay.is_lost:
            return False
        sends_changes = declared is None or bool(declared.list_changed)
        return sends_changes and (relay.profile.listen is None or self._listens)

    def open(self) -> None:
        """Start `subscriptions/listen` for the lists, at revisions that have it."""
        relay = self._mount.relay
        if self._closed or relay.is_lost or relay.profile.listen is None:
            return
        if not any(_has_list_changed(relay, topic) for topic in LISTS):
            return
        loop = asyncio.get_running_loop()
        listening = self._lists
        if listening is None or listening.done() or listening.get_loop() is not loop:
            self._lists = loop.create_task(self._listen())

    async def _listen(self) -> None:
        try:
            async with self._mount.relay.watch(lists=True) as changes:
                self._listens = True
                if self._may_have_missed:
                    self._mark_all_outdated()
                async for _ in changes:
                    pass  # `on_notification` has handled it
        except McpGenError as error:
            _log.debug("mount %s: its changes are not heard of: %s", self._mount.title, error)
        finally:
            self._may_have_missed = self._may_have_missed or self._listens
            self._listens = False

    def pause(self) -> list[asyncio.Task[None]]:
        """Cancel all subscriptions until the next request, and return the tasks that are ending."""
        ending = super().pause()
        lists, self._lists = self._lists, None
        if lists is not None and not lists.done() and not lists.get_loop().is_closed():
            lists.cancel()
            ending.append(lists)
        return ending

    def close(self) -> None:
        """Cancel all subscriptions and stop listening to the relay."""
        self._mount.relay.discard(self)
        super().close()


def _has_list_changed(relay: Relay, topic: ChangeTopic) -> bool:
    declared: Any = getattr(relay.capabilities, topic.capability, None)
    return declared is not None and bool(declared.list_changed)
