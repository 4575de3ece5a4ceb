"""Open `subscriptions/listen` requests, from the acknowledgement to the end.

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
EncodedNotification: TypeAlias = "tuple[Method[Any, None], bytes]"


async def _nothing(topic: Any) -> Sequence[EncodedNotification]:
    return ()


class GrantedFilter(NamedTuple):
    """Part of a subscription filter that an extension grants."""

    fields: dict[str, Any]
    """Fields for the filter of the acknowledgement."""
    topics: tuple[ChangeTopic | ExtensionTopic, ...] = ()
    partial: Callable[[Any], Awaitable[Sequence[EncodedNotification]]] = _nothing
    """Returns notifications to send at once for a topic: method and JSON params."""


class _Listener:
    """One open `subscriptions/listen` request and its topics."""

    __slots__ = ("_loop", "_tag", "_woken", "ctx", "ended", "topics", "waiting")

    def __init__(self, ctx: Context, topics: tuple[ChangeTopic | ExtensionTopic, ...]) -> None:
        self.ctx = ctx
        self.topics = topics
        self.waiting: list[tuple[Method[Any, None], Raw]] | None = None
        """Notifications that still have to pass hooks and middleware."""
        self.ended = False
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] = self._loop.create_future()
        self._tag = b'{"_meta":' + encode(self.meta)

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of every message of this subscription."""
        return {self.ctx.profile.subscription_id_key or "": self.ctx.request_id}

    def is_wanted(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return True if notifications may be sent for it on this event loop."""
        # A cancelled request stays open until its task has ended, but nothing may be sent for it.
        return self._loop is loop and origin_of(self.ctx).channel.answers(self.ctx.request_id)

    def params(self, shared: bytes) -> Raw:
        """Return notification params: the `_meta` of this listener, and the shared part."""
        return Raw(self._tag + shared)

    def woken(self) -> asyncio.Future[None]:
        """Return a future that ends when there is work, or the request is to end."""
        if self._woken.done():
            self._woken = self._loop.create_future()
        return self._woken

    def wake(self) -> None:
        if not self._woken.done():
            self._woken.set_result(None)

    def end(self) -> None:
        """End the request with its result; may be called from any thread."""
        self.ended = True
        self._loop.call_soon_threadsafe(self.wake)


class Listeners:
    """Registry of the open `subscriptions/listen` requests of a server.

    Args:
        kernel: The kernel of the server.
    """

    def __init__(self, kernel: Kernel[Any]) -> None:
        self._kernel = kernel
        # Dicts instead of sets, for their order: first come, first served.
        self._by_topic: dict[ChangeTopic | ExtensionTopic, dict[_Listener, None]] = {}
        self._by_channel: dict[Channel, tuple[_Listener, ...]] = {}
        self.extension_topics: dict[
            Extension, Callable[[Context, Any], Awaitable[GrantedFilter]]
        ] = {}
        """Functions that grant an extension's part of a filter; without one all is granted."""

    async def listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> latest.SubscriptionsListenResult:
        """Acknowledge the subscription, then send notifications until it is cancelled or ended.

        Raises:
            MissingCapability: the client asks for topics of an extension that it has not declared.
        """
        also = [one async for one in self._granted_extensions(ctx, params.notifications)]
        granted = self._granted(ctx, params.notifications, also)
        topics = [topic for one in also for topic in one.topics]
        listener = _Listener(ctx, (*_topics(granted), *topics))
        profile, channel = ctx.profile, origin_of(ctx).channel
        if profile.subscription_acknowledged:
            acknowledgement = profile.subscription_acknowledged.params(
                notifications=granted, meta=listener.meta
            )
            await sender_for(profile, channel, self._kernel, ctx).notify(
                profile.subscription_acknowledged, acknowledgement
            )
            del acknowledgement
        self._add(listener, channel)
        try:
            for one in also:
                for topic in one.topics:
                    for method, shared in await one.partial(topic):
                        self._publish(listener, method, shared)
            # Listeners may be many and long-lived: free what they no longer need.
            del granted, params, also
            while not listener.ended:
                await listener.woken()
                while listener.waiting:
                    method, raw = listener.waiting.pop(0)
                    client = sender_for(profile, channel, self._kernel, ctx)
                    await client.notify(method, method.decode_params(raw))
        finally:
            self._remove(listener, channel)
        if ctx.headers is None:
            await self._tear_down(ctx)
        return latest.SubscriptionsListenResult(meta=listener.meta)

    async def _tear_down(self, ctx: Context) -> None:
        """Send `notifications/cancelled` after the result, on a duplex transport.

        There is no stream that could be closed instead.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
        """
        method, task = ctx.profile.cancelled, asyncio.current_task()
        if method is None or task is None:
            return
        # The result is sent when this task ends, after all hooks.
        deferred: Any = _DeferredChannel(task, origin_of(ctx).channel)
        params = method.params(request_id=ctx.request_id)
        await sender_for(ctx.profile, deferred, self._kernel, ctx).notify(method, params)

    def _granted(self, ctx: Context, wanted: Any, also: Iterable[GrantedFilter]) -> Any:
        """Return the part of the requested filter that the server supports."""
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
        """Yield the part of the requested filter that each extension grants.

        Raises:
            MissingCapability: the client asks for topics of an extension that it has not declared.
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

    def _add(self, listener: _Listener, channel: Channel) -> None:
        self._kernel.loops.add(asyncio.get_running_loop())
        self._by_channel[channel] = (*self._by_channel.get(channel, ()), listener)
        for topic in listener.topics:
            self._by_topic.setdefault(topic, {})[listener] = None

    def _remove(self, listener: _Listener, channel: Channel) -> None:
        left = tuple(one for one in self._by_channel.pop(channel, ()) if one is not listener)
        if left:
            self._by_channel[channel] = left
        for topic in listener.topics:
            _discard(self._by_topic, topic, listener)

    def publish(self, topic: ChangeTopic, loop: asyncio.AbstractEventLoop) -> None:
        """Send a change to the listeners of a topic on one event loop."""
        shared = b"}" if topic.uri is None else b',"uri":' + encode(topic.uri) + b"}"
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
        """Send a notification to the listeners of a topic on one event loop.

        Args:
            topic: The topic.
            method: The notification.
            params: Its params, as a JSON object without `_meta`.
            loop: The event loop.
        """
        shared = params[1:] if params == b"{}" else b"," + params[1:]
        for listener in list(self._by_topic.get(topic, ())):
            if listener.is_wanted(loop):
                self._publish(listener, method, shared)

    def has_listeners(self, topic: ChangeTopic | ExtensionTopic) -> bool:
        """Return True if a request listens to the topic."""
        return topic in self._by_topic

    def _publish(self, listener: _Listener, method: Method[Any, None], shared: bytes) -> None:
        params = listener.params(shared)
        if is_watched(self._kernel, method):
            listener.waiting = [*(listener.waiting or ()), (method, params)]
            listener.wake()
        else:
            send(origin_of(listener.ctx).channel, method, params)

    def end(self, channel: Channel | None = None) -> None:
        """End the requests of one connection, or all, with their results; from any thread."""
        channels = list(self._by_channel) if channel is None else [channel]
        for one in channels:
            for listener in self._by_channel.get(one, ()):
                listener.end()


class _DeferredChannel:
    """Channel that sends its messages once a task has ended."""

    def __init__(self, task: asyncio.Task[Any], channel: Channel) -> None:
        self._task = task
        self._channel = channel

    def notify(self, method: Method[Any, None], params: Any) -> None:
        self._task.add_done_callback(lambda _: send(self._channel, method, params))


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
