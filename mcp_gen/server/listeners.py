"""Requests that stay open to hear of changes, from the acknowledgement to the end.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core.extensions import filter_of
from mcp_gen.server.topics import (
    LISTS,
    Also,
    Topic,
    also_of,
    fields_of,
    is_watched,
    send,
    updated,
)
from mcp_gen.session.peer import asking
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from mcp_gen.server.context import Context
    from mcp_gen.session.kernel import Kernel
    from mcp_gen.session.outlet import Outlet
    from mcp_wire import common
    from mcp_wire.extension import Extension
    from mcp_wire.method import Method

__all__ = ["Listeners"]


class _Listener:
    """One open request, and what it wants to hear of."""

    __slots__ = ("_loop", "_tag", "_woken", "ctx", "ended", "topics", "waiting")

    def __init__(self, ctx: Context, topics: tuple[Topic | Also, ...]) -> None:
        self.ctx = ctx
        self.topics = topics
        self.waiting: list[tuple[Method[Any, None], Raw]] | None = None
        """What is still to go through the hooks."""
        self.ended = False
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] = self._loop.create_future()
        self._tag = b'{"_meta":' + encode(self.meta)

    @property
    def meta(self) -> dict[str, Any]:
        """What every message of this subscription has in `_meta`."""
        return {self.ctx.profile.subscription_id_key or "": self.ctx.request_id}

    def hears(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether anything may be sent for it on this loop."""
        # A request that is cancelled is open until its task has ended, yet nothing may follow.
        return self._loop is loop and self.ctx.caller.outlet.answers(self.ctx.request_id)

    def params(self, shared: bytes) -> Raw:
        """The params of a notification: its own tag, and what is the same for all listeners."""
        return Raw(self._tag + shared)

    def woken(self) -> asyncio.Future[None]:
        """What ends when there is something to do."""
        if self._woken.done():
            self._woken = self._loop.create_future()
        return self._woken

    def wake(self) -> None:
        if not self._woken.done():
            self._woken.set_result(None)

    def end(self) -> None:
        """Answer the request, on whatever thread this is."""
        self.ended = True
        self._loop.call_soon_threadsafe(self.wake)


class Listeners:
    """The listening requests of a server that are open."""

    def __init__(self, kernel: Kernel[Any]) -> None:
        self._kernel = kernel
        # Dicts for their order: whoever came first is told first.
        self._by_topic: dict[Topic | Also, dict[_Listener, None]] = {}
        self._by_outlet: dict[Outlet, tuple[_Listener, ...]] = {}
        self.agreements: dict[Extension, Callable[[Context, Any], Awaitable[Any]]] = {}
        """What decides how much of an extension's part of a filter is granted: else all of it."""
        self.first: dict[str, Callable[[Any], Awaitable[tuple[Method[Any, None], Any] | None]]] = {}
        """What there is to be told at once, by field of a filter and its value."""

    async def listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> latest.SubscriptionsListenResult:
        """Acknowledge, then tell of changes until the request is cancelled or ended."""
        granted = self._granted(params.notifications)
        topics: list[Topic | Also] = list(_topics(granted))
        if self._kernel.extensions:
            granted = await self._with_agreed(ctx, params.notifications, granted, topics)
        listener = _Listener(ctx, tuple(topics))
        profile, outlet = ctx.profile, ctx.caller.outlet
        if profile.acknowledged:
            first = profile.acknowledged.params(notifications=granted, meta=listener.meta)
            await asking(profile, outlet, self._kernel, ctx).notify(profile.acknowledged, first)
            del first
        self._add(listener, outlet)
        # There may be many who listen, and for long: they keep only what they need.
        del granted, params
        try:
            if self.first:
                await self._tell_first(listener)
            while not listener.ended:
                await listener.woken()
                while listener.waiting:
                    method, raw = listener.waiting.pop(0)
                    client = asking(profile, outlet, self._kernel, ctx)
                    await client.notify(method, method.decode_params(raw))
        finally:
            self._remove(listener, outlet)
        if ctx.headers is None:
            await self._tear_down(ctx)
        return latest.SubscriptionsListenResult(meta=listener.meta)

    async def _tell_first(self, listener: _Listener) -> None:
        """Tell what has happened before anybody listened, where that is known."""
        for topic in listener.topics:
            if not isinstance(topic, Also) or topic.field not in self.first:
                continue
            said = await self.first[topic.field](topic.value)
            if said is not None:
                method, params = said
                self._pass(listener, method, listener.params(_shared(params)))

    async def _tear_down(self, ctx: Context) -> None:
        """Say, behind the answer, that the subscription is no more: there is no stream to close.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
        """
        method, task = ctx.profile.cancelled, asyncio.current_task()
        if method is None or task is None:
            return
        # The answer goes out at the end of this task, after every hook that may still see it.
        behind: Any = _Behind(task, ctx.caller.outlet)
        params = method.params(request_id=ctx.request_id)
        await asking(ctx.profile, behind, self._kernel, ctx).notify(method, params)

    def _granted(self, wanted: common.SubscriptionFilter) -> common.SubscriptionFilter:
        """Of what is wanted, that which the server declares."""
        declared = self._kernel.offered()
        fields = {
            topic.wanted: getattr(wanted, topic.wanted) or None
            for topic in (*LISTS, updated(""))
            if topic.capability in declared
        }
        return type(wanted)(**fields)

    async def _with_agreed(
        self, ctx: Context, wanted: Any, granted: Any, topics: list[Topic | Also]
    ) -> Any:
        """The same with what is granted of that which extensions add, and its topics.

        Raises:
            MissingCapability: the client wants some of it, and has not declared its extension.
        """
        fields: dict[str, Any] = {}
        for extension in self._kernel.extensions.at(ctx.profile):
            found = fields_of(wanted, extension.wanted)
            if not found:
                continue
            ctx.require(extension)
            asked = extension.wanted(**found)
            agree = self.agreements.get(extension)
            agreed = asked if agree is None else await agree(ctx, asked)
            fields |= fields_of(agreed, extension.agreed)
        topics += also_of(fields)
        rows, acknowledged = self._kernel.extensions.rows(ctx.profile), ctx.profile.acknowledged
        row = rows.get(acknowledged.name) if acknowledged else None
        if row is None:
            return granted
        kind = filter_of(row)
        return kind(**fields_of(granted, kind), **fields)

    def _add(self, listener: _Listener, outlet: Outlet) -> None:
        self._kernel.loops.add(asyncio.get_running_loop())
        self._by_outlet[outlet] = (*self._by_outlet.get(outlet, ()), listener)
        for topic in listener.topics:
            self._by_topic.setdefault(topic, {})[listener] = None

    def _remove(self, listener: _Listener, outlet: Outlet) -> None:
        left = tuple(one for one in self._by_outlet.pop(outlet, ()) if one is not listener)
        if left:
            self._by_outlet[outlet] = left
        for topic in listener.topics:
            _discard(self._by_topic, topic, listener)

    def tell(self, topic: Topic, loop: asyncio.AbstractEventLoop) -> None:
        """Tell those on a loop who listen to a topic."""
        shared = b',"uri":' + encode(topic.uri) + b"}" if topic.uri else b"}"
        for listener in list(self._by_topic.get(topic, ())):
            method = topic.notification(listener.ctx.profile)
            if method is None or not listener.hears(loop):
                continue
            self._pass(listener, method, listener.params(shared))

    def has(self, topic: Also) -> bool:
        """Whether anybody listens to it."""
        return topic in self._by_topic

    def _pass(self, listener: _Listener, method: Method[Any, None], params: Raw) -> None:
        if is_watched(self._kernel, method):
            listener.waiting = [*(listener.waiting or ()), (method, params)]
            listener.wake()
        else:
            send(listener.ctx.caller.outlet, method, params)

    def tell_also(
        self, topic: Also, method: Method[Any, None], params: Any, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Send those on a loop a notification who listen to a topic of an extension."""
        meta: dict[str, Any] = params.meta or {}
        behind = b"" if meta else _shared(params)
        for listener in list(self._by_topic.get(topic, ())):
            if not listener.hears(loop):
                continue
            if meta:
                raw = Raw(encode(replace(params, meta={**meta, **listener.meta})))
            else:
                raw = listener.params(behind)
            self._pass(listener, method, raw)

    def end(self, outlet: Outlet | None = None) -> None:
        """End the requests of one connection, or all of them, in good order; on any thread."""
        outlets = list(self._by_outlet) if outlet is None else [outlet]
        for one in outlets:
            for listener in self._by_outlet.get(one, ()):
                listener.end()


def _shared(params: Any) -> bytes:
    """What params without a `_meta` have behind one."""
    members = encode(replace(params, meta=None))[1:]
    return b"," + members if len(members) > 1 else members


class _Behind:
    """An outlet whose messages go out when a task has ended."""

    def __init__(self, task: asyncio.Task[Any], outlet: Outlet) -> None:
        self._task = task
        self._outlet = outlet

    def notify(self, method: Method[Any, None], params: Any) -> None:
        self._task.add_done_callback(lambda _: send(self._outlet, method, params))


def _topics(granted: common.SubscriptionFilter) -> Iterator[Topic]:
    for topic in LISTS:
        if getattr(granted, topic.wanted):
            yield topic
    for uri in dict.fromkeys(granted.resource_subscriptions or ()):
        yield updated(uri)


def _discard(listeners: dict[Any, dict[_Listener, None]], key: Any, listener: _Listener) -> None:
    found = listeners.get(key, {})
    found.pop(listener, None)
    if not found:
        listeners.pop(key, None)
