"""Resource subscriptions at a remote server, shared by all that hold one.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from mcp_gen.core.errors import InvalidRequest, McpGenError, MethodNotFound
from mcp_gen.server.resources.handlers import subscribing_session
from mcp_gen.session.peer.session import Session

if TYPE_CHECKING:
    from mcp_gen.core.relay import Relay, RelayWatch
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.peer.session import SessionHost

__all__ = ["RemoteSubscriptions"]

FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0
"""First and longest wait before a resource subscription is retried, in seconds."""

GROUP_URIS = 500
"""Most resources that are watched with one subscription."""
MAX_SMALL_GROUPS = 8
"""Subscriptions for few resources that may be open; more are replaced by one."""
OPENED_AT_ONCE = 4
"""Subscriptions that the remote server is asked for at the same time."""

_log = logging.getLogger("mcp_gen.server")


class RemoteSubscriptions:
    """Subscriptions to the resources of one remote server.

    Each resource has one subscription at the remote server, whoever holds it. At revisions with
    `subscriptions/listen`, few such requests are open: each watches many resources.

    Args:
        relay: The relay of the session with the server.
        title: What texts for the log and errors begin with, such as `mount 'weather'`.
    """

    def __init__(self, relay: Relay, title: str) -> None:
        self._relay = relay
        self._title = title
        self._holders: dict[str, set[Hashable]] = {}
        self._held: dict[Hashable, set[str]] = {}
        """URIs of each holder."""
        self._watches: dict[str, _Group] = {}
        """Group that watches each resource, by URI."""
        self._groups: dict[_Group, None] = {}
        self._merged: _Group | None = None
        """Group that is to replace others, until it has started."""
        self._slots = asyncio.Semaphore(OPENED_AT_ONCE)
        self._hosts: list[SessionHost] = []
        """Servers whose sessions hold subscriptions."""
        self._recreated = asyncio.Event()
        """Set when the session has been recreated."""
        self._closed = False

    def session_recreated(self) -> None:
        """End the waits for a retry, after a reconnect."""
        recreated, self._recreated = self._recreated, asyncio.Event()
        recreated.set()

    async def subscribe(self, ctx: Context, uri: str) -> None:
        """Subscribe the session of a request to a resource.

        Raises:
            InvalidRequest: There is no session, or it has too many subscriptions.
            MethodNotFound: The remote server has no resource subscriptions.
            McpError: The remote server rejected the subscription.
        """
        session = subscribing_session(ctx, uri)
        relay = self._relay
        resources = relay.capabilities.resources
        if relay.profile.listen is None and not (resources and resources.subscribe):
            raise MethodNotFound(f"{self._title}: its server tells of no changes of resources")
        is_new = uri not in session.subscribed
        # Counted before the remote server has answered: many may come at once.
        session.subscribed.add(uri)
        try:
            await self.hold_subscriptions([uri], session)
        except BaseException:
            if is_new:
                session.subscribed.discard(uri)
            raise
        session.unsaved = True

    async def unsubscribe(self, ctx: Context, uri: str) -> None:
        """End the subscription of the session of a request."""
        session = ctx.session
        if session is not None:
            session.subscribed.discard(uri)
            session.unsaved = True
            self.release_subscriptions([uri], session)

    async def hold_subscriptions(self, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe to resources for a holder, until `release_subscriptions`.

        The remote server is subscribed to once per resource. Of several resources, those that it
        refuses are left out.

        Raises:
            McpGenError: The remote server refused, or cannot be reached.
        """
        if isinstance(holder, Session):
            self._watch_end(holder.host)
        for uri in uris:
            self._holders.setdefault(uri, set()).add(holder)
        self._held.setdefault(holder, set()).update(uris)
        new = [uri for uri in dict.fromkeys(uris) if uri not in self._watches]
        for first in range(0, len(new), GROUP_URIS):
            group = self._open(new[first : first + GROUP_URIS])
            self._watches.update(dict.fromkeys(group.uris, group))
        try:
            for group in dict.fromkeys(self._watches[uri] for uri in uris):
                # Shielded: other holders wait for the same subscription.
                await asyncio.shield(group.started)
        except BaseException:
            self.release_subscriptions(uris, holder)
            raise

    def release_subscriptions(self, uris: Iterable[str], holder: Hashable) -> None:
        """End subscriptions of a holder; the last one of a resource ends it at the server."""
        held = self._held.get(holder, set[str]())
        touched: set[_Group] = set()
        for uri in uris:
            held.discard(uri)
            holders = self._holders.get(uri, set[Hashable]())
            holders.discard(holder)
            if not holders:
                self._holders.pop(uri, None)
                group = self._watches.pop(uri, None)
                if group is not None:
                    group.live.discard(uri)
                    touched.add(group)
        if not held:
            self._held.pop(holder, None)
        for group in touched:
            if not group.live:
                self._end(group)
        self._tidy()

    def _watch_end(self, host: SessionHost) -> None:
        """Release the subscriptions of each session of a host when it ends."""
        if host not in self._hosts:
            self._hosts.append(host)
            host.on_connection_end.append(self._on_connection_end)

    def _on_connection_end(self, channel: Channel) -> None:
        # A session is the channel of its connection.
        if isinstance(channel, Session):
            self.release_subscriptions(list(self._held.get(channel, ())), channel)

    # --- groups of resources ---

    def _open(self, uris: Sequence[str], replaced: Sequence[_Group] = ()) -> _Group:
        """Start to watch resources with one subscription, which may replace others."""
        group = _Group(uris, asyncio.get_running_loop())
        self._groups[group] = None
        group.task = group.loop.create_task(self._run(group, replaced))
        group.task.add_done_callback(partial(self._on_group_end, group))
        return group

    def _end(self, group: _Group) -> None:
        self._groups.pop(group, None)
        if group.task is not None:
            group.task.cancel()

    def _on_group_end(self, group: _Group, task: asyncio.Task[None]) -> None:
        """Fail the holders that wait for a subscription whose task has ended."""
        if not group.started.done():
            group.started.set_exception(
                InvalidRequest("what was to be watched is not mounted any more")
            )
        group.started.exception()  # mark as retrieved: there may be no waiter left
        self._groups.pop(group, None)
        if self._merged is group:
            self._merged = None
        for uri in group.live:
            if self._watches.get(uri) is group:
                del self._watches[uri]

    async def _run(self, group: _Group, replaced: Sequence[_Group]) -> None:
        relay, wait_s = self._relay, FIRST_RETRY_S
        while True:
            recreated = self._recreated
            try:
                await relay.ready()
                async with AsyncExitStack() as stack:
                    async with self._slots:
                        watch = relay.watch(*group.uris)
                        changes = await stack.enter_async_context(watch)
                    wait_s = FIRST_RETRY_S
                    if not group.started.done():
                        self._on_started(group, changes, replaced)
                    async for _ in changes:
                        pass  # `on_notification` has handled it
            except McpGenError as error:
                if not group.started.done():
                    group.started.set_exception(error)
                    return
                what = f"{len(group.live)} resources are" if len(group.live) > 1 else "one is"
                _log.warning("%s: %s not watched: %s", self._title, what, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await recreated.wait()
            wait_s = min(2 * wait_s, LAST_RETRY_S)

    def _on_started(self, group: _Group, changes: RelayWatch, replaced: Sequence[_Group]) -> None:
        group.started.set_result(None)
        if self._merged is group:
            self._merged = None
            group.live = {uri for uri in group.uris if self._watches.get(uri) in replaced}
            self._watches.update(dict.fromkeys(group.live, group))
            for one in replaced:
                self._end(one)
        elif len(group.uris) > 1 and self._relay.profile.listen is None:
            refused = group.live.difference(changes.honoured.resource_subscriptions or ())
            group.live -= refused
            for uri in refused:
                self._watches.pop(uri, None)
        if not group.live:
            self._end(group)
        self._tidy()

    def _tidy(self) -> None:
        """Replace many small groups by one, or a group with few resources left by a smaller one."""
        if self._merged is not None or self._closed:
            return
        groups = [one for one in self._groups if one.started.done()]
        small = sorted(
            (one for one in groups if len(one.live) <= GROUP_URIS // 2),
            key=lambda one: len(one.live),
        )
        merged: list[_Group] = []
        if len(small) > MAX_SMALL_GROUPS:
            uris = 0
            for one in small:
                uris += len(one.live)
                if uris <= GROUP_URIS:
                    merged.append(one)
        else:
            merged = [one for one in groups if 2 * len(one.live) <= len(one.uris)][:1]
        if merged:
            self._merged = self._open([uri for one in merged for uri in one.live], merged)

    def pause(self) -> list[asyncio.Task[None]]:
        """Cancel all subscriptions until the next one, and return the tasks that are ending."""
        tasks = [one.task for one in self._groups if one.task is not None]
        self._merged = None
        self._slots = asyncio.Semaphore(OPENED_AT_ONCE)
        self._watches.clear()
        self._groups.clear()
        self._holders.clear()
        self._held.clear()
        ending = [task for task in tasks if not task.done() and not task.get_loop().is_closed()]
        for task in ending:
            task.cancel()
        return ending

    def close(self) -> None:
        """Cancel all subscriptions; no new ones are opened."""
        self._closed = True
        self.pause()
        for host in self._hosts:
            host.on_connection_end.remove(self._on_connection_end)
        self._hosts.clear()


class _Group:
    """Resources that one subscription at the remote server watches."""

    __slots__ = ("live", "loop", "started", "task", "uris")

    def __init__(self, uris: Sequence[str], loop: asyncio.AbstractEventLoop) -> None:
        self.uris = uris
        self.live = set(uris)
        """The resources that are still held."""
        self.loop = loop
        self.started: asyncio.Future[None] = loop.create_future()
        """Set once the server has accepted the subscription, or with its error."""
        self.task: asyncio.Task[None] | None = None
