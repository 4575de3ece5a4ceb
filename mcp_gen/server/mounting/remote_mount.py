"""Mount of a client session; results are forwarded undecoded if both revisions are equal."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import (
    McpGenError,
    RequestTimeout,
    TransportError,
)
from mcp_gen.core.relay import relay_of
from mcp_gen.server.mounting.kinds import KINDS, RESOURCES, TEMPLATES
from mcp_gen.server.mounting.mount import ListItem, Mount, template_matches
from mcp_gen.server.mounting.remote_list import RemoteList
from mcp_gen.server.mounting.remote_notifications import RemoteNotifications
from mcp_gen.server.relaying.forwarding import Forwarder
from mcp_gen.server.relaying.methods import row
from mcp_gen.server.relaying.suspended_calls import SuspendedCalls
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.kinds import FeatureKind
    from mcp_gen.server.mounting.mount import Mounting
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_wire import Wire

__all__ = ["RemoteMount"]

MATCHED_AT_ONCE = 50
"""URIs that are matched with the templates of a mount in one turn of the event loop."""


class RemoteMount(Mount):
    """Mount of a client session.

    Args:
        outer: The server that it is mounted in.
        prefix: Prefix of its tools and prompts; None for no prefix.
        separator: Text between the prefix and a name.
        session: The session, connected to the remote server.

    Raises:
        UsageError: The prefix is invalid.
    """

    def __init__(
        self, outer: Mounting, prefix: str | None, separator: str, session: RemoteSession
    ) -> None:
        super().__init__(outer, prefix, separator)
        self._session = session
        self.relay = relay_of(session)
        self.lists = {
            kind: RemoteList(kind, self.relay, self.title, self.rename_outward, self.warn)
            for kind in KINDS
        }
        self._suspended = SuspendedCalls()
        self._forwarder = Forwarder(self.relay, f"mount {self.title}", self._suspended)
        self._notifications = RemoteNotifications(self)

    @property
    def title(self) -> str:
        """Prefix of the mount, or the name of the remote server if there is none."""
        return repr(self.relay.name if self.prefix is None else self.prefix)

    @property
    def target(self) -> RemoteSession:
        """Mounted session."""
        return self._session

    def features(self) -> frozenset[str]:
        """Return the features that the remote server declared and a mount forwards."""
        declared = self.relay.capabilities
        passing = ("completions", "logging", "prompts", "resources", "tools")
        found = {value for value in passing if getattr(declared, value, None) is not None}
        completes = row("complete", self.relay.profile.revision)
        if completes is not None and not completes.capability:
            found.add("completions")  # no such capability at this revision: assume it
        return frozenset(found)

    @property
    def has_unlisted(self) -> bool:
        """True if the remote server has resources: it need not list all of them."""
        return "resources" in self.features()

    # --- items ---

    def names(self, kind: FeatureKind) -> Iterable[str]:
        """Return the outer names or URIs of the items listed so far."""
        return [item.name for item in self.lists[kind].items.values()]

    async def items(self, ctx: Context, kind: FeatureKind) -> Sequence[ListItem]:
        """Return the items of a list; the cached ones if the remote server is unreachable.

        Where headers repeat arguments, tools that mark theirs wrongly are left out: clients would
        drop them. Their calls are forwarded all the same.
        """
        await self.fetch_list(kind)
        remote_list = self.lists[kind]
        items = list(remote_list.items.values())
        if not (remote_list.has_wrong_marks and _repeats_arguments(ctx)):
            return items
        for item in items:
            if item.wrong_marks:
                self.warn(item.name, f"is left out over HTTP: {item.wrong_marks}")
        return [item for item in items if not item.wrong_marks]

    async def fetch_list(self, kind: FeatureKind) -> None:
        """Fetch a list, unless the cached one is fresh."""
        remote_list = self.lists[kind]
        previous = remote_list.items
        self._notifications.open()
        await remote_list.refresh(self._notifications.covers(kind))
        if remote_list.items is not previous:
            kind.of(self.outer).invalidate()

    def is_static(self, ctx: Context, kind: FeatureKind) -> bool:
        """Return True if the cached list is valid for all clients until list_changed."""
        remote_list = self.lists[kind]
        has_notifications = self._notifications.covers(kind)
        if remote_list.has_wrong_marks and ctx.profile.param_header_prefix is not None:
            return False  # over another transport, the same revision has another list
        return (
            has_notifications
            and not remote_list.private
            and remote_list.is_fresh(has_notifications)
        )

    def has_item(self, ctx: Context, kind: FeatureKind, name: str) -> bool | None:
        """Return True if an inner item is listed; None if the list may be outdated."""
        remote_list = self.lists[kind]
        if name in remote_list.items:
            return True
        return False if remote_list.is_fresh(self._notifications.covers(kind)) else None

    def scopes_of(self, ctx: Context, kind: FeatureKind, name: str) -> frozenset[str] | None:
        """Return the scopes of the mount if an inner item is listed, else None."""
        is_listed = (
            self._lists_reader(name) if kind is RESOURCES else name in self.lists[kind].items
        )
        return self.scopes if is_listed else None

    async def readable(self, ctx: Context, uri: str) -> bool:
        """Return True if a listed resource or template covers a URI; fetches the lists if not."""
        if not self._lists_reader(uri):
            # A positive match in an outdated list is trusted; a negative one is not.
            await asyncio.gather(self.fetch_list(RESOURCES), self.fetch_list(TEMPLATES))
        return self._lists_reader(uri)

    def _lists_reader(self, uri: str) -> bool:
        if uri in self.lists[RESOURCES].items:
            return True
        return any(template_matches(template, uri) for template in self.lists[TEMPLATES].items)

    def peek(self, ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
        """Return the description of an inner item as it was listed last."""
        item = self.lists[kind].items.get(name)
        return item.described if item else None

    async def subscribe(self, ctx: Context, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe to those resources for a holder that the remote server has.

        Errors are logged.
        """
        found = await self._readable_among(uris)
        if found:
            try:
                await self._notifications.hold_subscriptions(found, holder)
            except McpGenError as error:
                self.warn(found[0], f"is not watched: {error}")

    async def _readable_among(self, uris: Sequence[str]) -> list[str]:
        """Return the URIs that a listed resource or template covers; lists are fetched once."""
        found: list[str] = []
        fetched = False
        for number, uri in enumerate(uris, 1):
            covered = self._lists_reader(uri)
            if not covered and not fetched:
                fetched = True
                await asyncio.gather(self.fetch_list(RESOURCES), self.fetch_list(TEMPLATES))
                covered = self._lists_reader(uri)
            if covered:
                found.append(uri)
            if number % MATCHED_AT_ONCE == 0:
                # Each URI is matched with each template: other clients have their turn.
                await asyncio.sleep(0)
        return found

    def unsubscribe(self, uris: Iterable[str], holder: Hashable) -> None:
        """End subscriptions of `subscribe`."""
        self._notifications.release_subscriptions(uris, holder)

    # --- requests ---

    async def call(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Forward a request to the remote server and return its result.

        Raises:
            McpError: The error of the remote server, or that it is unreachable.
            MethodNotFound: Its revision has no such request.
        """
        if what == "subscribe":
            try:
                await self._notifications.subscribe(ctx, params.uri)
            except (RequestTimeout, TransportError) as error:
                raise self._forwarder.unavailable(error) from error
            return latest.EmptyResult()
        if what == "unsubscribe":
            await self._notifications.unsubscribe(ctx, params.uri)
            return latest.EmptyResult()
        try:
            if self.relay.is_lost:
                await self.relay.ready()
        except McpGenError as error:
            raise self._forwarder.unavailable(error) from error
        self._notifications.open()
        return await self._forwarder.call(ctx, what, params)

    # --- start and end ---

    async def enter(self) -> None:
        """Do nothing: lists are fetched and subscriptions opened on request."""

    async def leave(self) -> None:
        """Cancel the suspended calls and all subscriptions of this mount."""
        self._suspended.clear()
        here = asyncio.get_running_loop()
        tasks = [task for task in self._notifications.pause() if task.get_loop() is here]
        if tasks:
            await asyncio.wait(tasks)

    def unmounted(self) -> None:
        """Cancel the suspended calls and stop listening to the session."""
        self._suspended.clear()
        self._notifications.close()


def _repeats_arguments(ctx: Context) -> bool:
    return ctx.headers is not None and ctx.profile.param_header_prefix is not None
