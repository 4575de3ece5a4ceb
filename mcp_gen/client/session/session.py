"""One server being used: the same calls whatever revision it speaks."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import mcp_wire
from mcp_gen.client.requests.cache import ResponseCache
from mcp_gen.client.requests.pages import walked
from mcp_gen.client.requests.sender import ClientAsking
from mcp_gen.client.session.tool_calls import ToolCalls
from mcp_gen.client.subscriptions.elicitation_completions import Visits
from mcp_gen.client.subscriptions.watch import Subscriptions, Watch
from mcp_gen.client.tasks.tasks import Tasks
from mcp_gen.client.tools.typed_results import Returns
from mcp_gen.core.errors import McpError, McpGenError, SessionLost, UsageError
from mcp_gen.core.extensions.extensions import SERVER, carries, declared, owner_of
from mcp_gen.core.projection.project import project
from mcp_gen.session.messages.sender import AtRevision
from mcp_wire import latest
from mcp_wire.callers import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable, Sequence

    from msgspec import Raw, Struct

    from mcp_gen.client.connecting.identity import Identity
    from mcp_gen.client.connecting.relay import SessionRelay
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.errors import UrlElicitation
    from mcp_gen.session.duplex.client import ClientLink
    from mcp_wire.callers import OnProgress
    from mcp_wire.extension import Extension
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ClientSession"]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("mcp_gen.client")

_READS = frozenset(
    call.__name__
    for call in (
        ServerCaller.complete,
        ServerCaller.discover,
        ServerCaller.get_prompt,
        ServerCaller.list_prompts,
        ServerCaller.list_resource_templates,
        ServerCaller.list_resources,
        ServerCaller.list_tools,
        ServerCaller.ping,
        ServerCaller.read_resource,
    )
)
"""The requests that change nothing: they may be made again, whatever became of the first."""


class ClientSession(ToolCalls):
    """A server, and what was agreed with it. Made by `Client.connect`.

    Results come as the newest types, or as those of the revision that was pinned or asked for.
    Where the server can be started anew, one that went away is, with the next request; requests
    that only read are made again. Of any other request nobody knows what became of it: it raises
    SessionLost.
    """

    def __init__(
        self,
        link: ClientLink,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
        identity: Identity,
    ) -> None:
        self._identity = identity
        self.default_timeout_s = identity.settings.timeout_s
        self.restart = None
        self._restarting = asyncio.Lock()
        self._closed = False
        self.watches: set[Watch] = set()
        """The watches that are open."""
        self._log_level: str | None = identity.settings.log_level
        self._visits = Visits()
        self._relay: SessionRelay | None = None
        self._tasks = Tasks(self, identity.settings, declared=identity.offer.has_tasks)
        self.bind(link, profile, results_at=results_at, meta=meta, opening=opening)

    def bind(
        self,
        link: ClientLink,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
    ) -> None:
        """Use this connection from now on, on which something has just been agreed."""
        settings = self._identity.settings
        self._link = link
        link.max_wait_s = settings.max_timeout_s
        link.on_news, link.on_lost = self._hear, self._lose
        if settings.checks != "lenient":
            link.on_odd = partial(self._identity.reports.tell, self, link)
        clock = asyncio.get_running_loop().time
        self.cache = ResponseCache(
            profile, settings.max_cached, clock=clock, principal=lambda: link.principal
        )
        """What the server said that still holds good; `cache.clear()` forgets it."""
        self._returns = Returns(self)
        self.subscriptions = Subscriptions(self)
        """The resources that are watched, where each is subscribed to by a request."""
        self._results_at = results_at
        self._asking = ClientAsking(link, profile, results_at, self, self._identity, self.cache)
        self._requests: Any = import_module(f"{profile.module}.requests").ToServer
        AtRevision.__init__(self, profile, self._requests(self._asking), meta)
        self._as_spoken = self._beginning = None
        if self._asking.unasked:
            self._take_tasks(link)
        self._tasks.bound()
        self.default_timeout_s = settings.timeout_s
        self.opening = opening
        """The server's answer to the handshake, or to the question what it speaks."""
        if self._relay is not None:
            self._relay.begun_again()

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

    @property
    def relay(self) -> SessionRelay:
        """The way through the session for calls that others make: see `Server.mount`."""
        if self._relay is None:
            from mcp_gen.client.connecting.relay import SessionRelay

            self._relay = SessionRelay(self, self._identity)
        return self._relay

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
            await self._restart(link)
            self._check_carried(method)
        return await self._asking.request(
            method,
            self._with_meta(params),
            timeout_s=self.default_timeout_s if timeout_s is None else timeout_s,
            progress=progress,
        )

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification of an extension; see `request`."""
        self._check_carried(method)
        await self._asking.notify(method, params)

    def _check_carried(self, method: Method[Any, Any]) -> None:
        if not carries(owner_of(self._identity.offer.extensions, method), self.profile):
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
        most = self._identity.settings.max_pages
        return walked("tools", self.list_tools, lambda page: page.tools, most)

    def resources(self) -> AsyncIterator[latest.Resource]:
        """All of the server's resources, page after page."""
        most = self._identity.settings.max_pages
        return walked("resources", self.list_resources, lambda page: page.resources, most)

    def resource_templates(self) -> AsyncIterator[latest.ResourceTemplate]:
        """All of the server's resource templates, page after page."""
        most = self._identity.settings.max_pages
        return walked(
            "resource templates",
            self.list_resource_templates,
            lambda page: page.resource_templates,
            most,
        )

    def prompts(self) -> AsyncIterator[latest.Prompt]:
        """All of the server's prompts, page after page."""
        most = self._identity.settings.max_pages
        return walked("prompts", self.list_prompts, lambda page: page.prompts, most)

    # --- changes ---

    def watch(
        self,
        *uris: str,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        also: Sequence[Struct] = (),
    ) -> Watch:
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
        self._check_wanted(also)
        if not (uris or tools or prompts or resources or also):
            raise UsageError("watch: name the URIs of resources, or give `tools=True` or the like")
        wanted = latest.SubscriptionFilter(
            tools_list_changed=tools or None,
            prompts_list_changed=prompts or None,
            resources_list_changed=resources or None,
            resource_subscriptions=list(dict.fromkeys(uris)) or None,
        )
        return Watch(self, wanted, also)

    def _check_wanted(self, also: Sequence[Struct]) -> None:
        offered = self._identity.offer.extensions.at(self.profile)
        if also and self.profile.listen is None:
            raise UsageError(f"{self.revision} has no request to listen with")
        for one in also:
            if not any(extension.wanted is type(one) for extension in offered):
                raise UsageError(
                    f"watch: {type(one).__name__} is of no extension that this client declares here"
                )

    async def listen(
        self,
        wanted: latest.SubscriptionFilter,
        opened: Callable[[RequestId], None],
        also: Sequence[Struct] = (),
    ) -> None:
        """Keep a request open that hears of changes; `opened` is told its id. See `watch`."""
        if self._link.is_lost:
            await self._restart(self._link)
        asking = self._new_asking(self._results_at, outlet=self._link.listening(opened))
        once = AtRevision(self.profile, self._requests(asking), self._meta)
        notifications: Any = wanted
        if also:
            plain = [project(wanted, self.revision).value, *also]
            notifications = {k: v for one in plain for k, v in msgspec.to_builtins(one).items()}
        await once._ask(
            ServerCaller.subscriptions_listen.__name__,
            {"notifications": notifications},
            meta=None,
            timeout_s=None,
            progress=None,
        )

    async def set_log_level(self, level: latest.LoggingLevel) -> None:
        """Say how severe log messages must be to be sent; hooks `on_logging_message` get them.

        Until 2025-11-25 that is a request; from 2026-07-28 every later request says so.

        Raises:
            McpError: the server has no log messages.
        """
        self._log_level = level
        await self._say_log_level(level)

    async def _repeat_log_level(self) -> None:
        """Tell a server that knows nothing of it yet; one that does not want it is left alone."""
        if self._log_level is None or self.server_capabilities.logging is None:
            return
        try:
            await self._say_log_level(self._log_level)
        except McpError as error:
            _log.warning("the server does not take the log level %s: %s", self._log_level, error)

    async def _say_log_level(self, level: Any) -> None:
        key = self.profile.log_level_key
        if key is None:
            await self.set_level(level)
        else:
            self._meta = {**(self._meta or {}), key: level}

    async def wait_visited(self, page: UrlElicitation | str, timeout_s: float) -> bool:
        """Wait until the server says that the user is done with a page, by its elicitation id.

        False if it did not within `timeout_s`; servers need not say so, and at 2026-07-28 they
        have no way to.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
        """
        id = page if isinstance(page, str) else page.elicitation_id
        return id is not None and await self._visits.wait(id, timeout_s)

    # --- beginning, ending, beginning again ---

    async def begin(self) -> None:
        """What is done when a connection has just been opened. For `Client.connect`."""
        settings = self._identity.settings
        await self._repeat_log_level()
        if settings.keep_alive_s is not None:
            self._link.keep_alive(
                self._still_there, settings.keep_alive_s, settings.keep_alive_timeout_s
            )

    async def _still_there(self, *, timeout_s: float) -> None:
        """Ask the server for any answer, without starting it anew."""
        found = self.profile.discover
        if found is not None:
            self.cache.forget(found.name)
        ask = ServerCaller.ping if self.profile.ping else ServerCaller.discover
        await self._called(ask.__name__, {}, None, timeout_s, None)

    async def begun_again(self, opening: Any) -> None:
        """What is done when the server has a new session of this client, on the same connection."""
        self.opening = opening
        self.cache.clear()
        self._returns.forget()
        self._tasks.forget()
        if self._relay is not None:
            self._relay.begun_again()
        # Of what was said before it knows nothing.
        await self._repeat_log_level()
        await self.subscriptions.renew()

    async def tell_roots_changed(self) -> None:
        """Tell the server that the roots are others, where it was told of roots and can be told."""
        if self.profile.roots_changed is None or not self._identity.offer.has_roots:
            return
        if not self._link.is_lost:
            await self.notify_roots_list_changed()

    async def close(self) -> None:
        """End the session."""
        self._closed = True
        await self._link.close()

    async def _ask(
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
            await self._restart(link)  # nothing has been sent: any request may go to a new server
            link = self._link
        try:
            return await self._called(name, fields, meta, timeout_s, progress)
        except SessionLost:
            if name not in _READS:
                raise
            if link.is_lost:
                await self._restart(link)
        return await self._called(name, fields, meta, timeout_s, progress)

    async def reconnect(self) -> None:
        """Connect anew if the connection was lost, as the next request would.

        Raises:
            SessionLost: it cannot be.
        """
        if self._link.is_lost:
            await self._restart(self._link)

    def _new_asking(self, results_at: str, **options: Any) -> ClientAsking:
        return ClientAsking(
            self._link, self.profile, results_at, self, self._identity, self.cache, **options
        )

    async def _restart(self, lost: ClientLink) -> None:
        """Go on with a server that was started anew; whoever comes first starts it.

        Raises:
            SessionLost: it cannot be.
        """
        async with self._restarting:
            if self._link is not lost:
                return
            if self.restart is None or self._closed or lost.is_closed:
                raise lost.lost_error()
            try:
                await self.restart()
            except McpGenError as error:
                why = lost.lost_error()
                raise SessionLost(f"{why}; starting it anew failed: {error}") from error

    # --- what came ---

    def _hear(self, news: str, params: Any) -> None:
        """A notification came; `news` is its place on a Profile."""
        self.cache.hear(news, getattr(params, "uri", None))
        if news == "tools_changed":
            self._returns.forget()
            self._tasks.forget()
        elif news == "elicitation_complete":
            self._visits.done(params.elicitation_id)
        elif news == "task_status":
            self._tasks.hear(params)
        for watch in list(self.watches):
            watch.hear(news, params)
        if self._relay is not None:
            self._relay.hear(news, params)

    def _take_tasks(self, link: ClientLink) -> None:
        """Servers may begin tasks on this connection."""
        from mcp_wire.extensions.tasks.methods import NOTIFICATIONS_TASKS

        link.on_late = self._late
        link.act_on(NOTIFICATIONS_TASKS, self._tasks.hear)

    def _late(self, method: Method[Any, Any], result: Raw) -> None:
        """An answer came when nobody waited for it any more: it may have begun something."""
        begun = self._asking.task_in(result)
        if begun is not None and not self._link.is_lost:
            self._tasks.leave(begun)

    def _lose(self, error: SessionLost) -> None:
        self._tasks.lost()
        for watch in list(self.watches):
            watch.lost(error)
