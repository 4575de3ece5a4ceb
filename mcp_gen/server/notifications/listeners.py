"""Open `subscriptions/listen` requests, from the acknowledgement to the end.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Raw, Struct

from mcp_gen.core.extensions.extensions import filter_of
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.notifications.subscription_limits import SubscriptionCounter, check_filter
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
    from collections.abc import Hashable

    from mcp_gen.server.context.context import Context
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire import common
    from mcp_wire.extension import Extension
    from mcp_wire.method import Method

__all__ = ["GrantedFilter", "Listeners", "ResourceWatcher"]


Loop: TypeAlias = asyncio.AbstractEventLoop
EncodedNotification: TypeAlias = "tuple[Method[Any, None], bytes]"


async def _nothing(topic: Any) -> Sequence[EncodedNotification]:
    return ()


class GrantedFilter(Struct, frozen=True):
    """Part of a subscription filter that an extension grants."""

    fields: dict[str, Any]
    """Fields for the filter of the acknowledgement."""
    topics: tuple[ChangeTopic | ExtensionTopic, ...] = ()
    partial: Callable[[Any], Awaitable[Sequence[EncodedNotification]]] = _nothing
    """Returns notifications to send at once for a topic: method and JSON params."""


class ResourceWatcher(Protocol):
    """Watches resources that other servers keep, such as mounted ones."""

    async def subscribe(self, ctx: Context, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe to resources for a holder; failures do not raise."""
        ...

    def unsubscribe(self, uris: Iterable[str], holder: Hashable) -> None:
        """End the subscriptions of a holder to resources."""
        ...


class _Listener:
    """One open `subscriptions/listen` request and its topics."""

    __slots__ = ("_loop", "_tag", "_woken", "ctx", "ended", "topics", "waiting")

    def __init__(self, ctx: Context, topics: tuple[ChangeTopic | ExtensionTopic, ...]) -> None:
        self.ctx = ctx
        self.topics = topics
        self.waiting: deque[tuple[Method[Any, None], Raw]] | None = None
        """Notifications that still have to pass hooks and middleware."""
        self.ended = False
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] = self._loop.create_future()
        self._tag = b'{"_meta":' + encode(self.meta)

    @property
    def uris(self) -> list[str]:
        """URIs of the resources among the topics."""
        wanted = updated("").wanted
        topics = (one for one in self.topics if isinstance(one, ChangeTopic))
        return [topic.uri for topic in topics if topic.wanted == wanted and topic.uri is not None]

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
        declared: Returns the capabilities whose changes can be listened to; by default those that
            the server declares.
    """

    def __init__(
        self, kernel: Kernel[Any], declared: Callable[[], frozenset[str]] | None = None
    ) -> None:
        self._kernel = kernel
        self._declared = declared or (lambda: kernel.declared_capabilities())
        # Dicts instead of sets, for their order: first come, first served.
        self._by_topic: dict[ChangeTopic | ExtensionTopic, dict[_Listener, None]] = {}
        self._by_channel: dict[Channel, tuple[_Listener, ...]] = {}
        self.extension_topics: dict[
            Extension, Callable[[Context, Any], Awaitable[GrantedFilter]]
        ] = {}
        """Functions that grant an extension's part of a filter; without one all is granted."""
        self.elsewhere: ResourceWatcher | None = None
        """Watches the resources of mounted servers; None without mounts."""
        self._counter = SubscriptionCounter(kernel.limits.peer)

    async def listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> latest.SubscriptionsListenResult:
        """Acknowledge the subscription, then send notifications until it is cancelled or ended.

        Raises:
            InvalidParams: the filter is too large, or the client has too many subscriptions.
            InvalidRequest: too many such requests of the client are open.
            MissingCapability: the client asks for topics of an extension that it has not declared.
        """
        profile, channel = ctx.profile, origin_of(ctx).channel
        check_filter(self._kernel, ctx, params.notifications)
        # Counted before anything is awaited: many may come at once.
        self._counter.open(origin_of(ctx))
        listener = _Listener(ctx, ())
        try:
            also = [one async for one in self._granted_extensions(ctx, params.notifications)]
            granted = self._granted(ctx, params.notifications, also)
            topics = (*_topics(granted), *(topic for one in also for topic in one.topics))
            self._counter.add(origin_of(ctx), topics)
            listener.topics = topics
            if self.elsewhere is not None and granted.resource_subscriptions:
                await self.elsewhere.subscribe(ctx, listener.uris, listener)
            if profile.subscription_acknowledged:
                acknowledgement = profile.subscription_acknowledged.params(
                    notifications=granted, meta=listener.meta
                )
                await sender_for(profile, channel, self._kernel, ctx).notify(
                    profile.subscription_acknowledged, acknowledgement
                )
                del acknowledgement
            self._add(listener, channel)
            for one in also:
                for topic in one.topics:
                    for method, shared in await one.partial(topic):
                        self._publish(listener, method, shared)
            # Listeners may be many and long-lived: free what they no longer need.
            del granted, params, also, topics
            while not listener.ended:
                await listener.woken()
                while listener.waiting:
                    method, raw = listener.waiting.popleft()
                    client = sender_for(profile, channel, self._kernel, ctx)
                    await client.notify(method, method.decode_params(raw))
        except asyncio.CancelledError:
            # While the client listens, it is the server that ends: that is a result.
            if not channel.answers(ctx.request_id):
                raise
        finally:
            self._counter.close(origin_of(ctx), listener.topics)
            self._remove(listener, channel)
            if self.elsewhere is not None:
                self.elsewhere.unsubscribe(listener.uris, listener)
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
        declared = self._declared()
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

    def topics(self) -> list[ChangeTopic]:
        """Return the lists and resources that requests listen to."""
        return [topic for topic in self._by_topic if isinstance(topic, ChangeTopic)]

    def has_listeners(self, topic: ChangeTopic | ExtensionTopic) -> bool:
        """Return True if a request listens to the topic."""
        return topic in self._by_topic

    def _publish(self, listener: _Listener, method: Method[Any, None], shared: bytes) -> None:
        params = listener.params(shared)
        if is_watched(self._kernel, method):
            if listener.waiting is None:
                listener.waiting = deque()
            listener.waiting.append((method, params))
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
