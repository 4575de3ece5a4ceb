"""What a remote server tells of its changes, heard for all clients of the server it is mounted in.

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
from mcp_gen.server.resources.handlers import MAX_SUBSCRIPTIONS
from mcp_gen.session.peer.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.core.relay import Relay
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mount import Mounting
    from mcp_gen.server.mounting.remote_list import RemoteList

__all__ = ["RemoteNotifications"]

FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0
"""How long to wait before a resource that somebody subscribed to is watched again."""

_log = logging.getLogger("mcp_gen.server")


class NotifiedMount(Protocol):
    """The mount of a remote server, as its notifications need it."""

    relay: Relay
    outer: Mounting

    @property
    def title(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def lists(self) -> Mapping[FeatureKind, RemoteList]:
        """The lists of the remote server."""
        ...

    def features(self) -> frozenset[str]:
        """Return the features that the remote server declares."""
        ...


class RemoteNotifications:
    """What is heard of one mounted session: it is the relay's listener.

    Where changes are told to requests that listen, one is kept open for the lists, and one for each
    resource that somebody has subscribed to.
    """

    def __init__(self, mount: NotifiedMount) -> None:
        self._mount = mount
        self._lists: asyncio.Task[None] | None = None
        self._listens = False
        self._missed = False
        """Whether something may have changed while nobody listened, since somebody did."""
        self._holders: dict[str, set[Hashable]] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._begun: dict[str, asyncio.Future[None]] = {}
        """Whether the server has agreed to each of them."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._again = asyncio.Event()
        """Set when the server has been started anew."""
        self._closed = False
        mount.relay.add(self)

    # --- what comes ---

    def on_notification(self, news: str, params: Any) -> None:
        """A notification came; `news` is its place on a Profile."""
        outer = self._mount.outer
        if news == "resource_updated":
            self._sweep()
            outer.notify.publish(updated(params.uri))
        elif news == "elicitation_complete":
            done = outer.notify.elicitation_complete(params.elicitation_id)
            telling = asyncio.get_running_loop().create_task(done)
            self._tasks.add(telling)
            telling.add_done_callback(self._tasks.discard)
        for topic in LISTS:
            if topic.role == news:
                self._outdate(topic.capability)
                outer.notify.publish(topic)

    def session_recreated(self) -> None:
        """The server has been started anew: what it has now nobody knows."""
        again, self._again = self._again, asyncio.Event()
        again.set()
        self._mount.outer.runtime.declarations.capabilities_changed()
        self._outdate_all()

    def _outdate_all(self) -> None:
        """Nobody told what has changed."""
        self._missed = False
        for topic in LISTS:
            self._outdate(topic.capability)
            if topic.capability in self._mount.features():
                self._mount.outer.notify.publish(topic)

    def _outdate(self, feature: str) -> None:
        for kind in KINDS:
            if kind.feature == feature:
                self._mount.lists[kind].outdate()
                kind.of(self._mount.outer).forget()

    # --- lists ---

    def covers(self, kind: FeatureKind) -> bool:
        """Whether changes of a list are heard of now."""
        relay = self._mount.relay
        declared: Any = getattr(relay.capabilities, kind.feature, None)
        if relay.is_lost:
            return False
        tells = declared is None or bool(declared.list_changed)
        return tells and (relay.profile.listen is None or self._listens)

    def open(self) -> None:
        """Begin to hear of changes of the lists, where that takes a request of its own."""
        relay = self._mount.relay
        if self._closed or relay.is_lost or relay.profile.listen is None:
            return
        loop = asyncio.get_running_loop()
        opened = self._lists
        if opened is None or opened.done() or opened.get_loop() is not loop:
            self._lists = loop.create_task(self._listen())

    async def _listen(self) -> None:
        relay = self._mount.relay
        if not any(
            getattr(getattr(relay.capabilities, topic.capability, None), "list_changed", False)
            for topic in LISTS
        ):
            return
        try:
            async with relay.watch(lists=True) as changes:
                self._listens = True
                if self._missed:
                    self._outdate_all()
                async for _ in changes:
                    pass  # the relay has told of it
        except McpGenError as error:
            _log.debug("mount %s: its changes are not heard of: %s", self._mount.title, error)
        finally:
            self._missed = self._missed or self._listens
            self._listens = False

    # --- resources ---

    async def subscribe(self, ctx: Context, uri: str) -> None:
        """Tell a session of changes of a resource.

        Raises:
            InvalidRequest: there is no session, or it has too many.
            McpError: the server would not have it.
        """
        session = ctx.session
        if session is None:
            raise InvalidRequest("a subscription needs a session, and this request has none")
        if len(session.subscribed) >= MAX_SUBSCRIPTIONS and uri not in session.subscribed:
            raise InvalidRequest(
                f"a session may subscribe to {MAX_SUBSCRIPTIONS} resources: unsubscribe from some"
            )
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
        """Tell it no longer."""
        session = ctx.session
        if session is not None:
            session.subscribed.discard(uri)
            session.unsaved = True
            self.release_subscription(uri, session)

    async def hold_subscription(self, uri: str, holder: Hashable) -> None:
        """Hear of changes of a resource for somebody, until `drop`."""
        self._holders.setdefault(uri, set()).add(holder)
        watch = self._watches.get(uri)
        if watch is None or watch.done():
            loop = asyncio.get_running_loop()
            begun = self._begun[uri] = loop.create_future()
            watch = self._watches[uri] = loop.create_task(self._watch(uri, begun))
            watch.add_done_callback(partial(_gone, begun))
        try:
            # Several may wait for it, and one of them may give up.
            await asyncio.shield(self._begun[uri])
        except BaseException:
            self.release_subscription(uri, holder)
            raise

    def release_subscription(self, uri: str, holder: Hashable) -> None:
        """The end of `hold`."""
        holders = self._holders.get(uri, set[Hashable]())
        holders.discard(holder)
        if not holders:
            self._holders.pop(uri, None)
            self._begun.pop(uri, None)
            watch = self._watches.pop(uri, None)
            if watch is not None:
                watch.cancel()

    async def _watch(self, uri: str, begun: asyncio.Future[None]) -> None:
        relay, wait_s = self._mount.relay, FIRST_RETRY_S
        while True:
            again = self._again
            try:
                await relay.ready()
                async with relay.watch(uri) as changes:
                    wait_s = FIRST_RETRY_S
                    if not begun.done():
                        begun.set_result(None)
                    async for _ in changes:
                        pass  # the relay has told of it
            except McpGenError as error:
                if not begun.done():
                    begun.set_exception(error)
                    return
                _log.warning("mount %s: %s is not watched: %s", self._mount.title, uri, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await again.wait()
            wait_s = min(2 * wait_s, LAST_RETRY_S)

    def _sweep(self) -> None:
        """Forget those whose sessions have ended."""
        for uri, holders in list(self._holders.items()):
            for holder in list(holders):
                if isinstance(holder, Session) and holder not in holder.host.sessions:
                    self.release_subscription(uri, holder)

    def pause(self) -> list[asyncio.Task[None]]:
        """Ask to hear of nothing until somebody wants to know; what is going to end."""
        tasks = [*self._watches.values(), *([self._lists] if self._lists else [])]
        self._lists = None
        self._watches.clear()
        self._begun.clear()
        self._holders.clear()
        ending = [task for task in tasks if not task.done() and not task.get_loop().is_closed()]
        for task in ending:
            task.cancel()
        return ending

    def close(self) -> None:
        """Hear of nothing any more."""
        self._closed = True
        self._mount.relay.discard(self)
        self.pause()


def _gone(begun: asyncio.Future[None], watch: asyncio.Task[None]) -> None:
    """Whoever waits for a watch to begin that has ended is told so."""
    if not begun.done():
        begun.set_exception(InvalidRequest("what was to be watched is not mounted any more"))
    begun.exception()  # it may be that nobody waits any more
