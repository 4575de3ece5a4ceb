"""Change notifications to sessions and to `subscriptions/listen` requests: `server.notify`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from weakref import WeakSet

from msgspec import UNSET
from msgspec.structs import replace

from mcp_gen.core.errors import MethodNotFound
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.notifications.listeners import Listeners
from mcp_gen.server.notifications.topics import (
    PROMPTS,
    RESOURCES,
    TOOLS,
    ChangeTopic,
    ExtensionTopic,
    encode_topic,
    is_watched,
    send,
    updated,
)
from mcp_gen.session.kernel.errors import log_background_error
from mcp_gen.session.messages.channel import NullChannel
from mcp_gen.session.peer.session import sender_for
from mcp_wire import encode
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.peer.session import Session
    from mcp_wire import common
    from mcp_wire.method import Method

__all__ = [
    "ExtensionListeners",
    "Notifier",
    "OuterServer",
    "SharedNotifications",
    "SubscriptionHandlers",
]

P = TypeVar("P")
Loop: TypeAlias = asyncio.AbstractEventLoop
_Changes: TypeAlias = "dict[tuple[ChangeTopic, Session | None], None]"
"""Coalesced changes, in order; each for one session, or for all (None)."""


class OuterServer(Protocol):
    """Server in which another server is mounted."""

    def on_change(self, topic: ChangeTopic, session: Session | None) -> None:
        """Handle a change of the mounted server, for one session or for all."""
        ...

    def on_declared(self) -> None:
        """Handle that the mounted server declares more capabilities."""
        ...

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """Handle that a URL elicitation is complete."""
        ...


class SharedNotifications(Protocol):
    """Publishes notifications to all nodes of a cluster, this one too."""

    def change(self, topic: ChangeTopic, loop: Loop) -> bool:
        """Publish a change; return False if the clients here are to be told at once."""
        ...

    def notice(
        self, topic: ExtensionTopic, method: Method[Any, None], params: bytes, loop: Loop
    ) -> bool:
        """Publish a notification of an extension; return False as `change` does."""
        ...

    def completion(self, elicitation_id: str) -> None:
        """Publish that a URL elicitation is complete which went to no session here."""
        ...


class Notifier:
    """Sends change notifications to clients: `server.notify`.

    Until 2025-11-25 they go to sessions, from 2026-07-28 to open `subscriptions/listen` requests.
    `list_changed` and `resources/updated` notifications are coalesced: a change that is repeated
    within one turn of the event loop is sent once. The methods may be called from any thread, also
    while nothing is served; then nothing is sent.

    Args:
        kernel: The kernel of the server.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
    """

    def __init__(self, kernel: Kernel[Any]) -> None:
        self._kernel = kernel
        self._listeners = Listeners(kernel)
        self._lock = Lock()
        self._pending: dict[Loop, _Changes] = {}
        self._sending: dict[Channel, set[asyncio.Task[None]]] = {}
        self.outer_servers: WeakSet[OuterServer] = WeakSet()
        """Servers in which this one is mounted; their clients are notified too."""
        self.shared: SharedNotifications | None = None
        """Notifications of all nodes of a cluster; None without one."""
        self.on_change: list[Callable[[ChangeTopic], None]] = []
        """Functions called with each change at once, on the thread that publishes it."""
        kernel.on_connection_end.append(self._on_connection_end)

    @property
    def listeners(self) -> Listeners:
        """The open `subscriptions/listen` requests."""
        return self._listeners

    def tool_list_changed(self) -> None:
        """Send `notifications/tools/list_changed`.

        Adding and removing tools does this automatically.
        """
        self.publish(TOOLS)

    def prompt_list_changed(self) -> None:
        """Send `notifications/prompts/list_changed`.

        Adding and removing prompts does this automatically.
        """
        self.publish(PROMPTS)

    def resource_list_changed(self) -> None:
        """Send `notifications/resources/list_changed`, for resources and templates.

        Adding and removing them does this automatically.
        """
        self.publish(RESOURCES)

    def resource_updated(self, uri: str) -> None:
        """Send `notifications/resources/updated` to subscribers of exactly this URI.

        Call it as well for each other resource whose contents change with it, such as a folder: a
        URI does not show which resources contain it.

        Args:
            uri: The URI of the resource.
        """
        self.publish(updated(uri))

    def end_listening(self) -> None:
        """End all `subscriptions/listen` requests with their results; new ones may come."""
        self._listeners.end()

    def listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> Awaitable[common.SubscriptionsListenResult]:
        """Answer a `subscriptions/listen` request; it returns when the subscription ends."""
        return self._listeners.listen(ctx, params)

    def extension_listeners(self, **of: Any) -> ExtensionListeners:
        """Return the listeners of a topic of an extension, to send its notifications to.

            listeners = server.notify.extension_listeners(parcel_ids="1")
            await ToClient(listeners).notify_parcel_moved("1")

        Args:
            of: One field that the extension adds to the subscription filter, by its Python name,
                and the value that it must have, or contain if it is a list.

        Raises:
            ValueError: not exactly one field.
        """
        ((field, value),) = of.items()
        return ExtensionListeners(self, self._kernel, ExtensionTopic(field, value))

    # --- coalescing ---

    def publish(self, topic: ChangeTopic, session: Session | None = None) -> None:
        """Publish a change, for one session or for all; from any thread."""
        # Most have none, and to go through a weak set takes longer than all else here.
        if self.outer_servers:
            for mount in list(self.outer_servers):
                mount.on_change(topic, session)
        for call in self.on_change:
            call(topic)
        loops = self._kernel.loops
        if not loops:
            return
        here = _running_loop()
        with self._lock:
            for loop in list(loops):
                changes = self._pending.get(loop)
                if changes is not None and not loop.is_closed():
                    changes[topic, session] = None
                elif self._schedule(loop, here):
                    self._pending[loop] = {(topic, session): None}
                else:
                    loops.discard(loop)
                    self._pending.pop(loop, None)

    def _schedule(self, loop: Loop, here: Loop | None) -> bool:
        """Schedule sending on a loop; return False if the loop is closed."""
        try:
            (loop.call_soon if loop is here else loop.call_soon_threadsafe)(
                self._send_changes, loop
            )
        except RuntimeError:
            return False  # the loop is closed
        return True

    def _send_changes(self, loop: Loop) -> None:
        with self._lock:
            changes = self._pending.pop(loop, {})
        for topic, session in changes:
            if session is not None:
                self._notify_sessions(topic, [session], loop)
            elif self.shared is None or not self.shared.change(topic, loop):
                self.deliver(topic, loop)

    def deliver(self, topic: ChangeTopic, loop: Loop) -> None:
        """Send a change to the clients of one event loop of this process."""
        self._notify_sessions(topic, list(self._kernel.sessions), loop)
        self._listeners.publish(topic, loop)

    def publish_notice(
        self, topic: ExtensionTopic, method: Method[Any, None], params: bytes, loop: Loop
    ) -> None:
        """Send a notification of an extension; see `Listeners.publish_extension`."""
        if self.shared is None or not self.shared.notice(topic, method, params, loop):
            self._listeners.publish_extension(topic, method, params, loop)

    # --- to sessions ---

    def changed_in(self, session: Session, topic: ChangeTopic) -> None:
        """Publish a list change for one session."""
        self.publish(topic, session)

    def _notify_sessions(self, topic: ChangeTopic, sessions: Iterable[Session], loop: Loop) -> None:
        shared = None if self.shared is None else encode_topic(topic)
        for session in sessions:
            if session.loop is not loop or topic.capability not in session.declared:
                continue
            subscribed = session.__dict__.get("subscribed", ())
            is_wanted = topic.uri is None or topic.uri in subscribed
            if shared is not None and session.defers(shared, is_wanted=is_wanted):
                continue
            if not is_wanted:
                continue
            if session.initialized:
                self._notify_session(session, topic)
            else:
                session.when_initialized(topic, partial(self._notify_session, session, topic))

    def _notify_session(self, session: Session, topic: ChangeTopic) -> None:
        profile = session.profile
        assert profile is not None
        method = topic.notification(profile)
        if method is None:
            return
        params = UNSET if topic.uri is None else method.params(uri=topic.uri)
        if not is_watched(self._kernel, method):
            send(session.channel, method, params)
            return
        params = method.params() if params is UNSET else params
        client = sender_for(profile, session.channel, self._kernel, session)
        task = asyncio.get_running_loop().create_task(client.notify(method, params))
        self._sending.setdefault(session.channel, set()).add(task)
        task.add_done_callback(partial(self._sent, session.channel))

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """Send `notifications/elicitation/complete` to the session that the elicitation went to.

        It is not sent at revisions that lack it.

        Args:
            elicitation_id: The id of the URL elicitation.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        if not await self.complete_here(elicitation_id) and self.shared is not None:
            self.shared.completion(elicitation_id)
        for mount in list(self.outer_servers):
            await mount.elicitation_complete(elicitation_id)

    async def complete_here(self, elicitation_id: str) -> bool:
        """Tell the session of this process that a URL elicitation went to, if it did to one."""
        found = False
        for session in list(self._kernel.sessions):
            if elicitation_id in session.elicitations:
                found = True
                del session.elicitations[elicitation_id]
                await session.client.notify_elicitation_complete(elicitation_id)
        return found

    def _sent(self, channel: Channel, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log_background_error("a notification could not be sent", error)
        busy = self._sending.get(channel, set[asyncio.Task[None]]())
        busy.discard(task)
        if not busy:
            self._sending.pop(channel, None)

    def _on_connection_end(self, channel: Channel) -> None:
        """End the subscriptions of a connection, and drop its pending notifications."""
        self._listeners.end(channel)
        for task in list(self._sending.get(channel, ())):
            task.cancel()


class ExtensionListeners:
    """Listeners of one topic of an extension; pass them to `ToClient` of its package.

    Args:
        notifier: The notifier of the server.
        kernel: The kernel of the server.
        topic: The topic.
    """

    def __init__(self, notifier: Notifier, kernel: Kernel[Any], topic: ExtensionTopic) -> None:
        self._notifier = notifier
        self._kernel = kernel
        self._topic = topic

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification to the listeners; see `publish`."""
        self.publish(method, params)

    def publish(self, method: Method[P, None], params: P) -> None:
        """Send a notification to the listeners in the next turn of their event loops.

        May be called from any thread. `_meta` of the params is replaced by that of each
        subscription.

        Args:
            method: The notification of the extension.
            params: Its params.
        """
        given: Any = params
        shared, here = encode(replace(given, meta=None)), _running_loop()
        for loop in list(self._kernel.loops):
            call = loop.call_soon if loop is here else loop.call_soon_threadsafe
            with contextlib.suppress(RuntimeError):  # the loop is closed
                call(self._notifier.publish_notice, self._topic, method, shared, loop)


def _running_loop() -> Loop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class SubscriptionHandlers(ServerHandlers[Any]):
    """Handler of `subscriptions/listen`."""

    notify: Notifier

    def subscriptions_listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> Awaitable[common.SubscriptionsListenResult]:
        """Handle `subscriptions/listen`.

        Raises:
            MethodNotFound: the transport carries responses only (JSON without streams).
        """
        if isinstance(origin_of(ctx).channel, NullChannel):
            raise MethodNotFound("this transport carries nothing but answers: poll instead")
        # Not awaited here: saves one frame per open request.
        return self.notify.listen(ctx, params)
