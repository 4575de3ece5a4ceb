"""One session with the server behind a bridge, for the clients that share it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mcp_gen.compat.bridge.callers import SessionCaller, StatelessCaller
from mcp_gen.compat.bridge.forwarding import BridgeForwarder
from mcp_gen.core.errors import McpGenError
from mcp_gen.core.projection.project import restate
from mcp_gen.server.notifications.listeners import Listeners
from mcp_gen.server.notifications.topics import LISTS, send, updated
from mcp_gen.server.relaying.methods import row
from mcp_gen.server.relaying.subscriptions import RemoteSubscriptions
from mcp_gen.session.peer.log_levels import severity_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterable, Sequence

    from mcp_gen.client.client import Client
    from mcp_gen.client.connecting.relay import ClientSessionRelay
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.compat.bridge.restating import LossLog
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.topics import ChangeTopic
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.server.relaying.suspended_calls import SuspendedCalls
    from mcp_gen.server.server import Server
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.peer.session import Session
    from mcp_wire import latest
    from mcp_wire.method import Method

__all__ = ["Upstream"]

_log = logging.getLogger("mcp_gen.bridge")


class Upstream:
    """One session with the server: of one client's session, or of all clients that are alike.

    Args:
        client: The client that opened it, with the capabilities of those it stands for.
        session: The session.
        server: The server that clients of the bridge see.
        declared: The capabilities.
        suspended: Calls that wait for answers of clients.
        losses: Logs what a revision cannot say.
    """

    def __init__(
        self,
        client: Client,
        session: ClientSession,
        server: Server,
        *,
        declared: latest.ClientCapabilities,
        suspended: SuspendedCalls,
        losses: LossLog,
    ) -> None:
        self._client = client
        self._server = server
        self._losses = losses
        self.session = session
        self.relay = cast("ClientSessionRelay", session.__mcp_relay__())
        self.owner: Session | None = None
        """The session of the one client that it belongs to; None if it is shared."""
        self._stateless = StatelessCaller(declared)
        self.relay.otherwise = self._stateless
        self.forwarder = BridgeForwarder(self.relay, suspended, losses, self._keep_roots)
        self.subscriptions = RemoteSubscriptions(self.relay, "bridge")
        self.listeners = Listeners(server.runtime.kernel, self._changing)
        self.listeners.elsewhere = self
        self.listeners.extension_topics = server.notify.listeners.extension_topics
        server.runtime.kernel.on_connection_end.append(self.listeners.end)
        self._loop = asyncio.get_running_loop()
        self._watching: asyncio.Task[None] | None = None
        self._log_level: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = 0
        self.used_at = self._loop.time()
        """Time of the event loop at which it was used last."""
        self.relay.add(self)

    def _keep_roots(self, roots: list[latest.Root]) -> None:
        self._stateless.roots = roots

    def belong_to(self, session: Session) -> None:
        """Give it to the session of one client: that client gets what belongs to no call."""
        self.owner = session
        self.relay.otherwise = SessionCaller(self._server, session)
        self.watch_lists()

    @property
    def is_idle(self) -> bool:
        """True if no call is open and nobody waits for its notifications."""
        return not self._open and self.owner is None and not self.relay.has_calls

    async def call(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Forward a request and return its result.

        Raises:
            McpError: The error of the server, or that it cannot be reached.
            MethodNotFound: Its revision has no such request.
        """
        # As `in_use` does it, which takes longer: this is the path of every call.
        self._open += 1
        try:
            if self.relay.is_lost:
                await self._reconnect()
            level = ctx.profile.log_level_key
            if level is not None and ctx.meta and level in ctx.meta:
                await self._lower_log_level(ctx.meta[level])
            return await self.forwarder.call(ctx, what, params)
        finally:
            self._open -= 1
            self.used_at = self._loop.time()

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Keep the session open: somebody is about to use it."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self.used_at = self._loop.time()

    async def call_extension(self, ctx: Context, method: Method[Any, Any], params: Any) -> Any:
        """Forward a request of an extension and return its result.

        Raises:
            McpError: The error of the server, or that it cannot be reached.
            MethodNotFound: The server speaks another revision.
        """
        with self.in_use():
            if self.relay.is_lost:
                await self._reconnect()
            return await self.forwarder.call_extension(ctx, method, params)

    async def _reconnect(self) -> None:
        try:
            await self.relay.ready()
        except McpGenError as error:
            raise self.forwarder.unavailable(error) from error

    async def roots_changed(self) -> None:
        """Tell the server that the roots of the client have changed, if its revision has that."""
        if self.relay.profile.roots_changed is not None and not self.relay.is_lost:
            with suppress(McpGenError):
                await self.session.notify_roots_list_changed()

    # --- log levels ---

    async def _lower_log_level(self, level: str) -> None:
        """Make the server send log messages of a level that one request wants.

        Where sessions set the level, it is only ever lowered: each request gets its own.
        """
        profile = self.relay.profile
        method = row("set_level", profile.revision)
        known = self._log_level
        if method is None or getattr(self.relay.capabilities, "logging", None) is None:
            return
        if known is not None and severity_of(profile, known) <= severity_of(profile, level):
            return
        self._log_level = level
        with suppress(McpGenError):
            await self.relay.request(method, method.params(level=level, meta={}))

    async def set_level(self, ctx: Context, params: Any) -> Any:
        """Set the log level of a session: at the server, or with each of the next requests."""
        if ctx.session is not None:
            ctx.session.log_level = params.level
            ctx.session.unsaved = True
        if row("set_level", self.relay.profile.revision) is None:
            return None
        return await self.call(ctx, "set_level", params)

    # --- subscriptions ---

    def _changing(self) -> frozenset[str]:
        """Return the capabilities whose changes the server tells of."""
        declared = self.relay.capabilities
        found = {
            topic.capability
            for topic in LISTS
            if getattr(getattr(declared, topic.capability, None), "list_changed", None)
        }
        resources = getattr(declared, "resources", None)
        if resources is not None and resources.subscribe:
            found.add(updated("").capability)
        return frozenset(found)

    async def listen(self, ctx: Context, params: Any) -> Any:
        """Answer `subscriptions/listen` when the subscription ends."""
        with self.in_use():
            if self.relay.is_lost:
                await self._reconnect()
            self.watch_lists()
            ended = await self.listeners.listen(ctx, params)
            return self.forwarder.with_identity(ended, ctx.revision)

    async def subscribe(self, ctx: Context, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe to resources for a holder; what the server refuses is logged."""
        try:
            await self.subscriptions.hold_subscriptions(uris, holder)
        except McpGenError as error:
            _log.warning("a listener asked for %s, which is not watched: %s", uris[0], error)

    def unsubscribe(self, uris: Iterable[str], holder: Hashable) -> None:
        """End subscriptions of a holder."""
        self.subscriptions.release_subscriptions(uris, holder)

    def watch_lists(self) -> None:
        """Hear of changes of lists from now on, where the server's revision asks for it."""
        if self.relay.profile.listen is None or (self._watching and not self._watching.done()):
            return
        if self._changing() & {topic.capability for topic in LISTS}:
            self._watching = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        try:
            async with self.relay.watch(lists=True) as changes:
                async for _ in changes:
                    pass  # `on_notification` has handled it
        except McpGenError as error:
            _log.debug("changes of lists are not heard of: %s", error)

    # --- notifications of the server ---

    def on_notification(self, news: str, params: Any) -> None:
        """Pass on a notification to the clients that it is for."""
        if news == "resource_updated":
            self._publish(updated(params.uri), params)
        elif news == "elicitation_complete":
            self._run(self._server.notify.elicitation_complete(params.elicitation_id))
        elif news == "log" and self.owner is not None:
            self._run(self.owner.log(params.level, params.data, logger=params.logger))
        elif news == "task_status":
            self._tell_owner(news, params)
        if news == "tools_changed":
            self.forwarder.tools.forget()
        for topic in LISTS:
            if topic.role == news:
                self._publish(topic, params)

    def session_recreated(self) -> None:
        """Tell of all lists: the server has lost the state of the session."""
        self._log_level = None
        self.forwarder.tools.forget()
        self.subscriptions.session_recreated()
        for topic in LISTS:
            if topic.capability in self._changing():
                self._publish(topic, None)

    def _publish(self, topic: ChangeTopic, params: Any) -> None:
        if self.owner is not None:
            self._tell_owner(topic.role, params)
        else:
            self.listeners.publish(topic, self._loop)

    def _tell_owner(self, role: str, params: Any) -> None:
        owner = self.owner
        if owner is not None:
            # Only the newest of those that say the same waits for the end of the handshake.
            key = (role, getattr(params, "uri", None))
            owner.when_initialized(key, partial(self._tell, owner, role, params))

    def _tell(self, owner: Session, role: str, params: Any) -> None:
        profile = owner.profile
        method = getattr(profile, role, None)
        if profile is None or method is None:
            return
        given = method.params() if params is None else restate(params, profile.revision).value
        send(owner.channel, method, given)

    def _run(self, work: Any) -> None:
        task = self._loop.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """End the session and everything that waits for it."""
        ends: list[Callable[[Channel], None]] = self._server.runtime.kernel.on_connection_end
        if self.listeners.end in ends:
            ends.remove(self.listeners.end)
        self.relay.discard(self)
        self.subscriptions.close()
        self.listeners.end()
        for task in [self._watching, *self._tasks]:
            if task is not None:
                task.cancel()
        await self._client.aclose()


async def _quietly(work: Any) -> None:
    try:
        await work
    except McpGenError as error:
        _log.debug("a notification could not be passed on: %s", error)
