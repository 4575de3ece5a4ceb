"""Requests that stay open to hear of changes, from the acknowledgement to the end.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Raw

from mcp_gen.core.extensions.extensions import filter_of
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.notifications.topics import (
    LISTS,
    ChangeTopic,
    ExtensionTopic,
    extension_topics_of,
    fields_of,
    is_watched,
    send,
    updated,
)
from mcp_gen.session.peer.session import sender_for
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire import common
    from mcp_wire.extension import Extension
    from mcp_wire.method import Method

__all__ = ["GrantedFilter", "Listeners"]


Loop: TypeAlias = asyncio.AbstractEventLoop
Said: TypeAlias = "tuple[Method[Any, None], bytes]"


async def _nothing(topic: Any) -> Sequence[Said]:
    return ()


class GrantedFilter(NamedTuple):
    """What else a request may listen to."""

    fields: dict[str, Any]
    """How the acknowledgement says so."""
    topics: tuple[ChangeTopic | ExtensionTopic, ...] = ()
    partial: Callable[[Any], Awaitable[Sequence[Said]]] = _nothing
    """What there is to be told of a topic at once."""


class _Listener:
    """One open request, and what it wants to hear of."""

    __slots__ = ("_loop", "_tag", "_woken", "ctx", "ended", "topics", "waiting")

    def __init__(self, ctx: Context, topics: tuple[ChangeTopic | ExtensionTopic, ...]) -> None:
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

    def is_wanted(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether anything may be sent for it on this loop."""
        # A request that is cancelled is open until its task has ended, yet nothing may follow.
        return self._loop is loop and origin_of(self.ctx).channel.answers(self.ctx.request_id)

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
        self._by_topic: dict[ChangeTopic | ExtensionTopic, dict[_Listener, None]] = {}
        self._by_channel: dict[Channel, tuple[_Listener, ...]] = {}
        self.extension_topics: dict[
            Extension, Callable[[Context, Any], Awaitable[GrantedFilter]]
        ] = {}
        """What decides how much of an extension's part of a filter is granted: else all of it."""

    async def listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> latest.SubscriptionsListenResult:
        """Acknowledge, then tell of changes until the request is cancelled or ended."""
        also = [one async for one in self._granted_extensions(ctx, params.notifications)]
        granted = self._granted(ctx, params.notifications, also)
        topics = [topic for one in also for topic in one.topics]
        listener = _Listener(ctx, (*_topics(granted), *topics))
        profile, outlet = ctx.profile, origin_of(ctx).channel
        if profile.subscription_acknowledged:
            first = profile.subscription_acknowledged.params(
                notifications=granted, meta=listener.meta
            )
            await sender_for(profile, outlet, self._kernel, ctx).notify(
                profile.subscription_acknowledged, first
            )
            del first
        self._add(listener, outlet)
        try:
            for one in also:
                for topic in one.topics:
                    for method, shared in await one.partial(topic):
                        self._publish(listener, method, shared)
            # There may be many who listen, and for long: they keep only what they need.
            del granted, params, also
            while not listener.ended:
                await listener.woken()
                while listener.waiting:
                    method, raw = listener.waiting.pop(0)
                    client = sender_for(profile, outlet, self._kernel, ctx)
                    await client.notify(method, method.decode_params(raw))
        finally:
            self._remove(listener, outlet)
        if ctx.headers is None:
            await self._tear_down(ctx)
        return latest.SubscriptionsListenResult(meta=listener.meta)

    async def _tear_down(self, ctx: Context) -> None:
        """Say, behind the answer, that the subscription is no more: there is no stream to close.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
        """
        method, task = ctx.profile.cancelled, asyncio.current_task()
        if method is None or task is None:
            return
        # The answer goes out at the end of this task, after every hook that may still see it.
        behind: Any = _DeferredChannel(task, origin_of(ctx).channel)
        params = method.params(request_id=ctx.request_id)
        await sender_for(ctx.profile, behind, self._kernel, ctx).notify(method, params)

    def _granted(self, ctx: Context, wanted: Any, also: Iterable[GrantedFilter]) -> Any:
        """Of what is wanted, that which the server declares, and what else there is."""
        declared = self._kernel.declared_capabilities()
        fields = {
            topic.wanted: getattr(wanted, topic.wanted) or None
            for topic in (*LISTS, updated(""))
            if topic.capability in declared
        }
        for one in also:
            fields |= one.fields
        acknowledged = ctx.profile.subscription_acknowledged
        rows = self._kernel.extensions.rows(ctx.profile)
        row = rows.get(acknowledged.name) if acknowledged else None
        return type(wanted)(**fields) if row is None else filter_of(row)(**fields)

    async def _granted_extensions(self, ctx: Context, wanted: Any) -> AsyncIterator[GrantedFilter]:
        """Of what extensions let clients ask for, that which they get.

        Raises:
            MissingCapability: the client asks for some of it, and has not declared the extension.
        """
        for extension in self._kernel.extensions.at(ctx.profile):
            asked = fields_of(wanted, extension.wanted)
            if not asked:
                continue
            ctx.require(extension)
            grant = self.extension_topics.get(extension)
            yield (
                GrantedFilter(asked, tuple(extension_topics_of(asked)))
                if grant is None
                else await grant(ctx, extension.wanted(**asked))
            )

    def _add(self, listener: _Listener, outlet: Channel) -> None:
        self._kernel.loops.add(asyncio.get_running_loop())
        self._by_channel[outlet] = (*self._by_channel.get(outlet, ()), listener)
        for topic in listener.topics:
            self._by_topic.setdefault(topic, {})[listener] = None

    def _remove(self, listener: _Listener, outlet: Channel) -> None:
        left = tuple(one for one in self._by_channel.pop(outlet, ()) if one is not listener)
        if left:
            self._by_channel[outlet] = left
        for topic in listener.topics:
            _discard(self._by_topic, topic, listener)

    def publish(self, topic: ChangeTopic, loop: asyncio.AbstractEventLoop) -> None:
        """Tell those on a loop who listen to a topic."""
        shared = b',"uri":' + encode(topic.uri) + b"}" if topic.uri else b"}"
        for listener in list(self._by_topic.get(topic, ())):
            method = topic.notification(listener.ctx.profile)
            if method is not None and listener.is_wanted(loop):
                self._publish(listener, method, shared)

    def publish_extension(
        self,
        topic: ChangeTopic | ExtensionTopic,
        method: Method[Any, None],
        params: bytes,
        loop: Loop,
    ) -> None:
        """Tell those on a loop who listen to what else there is; `params` are a JSON object."""
        shared = params[1:] if params == b"{}" else b"," + params[1:]
        for listener in list(self._by_topic.get(topic, ())):
            if listener.is_wanted(loop):
                self._publish(listener, method, shared)

    def has_listeners(self, topic: ChangeTopic | ExtensionTopic) -> bool:
        """Whether anybody does."""
        return topic in self._by_topic

    def _publish(self, listener: _Listener, method: Method[Any, None], shared: bytes) -> None:
        params = listener.params(shared)
        if is_watched(self._kernel, method):
            listener.waiting = [*(listener.waiting or ()), (method, params)]
            listener.wake()
        else:
            send(origin_of(listener.ctx).channel, method, params)

    def end(self, outlet: Channel | None = None) -> None:
        """End the requests of one connection, or all of them, in good order; on any thread."""
        outlets = list(self._by_channel) if outlet is None else [outlet]
        for one in outlets:
            for listener in self._by_channel.get(one, ()):
                listener.end()


class _DeferredChannel:
    """An outlet whose messages go out when a task has ended."""

    def __init__(self, task: asyncio.Task[Any], outlet: Channel) -> None:
        self._task = task
        self._outlet = outlet

    def notify(self, method: Method[Any, None], params: Any) -> None:
        self._task.add_done_callback(lambda _: send(self._outlet, method, params))


def _topics(granted: common.SubscriptionFilter) -> Iterator[ChangeTopic]:
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
