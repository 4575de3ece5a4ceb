"""Mount of a Server in this process, called through its own routes, hooks and middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import McpError, MethodNotFound
from mcp_gen.core.projection.project import restate
from mcp_gen.server.context.context import (
    origin_of,
    rounds_of,
    set_outer,
    set_rounds,
    set_tool_tasks,
    tool_tasks_of,
)
from mcp_gen.server.listing.scopes import NO_SCOPES, scopes_of
from mcp_gen.server.listing.tags import NO_TAGS, Visibility, tags_of
from mcp_gen.server.mounting.kinds import KINDS, RESOURCES, FeatureKind
from mcp_gen.server.mounting.lookup import peek
from mcp_gen.server.mounting.merged_lists import ItemNumbers, is_cacheable, items_of, names_of
from mcp_gen.server.mounting.mount import ListItem, Mount
from mcp_gen.server.notifications.topics import LISTS
from mcp_gen.server.relaying.methods import row
from mcp_gen.session.kernel.errors import is_for_peer, masked
from mcp_gen.session.messages.current import CURRENT, leave
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mount import MountableServer, Mounting
    from mcp_gen.server.notifications.topics import ChangeTopic
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.session.peer.session import Session
    from mcp_wire import Wire

__all__ = ["LocalMount", "is_inside"]


class LocalMount(Mount):
    """Mount of a server of this process.

    Args:
        outer: The server that it is mounted in.
        prefix: Prefix of its tools and prompts; None for no prefix.
        separator: Text between the prefix and a name.
        server: The mounted server.
        visibility: Tags whose items are mounted.

    Raises:
        UsageError: The prefix is invalid.
    """

    def __init__(
        self,
        outer: Mounting,
        prefix: str | None,
        separator: str,
        server: MountableServer,
        visibility: Visibility,
    ) -> None:
        super().__init__(outer, prefix, separator)
        self.server = server
        self._visibility = visibility
        self._entered_on: asyncio.AbstractEventLoop | None = None
        self._enter_lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._open_calls = 0
        """Number of calls in progress, which need the lifespan."""
        self._is_unmounted = False
        self._outer_items: dict[FeatureKind, dict[int, ListItem | None]] = {
            kind: {} for kind in KINDS
        }
        self._item_numbers = {kind: ItemNumbers() for kind in KINDS}
        server.notify.outer_servers.add(self)
        outer.runtime.include(server.runtime)
        if server.runtime.tasks.manager is not None:
            outer.runtime.tasks.enable()

    @property
    def title(self) -> str:
        """Prefix of the mount, or the name of the server if there is none."""
        return repr(self.server.name if self.prefix is None else self.prefix)

    @property
    def target(self) -> MountableServer:
        """Mounted server."""
        return self.server

    def features(self) -> frozenset[str]:
        """Return the features that the mounted server declares."""
        return self.server.features()

    @property
    def has_unlisted(self) -> bool:
        """True if the mounted server has a remote mount itself, and all its items are mounted."""
        # Where tags choose, a URI that nobody lists could be one that is left out.
        mounts = self.server.mounts
        return self._visibility.shows_all and any(mount.has_unlisted for mount in mounts)

    def context(self, ctx: Context) -> Context:
        """Return the context of the same request in the mounted server."""
        inner = self.server.runtime.kernel.context(ctx.request_id, origin_of(ctx), ctx.meta)
        set_tool_tasks(inner, tool_tasks_of(ctx) or self.outer.runtime.tasks.manager)
        set_outer(inner, ctx)
        rounds = rounds_of(ctx)
        if rounds is not None and rounds.spans_mounts:
            set_rounds(inner, rounds)
        return inner

    # --- notifications of the mounted server ---

    def on_change(self, topic: ChangeTopic, session: Session | None) -> None:
        """Publish a change of the mounted server, for one session or for all (None)."""
        self.forget(topic)
        self.outer.notify.publish(topic, session)

    def forget(self, topic: ChangeTopic) -> None:
        """Drop the cached pages of the outer server that a list change affects."""
        if topic not in LISTS:
            return
        for kind in KINDS:
            if kind.feature == topic.capability:
                self._outer_items[kind] = {}
                kind.of(self.outer).invalidate()

    def on_declared(self) -> None:
        """Update the capabilities of the outer server after the mounted one declares more."""
        if self.server.runtime.tasks.manager is not None:
            # Clients request the tasks of a mounted server from the outer one.
            self.outer.runtime.tasks.enable()
        self.outer.runtime.declarations.capabilities_changed()

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """Send `notifications/elicitation/complete` to the clients of the outer server."""
        await self.outer.notify.elicitation_complete(elicitation_id)

    # --- items ---

    def names(self, kind: FeatureKind) -> Iterator[str]:
        """Return the outer names or URIs of all items, regardless of the client."""
        prefix = self.name_prefix if kind.prefixed else ""
        names = names_of(self.server, kind)
        return (prefix + name for name in names if self.shows(kind, name))

    def shows(self, kind: FeatureKind, name: str) -> bool:
        """Return True if the tags of an inner item do not leave it out."""
        if self._visibility.shows_all:
            return True
        tags = self.tags_of_name(kind, name)
        if tags is None and kind is RESOURCES:
            tags = self.tags_of_template(name)
        return self._visibility.shows(tags or NO_TAGS)

    def tags_of_name(self, kind: FeatureKind, name: str) -> frozenset[str] | None:
        """Return the tags of the inner item of a name, which may be mounted itself."""
        item = kind.of(self.server).items.get(name)
        if item is not None:
            return tags_of(item)
        for mount in self.server.mounts:
            inner_name = mount.inner_name(kind, name)
            found = None if inner_name is None else mount.tags_of_name(kind, inner_name)
            if found is not None:
                return found
        return None

    def tags_of_template(self, uri: str) -> frozenset[str] | None:
        """Return the tags of the first template that matches a URI, own ones first."""
        for template in self.server.resources.templates.items:
            if template.match(uri) is not None:
                return tags_of(template)
        found = (mount.tags_of_template(uri) for mount in self.server.mounts)
        return next((tags for tags in found if tags is not None), None)

    @property
    def has_scopes(self) -> bool:
        """True if the mount needs scopes, or anything inside ever did."""
        return bool(
            self.scopes
            or any(kind.of(self.server).items.has_scopes for kind in KINDS)
            or any(mount.has_scopes for mount in self.server.mounts)
        )

    @property
    def scopes_of_unlisted(self) -> frozenset[str]:
        """Scopes of resources that may be in a remote server inside and are not listed."""
        found = (mount.scopes_of_unlisted for mount in self.server.mounts)
        return self.scopes.union(*found) if self.has_unlisted else NO_SCOPES

    def scopes_of(self, ctx: Context, kind: FeatureKind, name: str) -> frozenset[str] | None:
        """Return all scopes that an inner item needs, those of the mounts around it included."""
        inner = self.context(ctx)
        item: Any = kind.of(self.server).find(inner, name)
        if item is None and kind is RESOURCES:
            found = self.server.resources.find(inner, name)
            item = None if found is None else found.item
        if item is not None:
            return self.scopes | scopes_of(item)
        for mount in self.server.mounts:
            inner_name = mount.inner_name(kind, name)
            scopes = None if inner_name is None else mount.scopes_of(inner, kind, inner_name)
            if scopes is not None:
                return self.scopes | scopes
        return None

    async def items(self, ctx: Context, kind: FeatureKind) -> list[ListItem]:
        """Return the items that are visible to the client of this request."""
        inner = self.context(ctx)
        if _is_watched(self.server, kind.lists):
            found = await self._list_through_hooks(inner, kind)
        else:
            found = await items_of(self.server, inner, kind)
        renamed: list[ListItem] = []
        cache = self._outer_items[kind]
        for inner_item in found:
            if not self.shows(kind, inner_item.name):
                continue
            item = cache.get(inner_item.number)
            if item is None or item.described is not inner_item.described:
                item = cache[inner_item.number] = self._renamed(kind, inner_item)
            if item is not None:
                renamed.append(item)
        return renamed

    def _renamed(self, kind: FeatureKind, inner: ListItem) -> ListItem | None:
        described: Any = self.rename_outward(kind, inner.described)
        if described is None:
            return None
        if described is inner.described:
            return inner

        def at(revision: str) -> Any:
            return self.rename_outward(kind, inner.at(revision))

        return ListItem(inner.number, getattr(described, kind.key), described, at)

    async def _list_through_hooks(self, inner: Context, kind: FeatureKind) -> list[ListItem]:
        """Return the list as the hooks and middleware of the mounted server change it."""
        found: list[ListItem] = []
        cursor: str | None = None
        listing, item_numbers = kind.of(self.server), self._item_numbers[kind]
        method = row(kind.lists, inner.revision)
        if method is None or not self.serves(inner, kind.lists):
            return []
        while True:
            # `_meta` carries all that the revision requires of every request.
            given = {"cursor": cursor, "_meta": inner.meta or {}}
            params = method.decode_params(encode({k: v for k, v in given.items() if v is not None}))
            page = await self._dispatch(inner, kind.lists, params)
            for item in getattr(page, listing.field):
                name = getattr(item, kind.key)
                entry = listing.items.entry(name)
                number = entry.number if entry else item_numbers.of(name)
                found.append(ListItem(number, name, restate(item, mcp_wire.LATEST).value))
            cursor = page.next_cursor
            if cursor is None:
                return found

    def is_static(self, ctx: Context, kind: FeatureKind) -> bool:
        """Return True if a list is the same for all clients until `changed` is called."""
        return not _is_watched(self.server, kind.lists) and is_cacheable(
            self.server, self.context(ctx), kind
        )

    def has_item(self, ctx: Context, kind: FeatureKind, name: str) -> bool | None:
        """Return True if this client may use an inner item; None if a remote mount may have it."""
        server = self.server
        if not self.shows(kind, name):
            return False
        inner = self.context(ctx)
        if kind.of(server).find(inner, name) is not None:
            return True
        found: bool | None = False
        for mount in server.mounts:
            inner_name = mount.inner_name(kind, name)
            if inner_name is not None:
                result = mount.has_item(inner, kind, inner_name)
                if result:
                    return True
                found = None if result is None else found
        return found

    async def readable(self, ctx: Context, uri: str) -> bool:
        """Return True if a resource or template here, or of a mount, covers a URI."""
        if not self.shows(RESOURCES, uri):
            return False
        inner = self.context(ctx)
        if self.server.resources.find(inner, uri) is not None:
            return True
        for mount in self.server.mounts:
            if await mount.readable(inner, uri):
                return True
        return False

    def peek(self, ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
        """Return the description of an inner item that this client may use, without I/O."""
        if not self.shows(kind, name):
            return None
        inner, listing = self.context(ctx), kind.of(self.server)
        found = listing.find(inner, name)
        if found is not None:
            return listing.describe(found)
        return peek(self.server.mounts, inner, kind, name)

    async def subscribe(self, ctx: Context, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe at the mounts of the mounted server, which itself always notifies."""
        for mount in self.server.mounts:
            await mount.subscribe(self.context(ctx), uris, holder)

    def unsubscribe(self, uris: Iterable[str], holder: Hashable) -> None:
        """End subscriptions of `subscribe`."""
        for mount in self.server.mounts:
            mount.unsubscribe(uris, holder)

    async def call(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Call the mounted server and return its result; enter its lifespan first if needed.

        Raises:
            MethodNotFound: The mounted server has no handler of this method.
        """
        self._open_calls += 1
        try:
            if self._entered_on is not asyncio.get_running_loop():
                await self.enter()
            inner = self.context(ctx)
            if not self.serves(inner, what):
                raise MethodNotFound(
                    f"mount {self.title}: the mounted server has nothing of the kind"
                )
            return await self._dispatch(inner, what, params)
        except Exception as error:
            if not self.server.runtime.kernel.mask_errors or is_for_peer(error):
                raise
            # The outer server may not mask what this one does.
            shown = masked(error, f"mount {self.title}: {what}")
            raise McpError(shown.code, shown.message) from error
        finally:
            self._open_calls -= 1
            if self._is_unmounted:
                self._leave_when_idle()

    def serves(self, inner: Context, what: MethodName) -> bool:
        """Return True if the mounted server has a handler of this method."""
        method = row(what, inner.revision)
        kernel = self.server.runtime.kernel
        return method is not None and method.name in kernel.bindings[inner.revision].routes

    async def _dispatch(self, inner: Context, what: MethodName, params: Any) -> Any:
        method: Any = row(what, inner.revision)
        route = self.server.runtime.kernel.bindings[inner.revision].routes[method.name]
        if _is_watched(self.server, what) and type(params).__name__.startswith("Raw"):
            # Hooks and middleware get params that are decoded completely.
            params = method.decode_params(encode(params))
        token = CURRENT.set(inner)
        try:
            return await route.call(inner, params)
        finally:
            leave(token)

    # --- start and end ---

    async def enter(self) -> None:
        """Enter the lifespan of the mounted server, once per event loop."""
        loop = asyncio.get_running_loop()
        if self._entered_on is loop:
            return
        if self._enter_lock is None or self._enter_lock[0] is not loop:
            self._enter_lock = (loop, asyncio.Lock())
        async with self._enter_lock[1]:
            if self._entered_on is not loop:
                await self.server.runtime.runner.acquire()
                self._entered_on = loop

    async def leave(self) -> None:
        """Leave the lifespan of the mounted server."""
        if self._entered_on is asyncio.get_running_loop():
            self._entered_on = None
            await self.server.runtime.runner.release()

    def unmounted(self) -> None:
        """Detach the mounted server; its lifespan is left after the calls in progress."""
        self.server.notify.outer_servers.discard(self)
        self.outer.runtime.exclude(self.server.runtime)
        self._is_unmounted = True
        self._leave_when_idle()

    def _leave_when_idle(self) -> None:
        loop = self._entered_on
        if not self._open_calls and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(lambda: loop.create_task(self.leave()))


def is_inside(inner: object, server: Mounting) -> bool:
    """Return True if a server is mounted in another one, or in what is mounted there."""
    servers = (mount.server for mount in server.mounts if isinstance(mount, LocalMount))
    return any(one is inner or is_inside(inner, one) for one in servers)


def _is_watched(server: MountableServer, what: MethodName) -> bool:
    """Return True if hooks or middleware of a server see this method."""
    kernel = server.runtime.kernel
    return bool(kernel.middleware or getattr(kernel.hooks, what))
