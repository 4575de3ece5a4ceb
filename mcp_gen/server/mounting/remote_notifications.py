"""List and resource changes of a remote server, for all clients of the outer server.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import InvalidRequest, McpGenError, MethodNotFound
from mcp_gen.server.mounting.kinds import KINDS, FeatureKind
from mcp_gen.server.notifications.topics import LISTS, updated
from mcp_gen.server.resources.handlers import subscribing_session
from mcp_gen.session.peer.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.core.relay import Relay
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mount import Mounting
    from mcp_gen.server.mounting.remote_list import RemoteList
    from mcp_gen.server.notifications.topics import ChangeTopic

__all__ = ["RemoteNotifications"]

FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0
"""First and longest wait before a resource subscription is retried, in seconds."""

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


class RemoteNotifications:
    """Receives the notifications of one mounted session, as the listener of its relay.

    At revisions with `subscriptions/listen`, one such request is open for the lists, and one for
    each resource with a subscription.

    Args:
        mount: The mount of the session.
    """

    def __init__(self, mount: NotifiedMount) -> None:
        self._mount = mount
        self._lists: asyncio.Task[None] | None = None
        self._listens = False
        self._may_have_missed = False
        """True if changes may have been missed since the last `subscriptions/listen` ended."""
        self._holders: dict[str, set[Hashable]] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._started: dict[str, asyncio.Future[None]] = {}
        """Set once the server has accepted the subscription, or with its error; by URI."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._recreated = asyncio.Event()
        """Set when the session has been recreated."""
        self._closed = False
        mount.relay.add(self)

    # --- RelayListener ---

    def on_notification(self, news: str, params: Any) -> None:
        """Handle a notification; `news` is its attribute name on a Profile."""
        outer = self._mount.outer
        if news == "resource_updated":
            self._sweep()
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
        recreated, self._recreated = self._recreated, asyncio.Event()
        recreated.set()
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

    # --- resources ---

    async def subscribe(self, ctx: Context, uri: str) -> None:
        """Subscribe the session of a request to a resource.

        Raises:
            InvalidRequest: There is no session, or it has too many subscriptions.
            MethodNotFound: The remote server has no resource subscriptions.
            McpError: The remote server rejected the subscription.
        """
        session = subscribing_session(ctx, uri)
        relay = self._mount.relay
        resources = relay.capabilities.resources
        if relay.profile.listen is None and not (resources and resources.subscribe):
            raise MethodNotFound(
                f"mount {self._mount.title}: its server tells of no changes of resources"
            )
        self._sweep()
        await self.hold_subscription(uri, session)
        session.subscribed.add(uri)
        session.unsaved = True

    async def unsubscribe(self, ctx: Context, uri: str) -> None:
        """End the subscription of the session of a request."""
        session = ctx.session
        if session is not None:
            session.subscribed.discard(uri)
            session.unsaved = True
            self.release_subscription(uri, session)

    async def hold_subscription(self, uri: str, holder: Hashable) -> None:
        """Subscribe to a resource for a holder, until `release_subscription`.

        The remote server is subscribed to once per resource.
        """
        self._holders.setdefault(uri, set()).add(holder)
        watch = self._watches.get(uri)
        if watch is None or watch.done():
            loop = asyncio.get_running_loop()
            started = self._started[uri] = loop.create_future()
            watch = self._watches[uri] = loop.create_task(self._watch(uri, started))
            watch.add_done_callback(partial(_fail_unstarted, started))
        try:
            # Shielded: other holders wait for the same subscription.
            await asyncio.shield(self._started[uri])
        except BaseException:
            self.release_subscription(uri, holder)
            raise

    def release_subscription(self, uri: str, holder: Hashable) -> None:
        """End the subscription of a holder; the last one ends it at the remote server."""
        holders = self._holders.get(uri, set[Hashable]())
        holders.discard(holder)
        if not holders:
            self._holders.pop(uri, None)
            self._started.pop(uri, None)
            watch = self._watches.pop(uri, None)
            if watch is not None:
                watch.cancel()

    async def _watch(self, uri: str, started: asyncio.Future[None]) -> None:
        relay, wait_s = self._mount.relay, FIRST_RETRY_S
        while True:
            recreated = self._recreated
            try:
                await relay.ready()
                async with relay.watch(uri) as changes:
                    wait_s = FIRST_RETRY_S
                    if not started.done():
                        started.set_result(None)
                    async for _ in changes:
                        pass  # `on_notification` has handled it
            except McpGenError as error:
                if not started.done():
                    started.set_exception(error)
                    return
                _log.warning("mount %s: %s is not watched: %s", self._mount.title, uri, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await recreated.wait()
            wait_s = min(2 * wait_s, LAST_RETRY_S)

    def _sweep(self) -> None:
        """Release the subscriptions of sessions that have ended."""
        for uri, holders in list(self._holders.items()):
            for holder in list(holders):
                if isinstance(holder, Session) and holder not in holder.host.sessions:
                    self.release_subscription(uri, holder)

    def pause(self) -> list[asyncio.Task[None]]:
        """Cancel all subscriptions until the next request, and return the tasks that are ending."""
        tasks = [*self._watches.values(), *([self._lists] if self._lists else [])]
        self._lists = None
        self._watches.clear()
        self._started.clear()
        self._holders.clear()
        ending = [task for task in tasks if not task.done() and not task.get_loop().is_closed()]
        for task in ending:
            task.cancel()
        return ending

    def close(self) -> None:
        """Cancel all subscriptions and stop listening to the relay."""
        self._closed = True
        self._mount.relay.discard(self)
        self.pause()


def _has_list_changed(relay: Relay, topic: ChangeTopic) -> bool:
    declared: Any = getattr(relay.capabilities, topic.capability, None)
    return declared is not None and bool(declared.list_changed)


def _fail_unstarted(started: asyncio.Future[None], watch: asyncio.Task[None]) -> None:
    """Fail the holders that wait for a subscription whose task has ended."""
    if not started.done():
        started.set_exception(InvalidRequest("what was to be watched is not mounted any more"))
    started.exception()  # mark as retrieved: there may be no waiter left
