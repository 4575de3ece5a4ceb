"""ClientSession: the public calls to one server, the same at every revision."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp_gen.client.requests.cache import ResponseCache
from mcp_gen.client.requests.pages import walk_pages
from mcp_gen.client.session.incoming import IncomingMessages, handled_request
from mcp_gen.client.session.internal_calls import InternalCalls
from mcp_gen.client.session.prompt_calls import PromptCalls
from mcp_gen.client.session.recovery import READS, Recovery, SessionControl
from mcp_gen.client.session.tool_calls import ToolCalls
from mcp_gen.client.subscriptions.elicitation_completions import ElicitationCompletions
from mcp_gen.client.subscriptions.watch import (
    ChangeWatch,
    Subscriptions,
    check_extension_filters,
    check_uris,
)
from mcp_gen.client.tasks.tasks import TaskCalls
from mcp_gen.client.tools.typed_results import TypedResults
from mcp_gen.core.errors import McpError, SessionLost, UsageError
from mcp_gen.core.extensions.extensions import SERVER, declared
from mcp_gen.core.loose_json import convert_fields, read_as
from mcp_gen.session.messages.sender import RevisionAdapter
from mcp_wire import latest
from mcp_wire.peer_calls import ServerCaller

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence

    from msgspec import Struct

    from mcp_gen.client.requests.settings import SessionOptions
    from mcp_gen.client.session.incoming import SessionRelays
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.errors import UrlElicitation
    from mcp_gen.core.projection.closed import ClosedViolation
    from mcp_gen.core.relay import Relay
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire.extension import Extension
    from mcp_wire.hooks import ClientHooks
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["ClientSession", "ClientView"]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_log = logging.getLogger("mcp_gen.client")


class ClientView(Protocol):
    """The client of a session, as handlers, hooks and middleware see it: a `Client`."""

    hooks: ClientHooks

    @property
    def name(self) -> str:
        """Name of the client, as servers see it."""
        ...

    def sessions(self) -> list[ClientSession]:
        """Return the open sessions of the client."""
        ...

    async def add_roots(self, *roots: latest.Root | str | os.PathLike[str]) -> None:
        """Add roots; see `Client.add_roots`."""
        ...

    async def remove_roots(self, *roots: latest.Root | str | os.PathLike[str]) -> None:
        """Remove roots; see `Client.remove_roots`."""
        ...

    async def aclose(self) -> None:
        """Close every session of the client."""
        ...


class ClientSession(ToolCalls, PromptCalls):
    """A session with one server; created by `Client.connect`.

    Results have the types of the newest revision, or those of `result_revision`. If the server can
    be restarted or reconnected, the next request after a lost connection does so. Read-only
    requests are then retried. Other requests raise SessionLost, because the client cannot know
    whether the server has handled them.

    Args:
        connection: The connection whose revision was negotiated.
        profile: Profile of the negotiated revision.
        results_at: Revision of the results.
        meta: Keys of `_meta` in every request; None: none.
        opening: The server's InitializeResult or DiscoverResult.
        options: Options of the session.
        report: Called with each protocol violation, unless the validation is `lenient`, and with
            each output schema that could not be checked.
        make_relay: Creates the relay for `Server.mount`.
        on_created: Called with the control of the session.
    """

    def __init__(
        self,
        connection: ClientConnection,
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
        self._completions = ElicitationCompletions()
        self._recovery = Recovery()
        self._internal = InternalCalls(self, options, self._recovery)
        self._typed_results = TypedResults(
            self,
            schema_timeout_s=settings.schema_timeout_s,
            report=self._report_schema,
        )
        self._tasks = TaskCalls(
            self._internal, settings, self._typed_results, declared=options.declares_tasks
        )
        self.subscriptions = Subscriptions(self)
        """Registry of open watches and subscribed resources."""
        self.watches = self.subscriptions.watches
        """The open watches."""
        self._incoming = IncomingMessages(
            self._tasks, self._typed_results, self._completions, self.subscriptions
        )
        self._bind(connection, profile, results_at=results_at, meta=meta, opening=opening)
        on_created(SessionControl(self._bind, self._begin, self._session_recreated))

    def _bind(
        self,
        connection: ClientConnection,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
    ) -> None:
        """Switch to a connection whose revision was just negotiated."""
        settings = self._options.settings
        self._connection = self._recovery.connection = connection
        connection.max_wait_s = settings.max_timeout_s
        if settings.validation != "lenient":
            connection.on_violation = partial(self._report, self, connection)
        clock = asyncio.get_running_loop().time
        self.cache = ResponseCache(
            profile,
            settings.max_cached_results,
            clock=clock,
            principal=lambda: connection.principal,
        )
        """Cached results of this server; `cache.clear()` removes them."""
        self._typed_results.forget()
        self.subscriptions.forget()
        sender, calls = self._internal.attach(
            connection, profile, results_at, self.cache, self._tasks.await_task_call
        )
        self._sender = sender
        RevisionAdapter.__init__(self, profile, calls, meta)
        self._incoming.attach(connection, self.cache, sender)
        self._tasks.connection_changed()
        self.default_timeout_s = settings.timeout_s
        self.opening = opening
        """The server's InitializeResult or DiscoverResult, of the negotiated revision."""
        self._tasks.watch_lists(sender)
        if connection.on_violation is not None:
            self._report_server_info()
        if self._incoming.relay is not None:
            self._incoming.relay.session_recreated()

    def _report_schema(self, path: str, what: str) -> None:
        # Most servers have no such schema.
        from mcp_gen.core.projection.closed import ClosedViolation

        self._report(self, self._connection, "", ClosedViolation(path, what))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Loaded with the first mistake.
            from mcp_gen.core.mistakes.checks import missing_attribute

            raise missing_attribute(self, name, dir(type(self)))

    # --- server information ---

    @property
    def server_info(self) -> latest.Implementation | None:
        """The server's name and version, of the newest type; None if it did not send them.

        Of a malformed one in `_meta`, the members that fit are kept; a missing text is empty.
        """
        if self.profile.server_info_key is None:
            return read_as(latest.Implementation, self.opening.server_info)
        return self._read_server_info()[0]

    def _read_server_info(
        self,
    ) -> tuple[latest.Implementation | None, list[tuple[str, str]]]:
        meta: dict[str, Any] = self.opening.meta or {}
        info = meta.get(self.profile.server_info_key or "")
        if info is None:
            return None, []
        return convert_fields(latest.Implementation, info)

    def _report_server_info(self) -> None:
        discover, key = self.profile.discover, self.profile.server_info_key
        if discover is not None and key is not None:
            for path, what in self._read_server_info()[1]:
                where = f"$.result._meta.{key}{path}"
                self._connection.report_violation(discover.name, where, what)

    @property
    def server_capabilities(self) -> latest.ServerCapabilities:
        """Capabilities that the server declared, of the newest type at every revision.

        What it did not declare is None; `extra` has the capabilities that the type does not name.
        """
        found = read_as(latest.ServerCapabilities, self.opening.capabilities)
        return found or latest.ServerCapabilities()

    @property
    def instructions(self) -> str | None:
        """The server's instructions for use; None if it sent none."""
        instructions: str | None = self.opening.instructions
        return instructions

    @property
    def is_lost(self) -> bool:
        """True if the connection was lost; the next request needs a new one."""
        return self._connection.is_lost

    @property
    def principal(self) -> Hashable:
        """Principal that the session currently acts for; None if the transport has none."""
        return self._connection.principal

    def __mcp_relay__(self) -> Relay:
        """Return the relay for calls on behalf of other clients; see `Server.mount`."""
        if self._incoming.relay is None:
            self._incoming.relay = self._make_relay(self)
        return self._incoming.relay

    # --- extensions ---

    def declares(self, extension: Extension) -> dict[str, Any] | None:
        """Return the settings with which the server declared an extension; None if it did not.

        Args:
            extension: The EXTENSION of a generated package.

        Returns:
            The settings, maybe empty; None also where the negotiated revision does not support the
            extension.
        """
        return declared(extension, self.opening.capabilities, self.profile, SERVER)

    # --- lists ---

    def tools(self, *, cursor: str | None = None) -> AsyncIterator[latest.Tool]:
        """Yield all tools of the server (`tools/list`), page by page.

        Args:
            cursor: Pagination cursor to start at, the `next_cursor` of a page; None: the beginning.

        Raises:
            ProtocolError: More than `max_pages` pages, or a pagination cursor that was used before.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination
        """
        max_pages = self._options.settings.max_pages
        return walk_pages("tools", self.list_tools, lambda page: page.tools, max_pages, cursor)

    def resources(self, *, cursor: str | None = None) -> AsyncIterator[latest.Resource]:
        """Yield all resources of the server (`resources/list`), page by page.

        Args:
            cursor: See `tools`.

        Raises:
            ProtocolError, McpError, RequestTimeout, SessionLost: See `tools`.
        """
        max_pages = self._options.settings.max_pages
        return walk_pages(
            "resources", self.list_resources, lambda page: page.resources, max_pages, cursor
        )

    def resource_templates(
        self, *, cursor: str | None = None
    ) -> AsyncIterator[latest.ResourceTemplate]:
        """Yield all resource templates of the server (`resources/templates/list`), page by page.

        Args:
            cursor: See `tools`.

        Raises:
            ProtocolError, McpError, RequestTimeout, SessionLost: See `tools`.
        """
        max_pages = self._options.settings.max_pages
        return walk_pages(
            "resource templates",
            self.list_resource_templates,
            lambda page: page.resource_templates,
            max_pages,
            cursor,
        )

    def prompts(self, *, cursor: str | None = None) -> AsyncIterator[latest.Prompt]:
        """Yield all prompts of the server (`prompts/list`), page by page.

        Args:
            cursor: See `tools`.

        Raises:
            ProtocolError, McpError, RequestTimeout, SessionLost: See `tools`.
        """
        max_pages = self._options.settings.max_pages
        return walk_pages(
            "prompts", self.list_prompts, lambda page: page.prompts, max_pages, cursor
        )

    # --- changes ---

    def watch(
        self,
        *uris: str,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        also: Sequence[Struct] = (),
    ) -> ChangeWatch:
        """Watch for `list_changed` notifications and updates of resources.

            async with session.watch("file:///a", tools=True) as changes:
                async for change in changes: ...

        It uses `subscriptions/listen` or `resources/subscribe`, depending on the revision.
        `changes.honoured` is the part that the server supports. Notifications of extensions go to
        the hooks of the extension, and `changes.agreed(EXTENSION)` is the part of an extension's
        filter that the server supports.

        A change that was not asked for is dropped. Where the server was told what to send, at
        revisions with `subscriptions/listen`, it is also reported as a violation.

        Args:
            uris: URIs of resources to watch. Until 2025-11-25 a server may also tell of their
                sub-resources: of `note://a/b` and `note://a?x` to a watch of `note://a`.
            tools: True watches the list of tools.
            prompts: True watches the list of prompts.
            resources: True watches the list of resources.
            also: Filters of extensions, each of the type that its EXTENSION names as `wanted`.

        Returns:
            The watch: an async context manager and iterator. It sends nothing before `async with`.

        Raises:
            UsageError: Nothing to watch, or a filter of no extension that this client declares.

        Source:
        https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
        """
        check_extension_filters(also, self._options.extensions, self.profile)
        if not (uris or tools or prompts or resources or also):
            raise UsageError("watch: name the URIs of resources, or give `tools=True` or the like")
        check_uris(uris)
        wanted = latest.SubscriptionFilter(
            tools_list_changed=tools or None,
            prompts_list_changed=prompts or None,
            resources_list_changed=resources or None,
            resource_subscriptions=list(dict.fromkeys(uris)) or None,
        )
        return ChangeWatch(self, self.subscriptions, wanted, also)

    @property
    def declares_roots(self) -> bool:
        """True if the client has declared the roots capability to this server."""
        return self._options.has_roots

    async def listen(
        self,
        wanted: latest.SubscriptionFilter,
        opened: Callable[[RequestId], None],
        also: Sequence[Struct] = (),
    ) -> None:
        """Send `subscriptions/listen` and wait for its end; programs normally use `watch`.

        Args:
            wanted: The requested notifications.
            opened: Called with the request id when the request is sent.
            also: Filters of extensions.

        Raises:
            UsageError: The revision has no `subscriptions/listen`.
            McpError: The server returned an error.
            SessionLost: The server disconnected.
        """
        await self._internal.listen(wanted, opened, also)

    async def set_level(
        self,
        level: latest.LoggingLevel,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Any:
        """Set the minimum level of log messages from the server (`logging/setLevel`).

        Log messages go to the hooks `on_logging_message`. Up to 2025-11-25 this sends
        `logging/setLevel`; from 2026-07-28 every later request carries the level. The level is kept
        when the session reconnects.

        Args:
            level: The least severe level to send.
            meta: More keys for the `_meta` of the request, if one is sent.
            timeout_s: Seconds that the answer may take; None: the default of the session.
            progress: Called with each progress notification.

        Returns:
            The empty result of `logging/setLevel`; None if no request is sent.

        Raises:
            McpError: The server does not support logging.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging
        """
        self._log_level = level
        key = self.profile.log_level_key
        if key is None:
            return await super().set_level(level, meta=meta, timeout_s=timeout_s, progress=progress)
        self._meta = {**(self._meta or {}), key: level}
        return None

    async def _repeat_log_level(self) -> None:
        """Send the log level to a new session of the server, if the server supports logging."""
        if self._log_level is None or self.opening.capabilities.logging is None:
            return
        try:
            await self.set_level(self._log_level)
        except McpError as error:
            _log.warning("the server does not take the log level %s: %s", self._log_level, error)

    async def wait_elicitation_complete(self, page: UrlElicitation | str, timeout_s: float) -> bool:
        """Wait until the server reports that the user has completed a URL elicitation.

        Servers need not report it (`notifications/elicitation/complete`); at 2026-07-28 they
        cannot.

        Args:
            page: The elicitation, or its elicitation id.
            timeout_s: Seconds to wait.

        Returns:
            True if it was completed; False on timeout, or if the elicitation has no id.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
        """
        id = page if isinstance(page, str) else page.elicitation_id
        return id is not None and await self._completions.wait(id, timeout_s)

    # --- opening, closing, reconnecting ---

    @property
    def client(self) -> ClientView:
        """The Client that opened the session."""
        client: ClientView = self._options.client
        return client

    @property
    def server_name(self) -> str | None:
        """Name of the server in the ClientManager, or in `connect(server_name=)`; None without."""
        return self._options.server_name

    @property
    def progress_token(self) -> RequestId | None:
        """Progress token of the server request that the running handler answers.

        None outside of the handlers of sampling, elicitation and roots, if the server wants no
        progress, and where requests come inside results (from 2026-07-28). Report with
        `notify_progress(token, progress, total)`.
        """
        handled = handled_request.get()
        if handled is None or handled.session is not self or not handled.meta:
            return None
        token: RequestId | None = handled.meta.get(self.profile.progress_token_key)
        return token

    async def wait_closed(self) -> None:
        """Wait until the session has ended: closed here, or its connection was lost.

        Over HTTP a connection is lost only where its one stream ends (HTTP+SSE) or keep-alive pings
        fail. A session that can reconnect does so with its next request, and can be waited for
        again.

        Raises:
            SessionLost: The connection was lost; the message says why, `exit_status` and `stderr`
                how a command ended.
        """
        lost = await self._connection.wait_lost()
        if lost is not None:
            raise lost

    async def _begin(self) -> None:
        """Initialize a connection that was just opened: log level and keep-alive."""
        settings = self._options.settings
        await self._repeat_log_level()
        if settings.keep_alive_s is not None:
            self._connection.keep_alive(
                self._ping, settings.keep_alive_s, settings.keep_alive_timeout_s
            )

    async def _ping(self, *, timeout_s: float) -> None:
        """Send a keep-alive request to the server, without reconnecting."""
        discover = self.profile.discover
        if discover is not None:
            self.cache.forget(discover.name)
        call = ServerCaller.ping if self.profile.ping else ServerCaller.discover
        await self._called(call.__name__, {}, None, timeout_s, None)

    async def _session_recreated(self, opening: Any) -> None:
        """Continue with a new session of the server on the same connection."""
        self.opening = opening
        self._incoming.session_recreated()
        # The new session has neither the log level nor the subscriptions of the old one.
        await self._repeat_log_level()
        await self.subscriptions.renew()

    async def aclose(self) -> None:
        """Close the session and its connection; it is not reconnected."""
        self._recovery.closed = True
        await self._connection.aclose()

    async def _request(
        self,
        name: str,
        fields: dict[str, Any],
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Any:
        connection = self._connection
        if connection.is_lost:
            # Nothing was sent on the lost connection, so any request may use a new one.
            await self._recovery.restart(connection)
            connection = self._connection
        try:
            return await self._called(name, fields, meta, timeout_s, progress)
        except SessionLost:
            if name not in READS:
                raise
            if connection.is_lost:
                await self._recovery.restart(connection)
        return await self._called(name, fields, meta, timeout_s, progress)

    async def reconnect(self) -> None:
        """Reconnect now if the connection was lost, as the next request would.

        Raises:
            SessionLost: There is no way to reconnect, or it failed.
        """
        await self._recovery.reconnect()

    @property
    def connect_again(self) -> Callable[[], Awaitable[Any]] | None:
        """Function that reconnects this session to the server; None if that is impossible."""
        return self._recovery.connect_again

    @connect_again.setter
    def connect_again(self, restart: Callable[[], Awaitable[Any]] | None) -> None:
        self._recovery.connect_again = restart
