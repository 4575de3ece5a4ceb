"""A server of this process, mounted in another: asked through its own routes, hooks and all."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import MethodNotFound
from mcp_gen.core.projection.project import project
from mcp_gen.server.context.context import origin_of, set_tool_tasks, tool_tasks_of
from mcp_gen.server.mounting.kinds import KINDS, FeatureKind, row
from mcp_gen.server.mounting.lookup import peek
from mcp_gen.server.mounting.merged_lists import ItemNumbers, is_cacheable, items_of, names_of
from mcp_gen.server.mounting.mount import Mount, Mounted
from mcp_gen.server.notifications.topics import LISTS
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.kinds import What
    from mcp_gen.server.mounting.mount import MountableServer, Mounting
    from mcp_gen.server.notifications.topics import ChangeTopic
    from mcp_gen.session.peer.session import Session
    from mcp_wire import Wire

__all__ = ["LocalMount", "is_inside"]


class LocalMount(Mount):
    """A server inside of another one, for as long as it is mounted."""

    def __init__(
        self, outer: Mounting, prefix: str | None, separator: str, server: MountableServer
    ) -> None:
        super().__init__(outer, prefix, separator)
        self.server = server
        self._entered_on: asyncio.AbstractEventLoop | None = None
        self._entering: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._open = 0
        """How many calls are open, that need its lifespan to the end."""
        self._is_over = False
        self._shown: dict[FeatureKind, dict[int, Mounted | None]] = {kind: {} for kind in KINDS}
        self._numbers = {kind: ItemNumbers() for kind in KINDS}
        server.notify.outer_servers.add(self)
        if server.runtime.tasks.manager is not None:
            outer.runtime.tasks.enable()

    @property
    def title(self) -> str:
        """The prefix, or else the server's name."""
        return repr(self.server.name if self.prefix is None else self.prefix)

    @property
    def target(self) -> MountableServer:
        """The mounted server."""
        return self.server

    def features(self) -> frozenset[str]:
        """What the mounted server declares."""
        return self.server.features()

    @property
    def has_unlisted(self) -> bool:
        """Whether something remote is mounted in the mounted server."""
        return any(mount.has_unlisted for mount in self.server.mounts)

    def context(self, ctx: Context) -> Context:
        """The same request, as the mounted server sees it."""
        inner = self.server.runtime.kernel.context(ctx.request_id, origin_of(ctx), ctx.meta)
        set_tool_tasks(inner, tool_tasks_of(ctx) or self.outer.runtime.tasks.manager)
        return inner

    # --- what the mounted server tells ---

    def changed(self, topic: ChangeTopic, session: Session | None) -> None:
        """Something of the mounted server has changed, for one session or for all."""
        self.forget(topic)
        self.outer.notify.publish(topic, session)

    def forget(self, topic: ChangeTopic) -> None:
        """Pages of the outer server that hold what has changed are no longer true."""
        if topic not in LISTS:
            return
        for kind in KINDS:
            if kind.feature == topic.capability:
                self._shown[kind] = {}
                kind.of(self.outer).forget()

    def declared(self) -> None:
        """The mounted server declares more than before."""
        if self.server.runtime.tasks.manager is not None:
            # Those of a mounted server are asked about outside.
            self.outer.runtime.tasks.enable()
        self.outer.runtime.declarations.capabilities_changed()

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """A user is done at a URL."""
        await self.outer.notify.elicitation_complete(elicitation_id)

    # --- what is there ---

    def names(self, kind: FeatureKind) -> Iterator[str]:
        """The names or URIs outside of everything that is there, for anybody."""
        lead = self.name_prefix if kind.prefixed else ""
        return (lead + name for name in names_of(self.server, kind))

    async def items(self, ctx: Context, kind: FeatureKind) -> list[Mounted]:
        """Everything that the client of this request may see."""
        inner = self.context(ctx)
        if _is_watched(self.server, kind.lists):
            found = await self._walked(inner, kind)
        else:
            found = await items_of(self.server, inner, kind)
        shown: list[Mounted] = []
        kept = self._shown[kind]
        for one in found:
            item = kept.get(one.number)
            if item is None or item.described is not one.described:
                item = kept[one.number] = self._dressed(kind, one)
            if item is not None:
                shown.append(item)
        return shown

    def _dressed(self, kind: FeatureKind, inner: Mounted) -> Mounted | None:
        described: Any = self.rename_outward(kind, inner.described)
        if described is None:
            return None
        if described is inner.described:
            return inner

        def at(revision: str) -> Any:
            return self.rename_outward(kind, inner.at(revision))

        return Mounted(inner.number, getattr(described, kind.key), described, at)

    async def _walked(self, inner: Context, kind: FeatureKind) -> list[Mounted]:
        """The list as the mounted server's hooks and middleware let it pass."""
        found: list[Mounted] = []
        cursor: str | None = None
        listing, numbers = kind.of(self.server), self._numbers[kind]
        method = row(kind.lists, inner.revision)
        if method is None or not self.serves(inner, kind.lists):
            return []
        while True:
            # The params of a list are all that its revision wants of any request.
            given = {"cursor": cursor, "_meta": inner.meta or {}}
            params = method.decode_params(encode({k: v for k, v in given.items() if v is not None}))
            page = await self._ask(inner, kind.lists, params)
            for one in getattr(page, listing.field):
                name = getattr(one, kind.key)
                entry = listing.items.entry(name)
                number = entry.number if entry else numbers.of(name)
                found.append(Mounted(number, name, project(one, mcp_wire.LATEST).value))
            cursor = page.next_cursor
            if cursor is None:
                return found

    def is_static(self, ctx: Context, kind: FeatureKind) -> bool:
        """Whether a list stays the same for everybody until `changed` is called."""
        return not _is_watched(self.server, kind.lists) and is_cacheable(
            self.server, self.context(ctx), kind
        )

    def has_item(self, ctx: Context, kind: FeatureKind, name: str) -> bool | None:
        """Whether there is an item of that name inside, for this client."""
        server = self.server
        inner = self.context(ctx)
        if kind.of(server).find(inner, name) is not None:
            return True
        found: bool | None = False
        for mount in server.mounts:
            inside = mount.inner_name(kind, name)
            if inside is not None:
                here = mount.has_item(inner, kind, inside)
                if here:
                    return True
                found = None if here is None else found
        return found

    async def readable(self, ctx: Context, uri: str) -> bool | None:
        """Whether there is something inside that a URI may be read from."""
        inner = self.context(ctx)
        if self.server.resources.find(inner, uri) is not None:
            return True
        found: bool | None = False
        for mount in self.server.mounts:
            here = await mount.readable(inner, uri)
            if here:
                return True
            found = None if here is None else found
        return found

    def peek(self, ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
        """What is known of the item of that name inside, for this client."""
        inner, listing = self.context(ctx), kind.of(self.server)
        found = listing.find(inner, name)
        if found is not None:
            return listing.describe(found)
        return peek(self.server.mounts, inner, kind, name)

    async def subscribe(self, ctx: Context, uri: str, holder: Hashable) -> None:
        """Hear of changes of a resource for somebody: what is here tells anyway."""
        for mount in self.server.mounts:
            await mount.subscribe(self.context(ctx), uri, holder)

    def unsubscribe(self, uri: str, holder: Hashable) -> None:
        """The end of `hold`."""
        for mount in self.server.mounts:
            mount.unsubscribe(uri, holder)

    async def call(self, ctx: Context, what: What, params: Any) -> Any:
        """What the mounted server answers to a request."""
        self._open += 1
        try:
            if self._entered_on is not asyncio.get_running_loop():
                await self.enter()
            inner = self.context(ctx)
            if not self.serves(inner, what):
                raise MethodNotFound(
                    f"mount {self.title}: the mounted server has nothing of the kind"
                )
            return await self._ask(inner, what, params)
        finally:
            self._open -= 1
            if self._is_over:
                self._leave_soon()

    def serves(self, inner: Context, what: What) -> bool:
        """Whether the mounted server answers such requests at all."""
        method = row(what, inner.revision)
        kernel = self.server.runtime.kernel
        return method is not None and method.name in kernel.binding(inner.revision).routes

    async def _ask(self, inner: Context, what: What, params: Any) -> Any:
        method: Any = row(what, inner.revision)
        route = self.server.runtime.kernel.binding(inner.revision).routes[method.name]
        if _is_watched(self.server, what) and type(params).__name__.startswith("Raw"):
            # Whoever looks at params there sees them decoded to the end.
            params = method.decode_params(encode(params))
        return await route.call(inner, params)

    # --- begin and end ---

    async def enter(self) -> None:
        """Enter the lifespan of the mounted server, unless that has been done."""
        loop = asyncio.get_running_loop()
        if self._entered_on is loop:
            return
        if self._entering is None or self._entering[0] is not loop:
            self._entering = (loop, asyncio.Lock())
        async with self._entering[1]:
            if self._entered_on is not loop:
                await self.server.runtime.runner.acquire()
                self._entered_on = loop

    async def leave(self) -> None:
        """Leave it."""
        if self._entered_on is asyncio.get_running_loop():
            self._entered_on = None
            await self.server.runtime.runner.release()

    def unmounted(self) -> None:
        """The mounted server tells nobody here any more; its lifespan is left after its calls."""
        self.server.notify.outer_servers.discard(self)
        self._is_over = True
        self._leave_soon()

    def _leave_soon(self) -> None:
        loop = self._entered_on
        if not self._open and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(lambda: loop.create_task(self.leave()))


def is_inside(inner: object, server: Mounting) -> bool:
    """Return True if a server is mounted in another one, or in what is mounted there."""
    inside = (one.server for one in server.mounts if isinstance(one, LocalMount))
    return any(one is inner or is_inside(inner, one) for one in inside)


def _is_watched(server: MountableServer, what: What) -> bool:
    """Whether hooks or middleware of a server see such requests."""
    kernel = server.runtime.kernel
    return bool(kernel.middleware or getattr(kernel.hooks, what))
