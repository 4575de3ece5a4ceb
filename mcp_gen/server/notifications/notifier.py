"""What has changed, told to every client that wants to know: sessions and listening requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Iterable
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
    is_watched,
    send,
    updated,
)
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

__all__ = ["ExtensionListeners", "Notifier", "OuterServer", "SubscriptionHandlers"]

_log = logging.getLogger("mcp_gen.server")
P = TypeVar("P")
Loop: TypeAlias = asyncio.AbstractEventLoop
_Changes: TypeAlias = "dict[tuple[ChangeTopic, Session | None], None]"
"""What has changed, in order and each once; for one session, or for all who want to know."""


class OuterServer(Protocol):
    """The place where a server is mounted."""

    def changed(self, topic: ChangeTopic, session: Session | None) -> None:
        """Something of the mounted server has changed, for one session or for all."""
        ...

    def declared(self) -> None:
        """The mounted server declares more than before."""
        ...

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """A user is done at a URL."""
        ...


class Notifier:
    """Tells clients what has changed: `server.notify`.

    Sessions are told until 2025-11-25, and from 2026-07-28 on those requests that listen. What
    changes in one turn of the event loop is told once. Any thread may call these methods, also
    where nothing is served yet: then there is nobody to tell.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
    """

    def __init__(self, kernel: Kernel[Any]) -> None:
        self._kernel = kernel
        self._listeners = Listeners(kernel)
        self._lock = Lock()
        self._waiting: dict[Loop, _Changes] = {}
        self._busy: dict[Channel, set[asyncio.Task[None]]] = {}
        self.outer_servers: WeakSet[OuterServer] = WeakSet()
        """Where this server is mounted: those who use it there are told too."""
        kernel.on_connection_end.append(self._ended)

    @property
    def listeners(self) -> Listeners:
        """The requests that listen."""
        return self._listeners

    def tool_list_changed(self) -> None:
        """The list of tools is another one. Adding and removing tools says so by itself."""
        self.publish(TOOLS)

    def prompt_list_changed(self) -> None:
        """The list of prompts is another one. Adding and removing prompts says so by itself."""
        self.publish(PROMPTS)

    def resource_list_changed(self) -> None:
        """The list of resources, or of templates, is another one; adding and removing say so."""
        self.publish(RESOURCES)

    def resource_updated(self, uri: str) -> None:
        """A resource reads differently now: told to those who have subscribed to this very URI.

        What else it is a part of is told by calls of its own: what a URI contains is not written
        in it.
        """
        self.publish(updated(uri))

    def end_listening(self) -> None:
        """End every request that listens, in good order; new ones may come."""
        self._listeners.end()

    def listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> Awaitable[common.SubscriptionsListenResult]:
        """What a request to listen is answered with, when it ends."""
        return self._listeners.listen(ctx, params)

    def extension_listeners(self, **of: Any) -> ExtensionListeners:
        """Those who listen to something of an extension, to be told what it has for them.

            listeners = server.notify.extension_listeners(parcel_ids="1")
            await ToClient(listeners).notify_parcel_moved("1")

        `of` is one field that the extension adds to what clients ask to hear of, by its Python
        name, and what must be under it, or among what is.

        Raises:
            ValueError: not one field.
        """
        ((field, value),) = of.items()
        return ExtensionListeners(self._listeners, self._kernel, ExtensionTopic(field, value))

    # --- one burst of changes, one message ---

    def publish(self, topic: ChangeTopic, session: Session | None = None) -> None:
        """Something has changed, for one session or for all."""
        for mount in list(self.outer_servers):
            mount.changed(topic, session)
        loops = self._kernel.loops
        if not loops:
            return
        here = _running_loop()
        with self._lock:
            for loop in list(loops):
                changes = self._waiting.get(loop)
                if changes is not None and not loop.is_closed():
                    changes[topic, session] = None
                elif self._soon(loop, here):
                    self._waiting[loop] = {(topic, session): None}
                else:
                    loops.discard(loop)
                    self._waiting.pop(loop, None)

    def _soon(self, loop: Loop, here: Loop | None) -> bool:
        """Whether what has changed will be told on a loop."""
        try:
            (loop.call_soon if loop is here else loop.call_soon_threadsafe)(self._share, loop)
        except RuntimeError:
            return False  # it is closed
        return True

    def _share(self, loop: Loop) -> None:
        with self._lock:
            changes = self._waiting.pop(loop, {})
        for topic, session in changes:
            if session is None:
                self._notify_sessions(topic, list(self._kernel.sessions), loop)
                self._listeners.publish(topic, loop)
            else:
                self._notify_sessions(topic, [session], loop)

    # --- to sessions ---

    def changed_in(self, session: Session, topic: ChangeTopic) -> None:
        """A list is another one for one session."""
        self.publish(topic, session)

    def _notify_sessions(self, topic: ChangeTopic, sessions: Iterable[Session], loop: Loop) -> None:
        for session in sessions:
            if session.loop is not loop or topic.capability not in session.declared:
                continue
            if topic.uri and topic.uri not in session.__dict__.get("subscribed", ()):
                continue
            if session.initialized:
                self._notify_session(session, topic)
            else:
                session.when_initialized(topic, partial(self._notify_session, session, topic))

    def _notify_session(self, session: Session, topic: ChangeTopic) -> None:
        profile = session.profile
        method = topic.notification(profile) if profile else None
        if profile is None or method is None:
            return
        params = method.params(uri=topic.uri) if topic.uri else UNSET
        if not is_watched(self._kernel, method):
            send(session.channel, method, params)
            return
        params = method.params() if params is UNSET else params
        client = sender_for(profile, session.channel, self._kernel, session)
        task = asyncio.get_running_loop().create_task(client.notify(method, params))
        self._busy.setdefault(session.channel, set()).add(task)
        task.add_done_callback(partial(self._sent, session.channel))

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """The user is done at a URL: told to the session that was asked, if its revision says so.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        for session in list(self._kernel.sessions):
            if elicitation_id in session.elicitations:
                del session.elicitations[elicitation_id]
                await session.client.notify_elicitation_complete(elicitation_id)
        for mount in list(self.outer_servers):
            await mount.elicitation_complete(elicitation_id)

    def _sent(self, outlet: Channel, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            _log.error("a notification could not be sent", exc_info=error)
        busy = self._busy.get(outlet, set[asyncio.Task[None]]())
        busy.discard(task)
        if not busy:
            self._busy.pop(outlet, None)

    def _ended(self, outlet: Channel) -> None:
        """A connection ends: who listens on it is answered; what hooks hold back is not sent."""
        self._listeners.end(outlet)
        for task in list(self._busy.get(outlet, ())):
            task.cancel()


class ExtensionListeners:
    """Those who listen to something of an extension; for `ToClient` of its package."""

    def __init__(self, listeners: Listeners, kernel: Kernel[Any], topic: ExtensionTopic) -> None:
        self._listeners = listeners
        self._kernel = kernel
        self._topic = topic

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send them a notification; see `tell`."""
        self.publish(method, params)

    def publish(self, method: Method[P, None], params: P) -> None:
        """Send them a notification with the next turn of their event loops; on any thread.

        `_meta` of the params says to which subscription it belongs, and nothing else.
        """
        given: Any = params
        shared, here = encode(replace(given, meta=None)), _running_loop()
        for loop in list(self._kernel.loops):
            soon = loop.call_soon if loop is here else loop.call_soon_threadsafe
            with contextlib.suppress(RuntimeError):  # it is closed
                soon(self._listeners.publish_extension, self._topic, method, shared, loop)


def _running_loop() -> Loop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class SubscriptionHandlers(ServerHandlers[Any]):
    """What a server answers to those who want to hear of changes."""

    notify: Notifier

    def subscriptions_listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> Awaitable[common.SubscriptionsListenResult]:
        """subscriptions/listen"""
        if isinstance(origin_of(ctx).channel, NullChannel):
            raise MethodNotFound("this transport carries nothing but answers: poll instead")
        # Not awaited here: each open request would keep one more frame.
        return self.notify.listen(ctx, params)
