"""One server being used: the same calls whatever revision it speaks."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import mcp_wire
from mcp_gen.client.requests.cache import ResponseCache
from mcp_gen.client.requests.pages import walk_pages
from mcp_gen.client.session.incoming import IncomingMessages
from mcp_gen.client.session.internal_calls import InternalCalls
from mcp_gen.client.session.recovery import READS, Recovery, SessionControl
from mcp_gen.client.session.tool_calls import ToolCalls
from mcp_gen.client.subscriptions.elicitation_completions import ElicitationCompletions
from mcp_gen.client.subscriptions.watch import ChangeWatch, Subscriptions, check_extension_filters
from mcp_gen.client.tasks.tasks import TaskCalls
from mcp_gen.client.tools.typed_results import TypedResults
from mcp_gen.core.errors import McpError, SessionLost, UsageError
from mcp_gen.core.extensions.extensions import SERVER, carries, declared, owner_of
from mcp_gen.session.messages.sender import RevisionAdapter
from mcp_wire import latest
from mcp_wire.callers import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence

    from msgspec import Struct

    from mcp_gen.client.requests.settings import SessionOptions
    from mcp_gen.client.session.incoming import SessionRelays
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.errors import UrlElicitation
    from mcp_gen.core.projection.closed import ClosedViolation
    from mcp_gen.core.relay import Relay
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire.callers import OnProgress
    from mcp_wire.extension import Extension
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ClientSession"]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("mcp_gen.client")


class ClientSession(ToolCalls):
    """A server, and what was agreed with it. Made by `Client.connect`.

    Results come as the newest types, or as those of the revision that was pinned or asked for.
    Where the server can be started anew, one that went away is, with the next request; requests
    that only read are made again. Of any other request nobody knows what became of it: it raises
    SessionLost.
    """

    def __init__(
        self,
        link: ClientConnection,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
        options: SessionOptions,
        report: Callable[[ClientSession, ClientConnection, str, ClosedViolation], None],
        make_relay: Callable[[ClientSession], SessionRelays],
        on_created: Callable[[SessionControl], None],
    ) -> None:
        settings = options.settings
        self._options = options
        self._report = report
        self._make_relay = make_relay
        self._log_level: latest.LoggingLevel | None = settings.log_level
        self._visits = ElicitationCompletions()
        self._recovery = Recovery()
        self._internal = InternalCalls(self, options, self._recovery)
        self._returns = TypedResults(self)
        self._tasks = TaskCalls(
            self._internal, settings, self._returns, declared=options.declares_tasks
        )
        self.subscriptions = Subscriptions(self)
        """The resources that are watched, where each is subscribed to by a request."""
        self.watches = self.subscriptions.watches
        """The watches that are open."""
        self._incoming = IncomingMessages(
            self._tasks, self._returns, self._visits, self.subscriptions
        )
        self._bind(link, profile, results_at=results_at, meta=meta, opening=opening)
        on_created(SessionControl(self._bind, self._begin, self._session_recreated))

    def _bind(
        self,
        link: ClientConnection,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
    ) -> None:
        """Use this connection from now on, on which something has just been agreed."""
        settings = self._options.settings
        self._link = self._recovery.link = link
        link.max_wait_s = settings.max_timeout_s
        if settings.validation != "lenient":
            link.on_violation = partial(self._report, self, link)
        clock = asyncio.get_running_loop().time
        self.cache = ResponseCache(
            profile, settings.max_cached_results, clock=clock, principal=lambda: link.principal
        )
        """What the server said that still holds good; `cache.clear()` forgets it."""
        self._returns.forget()
        self.subscriptions.forget()
        sender, calls = self._internal.attach(
            link, profile, results_at, self.cache, self._tasks.await_task_call
        )
        self._sender = sender
        RevisionAdapter.__init__(self, profile, calls, meta)
        self._incoming.attach(link, self.cache, sender)
        self._tasks.bound()
        self.default_timeout_s = settings.timeout_s
        self.opening = opening
        """The server's answer to the handshake, or to the question what it speaks."""
        if self._incoming.relay is not None:
            self._incoming.relay.session_recreated()

    # --- what was agreed ---

    @property
    def server_info(self) -> Any:
        """The server's Implementation; None where it does not say."""
        key = self.profile.server_info_key
        if key is None:
            return self.opening.server_info
        meta: dict[str, Any] = self.opening.meta or {}
        info = meta.get(key)
        return info and msgspec.convert(info, mcp_wire.types(self.revision).Implementation)

    @property
    def server_capabilities(self) -> Any:
        """What the server declared."""
        return self.opening.capabilities

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used."""
        instructions: str | None = self.opening.instructions
        return instructions

    @property
    def is_lost(self) -> bool:
        """Whether the connection has ended: what is asked then needs a new one."""
        return self._link.is_lost

    @property
    def principal(self) -> Hashable:
        """Whom the session speaks for now; None where its transport does not tell."""
        return self._link.principal

    def __mcp_relay__(self) -> Relay:
        """Return the relay for calls that others make: see `Server.mount`."""
        if self._incoming.relay is None:
            self._incoming.relay = self._make_relay(self)
        return self._incoming.relay

    # --- extensions ---

    def declares(self, extension: Extension) -> dict[str, Any] | None:
        """The settings with which the server declared an extension; None if it did not.

        Where the revision that is spoken does not carry the extension, no server can.
        """
        return declared(extension, self.server_capabilities, self.profile, SERVER)

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> R:
        """Send a request of an extension; typed calls: `ToServer(session)` of its package.

        Raises:
            UsageError: the client was made without the extension, or the revision lacks it.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        self._check_carried(method)
        link = self._link
        if link.is_lost:
            await self._recovery.restart(link)
            self._check_carried(method)
        return await self._sender.request(
            method,
            self._with_meta(params),
            timeout_s=self.default_timeout_s if timeout_s is None else timeout_s,
            progress=progress,
        )

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification of an extension; see `request`."""
        self._check_carried(method)
        await self._sender.notify(method, params)

    def _check_carried(self, method: Method[Any, Any]) -> None:
        if not carries(owner_of(self._options.extensions, method), self.profile):
            raise UsageError(f"{self.revision} has no {method.name}")

    def _with_meta(self, params: P) -> P:
        given: Any = params
        made: P = msgspec.structs.replace(given, meta=self._with_identity(given.meta))
        return made

    # --- lists ---

    def tools(self) -> AsyncIterator[latest.Tool]:
        """All of the server's tools, page after page.

        Raises, as the other lists do, ProtocolError: more pages than `max_pages` of the client, or
        a cursor that leads back.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
        """
        most = self._options.settings.max_pages
        return walk_pages("tools", self.list_tools, lambda page: page.tools, most)

    def resources(self) -> AsyncIterator[latest.Resource]:
        """All of the server's resources, page after page."""
        most = self._options.settings.max_pages
        return walk_pages("resources", self.list_resources, lambda page: page.resources, most)

    def resource_templates(self) -> AsyncIterator[latest.ResourceTemplate]:
        """All of the server's resource templates, page after page."""
        most = self._options.settings.max_pages
        return walk_pages(
            "resource templates",
            self.list_resource_templates,
            lambda page: page.resource_templates,
            most,
        )

    def prompts(self) -> AsyncIterator[latest.Prompt]:
        """All of the server's prompts, page after page."""
        most = self._options.settings.max_pages
        return walk_pages("prompts", self.list_prompts, lambda page: page.prompts, most)

    # --- changes ---

    def watch(
        self,
        *uris: str,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        also: Sequence[Struct] = (),
    ) -> ChangeWatch:
        """Hear when resources change, and when there are other tools, prompts or resources.

            async with session.watch("file:///a", tools=True) as changes:
                async for change in changes: ...

        `uris` are the resources; `changes.honoured` says what the server will tell of. `also` is
        what extensions add to that, each as the type that its EXTENSION names as `wanted`; what
        then comes goes to the hooks of the extension, and `changes.agreed(EXTENSION)` says of what.

        Raises:
            UsageError: nothing to watch, or what no extension of this client lets it hear of.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
        """
        check_extension_filters(also, self._options.extensions, self.profile)
        if not (uris or tools or prompts or resources or also):
            raise UsageError("watch: name the URIs of resources, or give `tools=True` or the like")
        wanted = latest.SubscriptionFilter(
            tools_list_changed=tools or None,
            prompts_list_changed=prompts or None,
            resources_list_changed=resources or None,
            resource_subscriptions=list(dict.fromkeys(uris)) or None,
        )
        return ChangeWatch(self, self.subscriptions, wanted, also)

    @property
    def declares_roots(self) -> bool:
        """True if the client has declared to this server that it has roots."""
        return self._options.has_roots

    async def listen(
        self,
        wanted: latest.SubscriptionFilter,
        opened: Callable[[RequestId], None],
        also: Sequence[Struct] = (),
    ) -> None:
        """Keep a request open that hears of changes; `opened` is told its id. See `watch`."""
        await self._internal.listen(wanted, opened, also)

    async def set_level(
        self,
        level: latest.LoggingLevel,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Any:
        """Set the least severe level of log messages that the server sends.

        Hooks `on_logging_message` get the messages. Until 2025-11-25 this sends logging/setLevel;
        from 2026-07-28 every later request carries the level. It is kept when the session is
        connected to again.

        Args:
            level: The least severe level to send.
            meta: More keys for the `_meta` of the request, where one is sent.
            timeout_s: Seconds after which the request is cancelled; None: the session's own limit.
            progress: Called on each progress notification of the request.

        Returns:
            The empty result of logging/setLevel; None where no request is sent.

        Raises:
            McpError: the server has no log messages.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
        """
        self._log_level = level
        key = self.profile.log_level_key
        if key is None:
            return await super().set_level(level, meta=meta, timeout_s=timeout_s, progress=progress)
        self._meta = {**(self._meta or {}), key: level}
        return None

    async def _repeat_log_level(self) -> None:
        """Tell a server that knows nothing of it yet; one that does not want it is left alone."""
        if self._log_level is None or self.server_capabilities.logging is None:
            return
        try:
            await self.set_level(self._log_level)
        except McpError as error:
            _log.warning("the server does not take the log level %s: %s", self._log_level, error)

    async def wait_elicitation_complete(self, page: UrlElicitation | str, timeout_s: float) -> bool:
        """Wait until the server says that the user is done with a page, by its elicitation id.

        False if it did not within `timeout_s`; servers need not say so, and at 2026-07-28 they
        have no way to.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
        """
        id = page if isinstance(page, str) else page.elicitation_id
        return id is not None and await self._visits.wait(id, timeout_s)

    # --- beginning, ending, beginning again ---

    async def _begin(self) -> None:
        """Do what is done on a connection that has just been opened."""
        settings = self._options.settings
        await self._repeat_log_level()
        if settings.keep_alive_s is not None:
            self._link.keep_alive(self._ping, settings.keep_alive_s, settings.keep_alive_timeout_s)

    async def _ping(self, *, timeout_s: float) -> None:
        """Ask the server for any answer, without starting it anew."""
        found = self.profile.discover
        if found is not None:
            self.cache.forget(found.name)
        ask = ServerCaller.ping if self.profile.ping else ServerCaller.discover
        await self._called(ask.__name__, {}, None, timeout_s, None)

    async def _session_recreated(self, opening: Any) -> None:
        """Go on where the server has a new session of this client, on the same connection."""
        self.opening = opening
        self._incoming.session_recreated()
        # Of what was said before it knows nothing.
        await self._repeat_log_level()
        await self.subscriptions.renew()

    async def aclose(self) -> None:
        """End the session."""
        self._recovery.closed = True
        await self._link.aclose()

    async def _request(
        self,
        name: str,
        fields: dict[str, Any],
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Any:
        link = self._link
        if link.is_lost:
            # Nothing has been sent: any request may go to a new server.
            await self._recovery.restart(link)
            link = self._link
        try:
            return await self._called(name, fields, meta, timeout_s, progress)
        except SessionLost:
            if name not in READS:
                raise
            if link.is_lost:
                await self._recovery.restart(link)
        return await self._called(name, fields, meta, timeout_s, progress)

    async def reconnect(self) -> None:
        """Connect anew if the connection was lost, as the next request would.

        Raises:
            SessionLost: it cannot be.
        """
        await self._recovery.reconnect()

    @property
    def connect_again(self) -> Callable[[], Awaitable[Any]] | None:
        """What starts the server anew and leads this session to it; None if nothing can."""
        return self._recovery.connect_again

    @connect_again.setter
    def connect_again(self, restart: Callable[[], Awaitable[Any]] | None) -> None:
        self._recovery.connect_again = restart
