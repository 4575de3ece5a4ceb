"""One server being used: the same calls whatever revision it speaks."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

import mcp_wire
from mcp_gen.client.asking import ClientAsking
from mcp_gen.client.cache import ResponseCache
from mcp_gen.client.pages import walked
from mcp_gen.client.returns import Returns
from mcp_gen.client.visits import Visits
from mcp_gen.client.watching import Subscriptions, Watch
from mcp_gen.core.errors import McpError, McpGenError, SessionLost, UsageError
from mcp_gen.core.extensions import SERVER, carries, declared, owner_of
from mcp_gen.core.project import project
from mcp_gen.session.asking import AtRevision, is_plain
from mcp_wire import latest
from mcp_wire.callers import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence

    from msgspec import Struct

    from mcp_gen.client.identity import Identity
    from mcp_gen.client.relaying import SessionRelay
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.errors import UrlElicitation
    from mcp_gen.session.client import ClientLink
    from mcp_wire import common
    from mcp_wire.callers import OnProgress
    from mcp_wire.extension import Extension
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ClientSession"]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

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


class ClientSession(AtRevision, ServerCaller):
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
        self.restart: Callable[[], Awaitable[ClientSession]] | None = None
        """What starts the server anew and leads this session to it; None if nothing can."""
        self._restarting = asyncio.Lock()
        self._closed = False
        self.watches: set[Watch] = set()
        """The watches that are open."""
        self._log_level: str | None = identity.settings.log_level
        self._visits = Visits()
        self._relay: SessionRelay | None = None
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
        asking = ClientAsking(link, profile, results_at, self, self._identity, self.cache)
        self._asking = asking
        requests = import_module(f"{profile.module}.requests")
        AtRevision.__init__(self, profile, requests.ToServer(asking), meta)
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
            from mcp_gen.client.relaying import SessionRelay

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

    # --- tools ---

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        task: common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
        returns: None = None,
        retry: bool = False,
    ) -> latest.CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        task: common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
        returns: type[T],
        retry: bool = False,
    ) -> T: ...

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        task: common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
        returns: Any = None,
        retry: bool = False,
    ) -> Any:
        """Call a tool. The result comes back as it is, also where the tool failed.

        With `returns`, a type that msgspec reads or a pydantic model, comes the tool's structured
        content as a value of that type: compared with the tool's output schema first, which is
        listed once; and read from the text, as JSON, where the server has no structured content.

        With `task` it may go on as a task: then comes a CreateTaskResult of the revision that is
        spoken, and `get_task_payload` gives what became of it.

        With `retry` the call is made again if the server went away and the tool says that it is
        idempotent (`idempotentHint`).

        Raises:
            ToolError: with `returns`, the tool failed.
            InvalidParams: with `returns`, it gave something else than its schema or the type says.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        unusual = (
            returns is not None
            or retry
            or task is not None
            or input_responses is not None
            or request_state is not None
            or self._link.is_lost
        )
        if not unusual and name and is_plain(arguments):
            # As every revision takes it: nothing to look up, nothing to restate.
            return await self._calls.call_tool(
                name,
                arguments=arguments,
                meta=self._meta if meta is None else self._with_identity(meta),
                timeout_s=self.default_timeout_s if timeout_s is None else timeout_s,
                progress=progress,
            )
        fields: dict[str, Any] = {
            "name": name,
            "arguments": arguments,
            "task": task,
            "input_responses": input_responses,
            "request_state": request_state,
        }
        method = ServerCaller.call_tool.__name__
        ask = partial(self._ask, method, fields, meta=meta, timeout_s=timeout_s, progress=progress)
        try:
            result = await ask()
        except SessionLost:
            if not retry or self.restart is None or not await self._is_idempotent(name):
                raise
            result = await ask()
        return result if returns is None else await self._returns.read(name, result, returns)

    async def _is_idempotent(self, name: str) -> bool:
        """Whether a tool says that calling it twice does no more than calling it once."""
        self._returns.forget()
        annotations = getattr(await self._returns.tool(name), "annotations", None)
        return annotations is not None and annotations.idempotent_hint is True

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
        outlet = self._link.listening(opened)
        asking = ClientAsking(
            self._link, self.profile, self._results_at, self, self._identity, self.cache, outlet
        )
        requests = import_module(f"{self.profile.module}.requests")
        once = AtRevision(self.profile, requests.ToServer(asking), self._meta)
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
        ask = ServerCaller.ping if self.profile.alive else ServerCaller.discover
        await self._called(ask.__name__, {}, None, timeout_s, None)

    async def begun_again(self, opening: Any) -> None:
        """What is done when the server has a new session of this client, on the same connection."""
        self.opening = opening
        self.cache.clear()
        self._returns.forget()
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
        elif news == "elicitation_complete":
            self._visits.done(params.elicitation_id)
        for watch in list(self.watches):
            watch.hear(news, params)
        if self._relay is not None:
            self._relay.hear(news, params)

    def _lose(self, error: SessionLost) -> None:
        for watch in list(self.watches):
            watch.lost(error)
