"""Client: the public class that connects to servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_wire
from mcp_gen.client.callbacks.callbacks import (
    ClientCallbacks,
    FormHandler,
    RootsSource,
    SamplingHandler,
    UrlHandler,
)
from mcp_gen.client.callbacks.custom_notifications import CustomNotifications, NotificationHandler
from mcp_gen.client.callbacks.decorators import CallbackDecorators
from mcp_gen.client.callbacks.violations import OnReport, ViolationReporter
from mcp_gen.client.connecting.identity import ClientProfile
from mcp_gen.client.connecting.negotiation import NegotiationCache, Negotiator
from mcp_gen.client.connecting.target_text import is_url
from mcp_gen.client.connecting.targets import resolve_target
from mcp_gen.client.requests.settings import ClientSettings, Validation
from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.extensions import ExtensionArg
from mcp_gen.core.mistakes.checks import (
    check_callable,
    check_seconds,
    checks_options,
    missing_attribute,
)
from mcp_gen.core.revisions import select
from mcp_gen.core.transport.protocols import Posts
from mcp_gen.session.duplex.client import ClientConnection
from mcp_gen.session.duplex.client_parts import DEFAULT_MAX_VALUES, ClientParts
from mcp_gen.session.messages.middleware import Middleware, MiddlewareChain
from mcp_gen.session.messages.notifications import UnknownHandler
from mcp_wire import latest
from mcp_wire.hooks import ClientHooks

if TYPE_CHECKING:
    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.transports.environment import Environment
    from mcp_gen.transports.http_client.endpoint import HeadersFrom

__all__ = ["Client"]

M = TypeVar("M", bound=Middleware)
N = TypeVar("N")
R = TypeVar("R", bound=OnReport)
U = TypeVar("U", bound=UnknownHandler)


class Client(CallbackDecorators):
    """An MCP client; `async with Client("agent") as client` closes its sessions on exit.

    A server can send requests to the client: sampling, elicitation, roots. A capability without a
    handler is not declared. Handlers can also be registered with the decorators of the same names.

    Args:
        name: Name of the client, sent to servers as `clientInfo`.
        version: Version of the client, sent to servers.
        title: Display name, sent to servers; None: none.
        sampling: Handler of `sampling/createMessage`: asks a model for the next message.
        elicitation: Handler of `elicitation/create` in form mode: shows the user a form.
        url_elicitation: Handler of `elicitation/create` in URL mode: sends the user to a page.
        roots: Folders that servers may work on, or a function that returns them.
        experimental: Experimental capabilities by name, declared unchanged.
        extensions: EXTENSION objects of generated packages, each alone or with its settings; or a
            mapping of names to settings for extensions that are only declared.
        tasks: True allows servers of 2026-07-28 to answer tool calls with tasks, which the calls
            await, and servers of 2025-11-25 to request `sampling` and `elicitation` answers as
            tasks of this client. Tool calls that run as tasks at 2025-11-25 do not need it.
        timeout_s: Seconds that a request may take; each progress notification restarts it.
        max_timeout_s: Seconds that a request may take in all.
        max_pages: Maximum number of pages of one list.
        max_rounds: Number of times that the server may request input before it answers, in one
            multi round-trip request (`input_required`).
        max_cached_results: Number of results cached per session, each as long as the server allows;
            0 disables the cache.
        max_values: Maximum number of keys and items in one result of a server. A result with more
            is not decoded: the call raises ProtocolError. Requests and notifications of a server
            may have 20,000.
        max_message_bytes: Maximum size of a message of a server, in bytes, over stdio and HTTP;
            None: 64 MiB. A larger answer fails its call with TransportError.
        validation: Treatment of protocol violations by servers. `lenient` ignores them, `report`
            reports them (see `on_violation`), `strict` reports them and makes the result an error.
            No mode ends the session.
        log_level: Least severe level of log messages that servers send; None: the client sends no
            level.
        keep_alive_s: Seconds between keep-alive pings to the server; None: no pings.
        keep_alive_timeout_s: Seconds that a ping may take; then the connection is closed.
        schema_timeout_s: Seconds that checking one value by a JSON Schema of a server may take,
            where the schema or the value is too large or complex to be checked at once. Then the
            call raises UncheckedResult, and other calls are not affected.
        forward_requests: True prepares the sessions for `Server.mount`: server requests without a
            handler here are forwarded to the client for which the call was made. The capabilities
            of one client declare these to the server, and forward what they allow.

    Raises:
        UsageError: A root or an extension identifier is invalid.
    """

    @checks_options("Client")
    def __init__(
        self,
        name: str,
        version: str = "0.0.0",
        *,
        title: str | None = None,
        sampling: SamplingHandler | None = None,
        elicitation: FormHandler | None = None,
        url_elicitation: UrlHandler | None = None,
        roots: RootsSource | None = None,
        experimental: Mapping[str, dict[str, Any]] | None = None,
        extensions: Mapping[str, dict[str, Any]] | Sequence[ExtensionArg] | None = None,
        tasks: bool = False,
        timeout_s: float = 60.0,
        max_timeout_s: float = 3600.0,
        max_pages: int = 1000,
        max_rounds: int = 10,
        max_cached_results: int = 256,
        max_values: int = DEFAULT_MAX_VALUES,
        max_message_bytes: int | None = None,
        validation: Validation = "lenient",
        log_level: latest.LoggingLevel | None = None,
        keep_alive_s: float | None = None,
        keep_alive_timeout_s: float = 10.0,
        schema_timeout_s: float = 1.0,
        forward_requests: bool | latest.ClientCapabilities = False,
    ) -> None:
        _check_name(name)
        callbacks = ClientCallbacks(
            sampling=sampling,
            elicitation=elicitation,
            url_elicitation=url_elicitation,
            roots=roots,
            experimental=experimental,
            extensions=extensions,
            tasks=tasks,
            schema_timeout_s=schema_timeout_s,
        )
        if forward_requests:
            # Imported here because most clients relay nothing.
            from mcp_gen.client.connecting.relay import ask_as, ask_callers

            if isinstance(forward_requests, latest.ClientCapabilities):
                ask_as(callbacks, forward_requests)
            else:
                ask_callers(callbacks)
        super().__init__(callbacks)
        self._info = latest.Implementation(name=name, version=version, title=title)
        self._settings = ClientSettings(
            timeout_s=timeout_s,
            max_timeout_s=max_timeout_s,
            max_pages=max_pages,
            max_rounds=max_rounds,
            max_cached_results=max_cached_results,
            max_values=max_values,
            validation=validation,
            log_level=log_level,
            keep_alive_s=keep_alive_s,
            keep_alive_timeout_s=keep_alive_timeout_s,
            schema_timeout_s=schema_timeout_s,
        )
        self._max_message_bytes = max_message_bytes
        self._reports = ViolationReporter()
        self.hooks = ClientHooks(self._hooks_changed)
        self.hooks.check = self.hooks.outbound.check = check_callable
        """Decorators that register hooks, such as `@client.hooks.outbound.before_call_tool`."""
        self._middleware = MiddlewareChain([], [], self._hooks_changed)
        self._parts = ClientParts(self.hooks, self._middleware, max_values)
        self._custom = CustomNotifications(self._parts, self._hooks_changed)
        self._links: list[ClientConnection] = []
        self._serving: list[asyncio.Task[None]] = []
        self._negotiated: NegotiationCache = {}

    @property
    def name(self) -> str:
        """Name of the client, as servers see it."""
        return self._info.name

    def sessions(self) -> list[ClientSession]:
        """Return the open sessions, in the order in which they were opened.

        A session whose connection was lost is not among them until it has reconnected.
        """
        found: list[ClientSession] = [
            connection.session
            for connection in self._links
            if connection.session is not None and not connection.is_lost
        ]
        return found

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name, dir(type(self)))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every session."""
        connections, self._links = self._links, []
        await asyncio.gather(*(connection.aclose() for connection in connections))
        serving, self._serving = self._serving, []
        await asyncio.gather(*serving)

    @checks_options("client.connect")
    async def connect(
        self,
        target: Target,
        *,
        revision: str | None = None,
        first_revision: str | None = None,
        result_revision: str | ModuleType | None = None,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        auth: RequestAuthorizer | None = None,
        http_client: Any = None,
        env: Environment = None,
        timeout_s: float = 60.0,
        probe_timeout_s: float = 10.0,
        reconnect: bool = True,
        server_name: str | None = None,
    ) -> ClientSession:
        """Connect to a server and return the session.

        Args:
            target: A Server; a URL; Python code with a server, as `file.py`, `file.py:name`, or a
                module (`package.module`, `package.module:name`), which runs in this process; a
                command (one line or a list of words); the address of a socket (`unix:PATH`,
                `tcp:HOST:PORT`); or a transport. A path object is a Python file.
            revision: Protocol version (revision) to pin. None: the newest that both sides support,
                found with `server/discover` and, if that fails, with `initialize`. The result is
                remembered for the next connection to the same server.
            first_revision: Protocol version (revision) to try first. The session has another one
                if the server does not speak it. None: the newest. Ignored if `revision` is given.
            result_revision: Revision of the types of results, as its name or its module. None: the
                newest, whatever revision is pinned or negotiated.
            headers: HTTP headers of every request: a mapping, or a function, sync or async, called
                before each request. URLs only.
            bearer_token: Bearer token of every request. URLs only.
            auth: Logs in where the server asks for it, and gives each request its token: `OAuth()`
                or another one of `mcp_gen.auth`. It can serve several connections, and stays open.
                No timeout runs while a user logs in. URLs only.
            http_client: AsyncClient of httpx2 or httpx that sends all requests and stays open. URLs
                only.
            env: Environment variables of the command, in addition to basic ones such as PATH and
                HOME; `"inherit"` passes all variables of this process. Commands only.
            timeout_s: Seconds that each request of the handshake may take.
            probe_timeout_s: Seconds to wait for the answer to `server/discover` before
                `initialize`.
            reconnect: True opens a new connection (or starts the command again) when the connection
                was lost, with the next request.
            server_name: Name of the program's own for the server: `session.server_name`, and the
                beginning of the stderr lines of a command.

        Returns:
            The open session.

        Raises:
            UsageError: Unknown revision, or a target that cannot be connected to.
            TransportError: The command cannot be started, or the URL cannot be reached.
            AuthError: The server asks for a token, and none can be had.
            HttpError: The server rejected the connection with an HTTP status.
            ProtocolError: There is no revision in common.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.
            LifespanError: The lifespan of a server in this process did not start.
            Exception: What else keeps a server in this process from starting, as it is raised
                there: by the factory of `Server.per_connection`, for instance.
        """
        for named in (revision, first_revision):
            if named is not None:
                select([named])
        check_seconds("client.connect: timeout_s", timeout_s)
        check_seconds("client.connect: probe_timeout_s", probe_timeout_s)
        resolved = resolve_target(
            target,
            self._run_in_background,
            headers=headers,
            bearer_token=bearer_token,
            auth=auth,
            http_client=http_client,
            env=env,
            probe_timeout_s=probe_timeout_s,
            max_message_bytes=self._max_message_bytes,
            server_name=server_name,
        )
        profile = ClientProfile(
            self._info,
            self._offer.copy(),
            self,
            self._settings,
            self._reports,
            _results_at(result_revision),
            server_name,
        )

        async def open_session() -> ClientSession:
            negotiator = Negotiator(
                resolved,
                profile,
                self._negotiated,
                open_connection=self._open_connection,
                drop_connection=self._drop_connection,
                probe_timeout_s=probe_timeout_s,
                timeout_s=timeout_s,
            )
            session, profile.connection = await negotiator.session(revision, first_revision)
            return session

        async def open_again() -> ClientSession:
            if profile.connection is not None:
                await self._drop_connection(profile.connection)
            return await open_session()

        session = await open_session()
        if reconnect and resolved.restarts:
            session.connect_again = open_again
        return session

    async def _open_connection(self, transport: Duplex | Posts) -> ClientConnection:
        connection = self._connection_for(transport)
        # Drop the connections that the program has closed itself.
        self._links = [*(one for one in self._links if not one.is_closed), connection]
        try:
            await connection.open()
        except BaseException:
            await self._drop_connection(connection)
            raise
        return connection

    def _connection_for(self, transport: Duplex | Posts) -> ClientConnection:
        if isinstance(transport, Posts):
            # Loaded only for HTTP.
            from mcp_gen.session.http_client.connection import HttpClientConnection

            return HttpClientConnection(transport, self._parts)
        return ClientConnection(transport, self._parts)

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._serving = [*(one for one in self._serving if not one.done()), task]
        return task

    async def _drop_connection(self, connection: ClientConnection) -> None:
        if connection in self._links:
            self._links.remove(connection)
        await connection.aclose()

    async def _tell_roots_changed(self) -> None:
        for connection in list(self._links):
            session: ClientSession | None = connection.session
            if session is None or session.is_lost or session.profile.roots_changed is None:
                continue
            if session.declares_roots:
                await session.notify_roots_list_changed()

    def on_violation(self, handler: R) -> R:
        """Register a handler of protocol violations; use it as a decorator.

        Handlers are called as `handler(violation)`, sync or async, if `validation` is `report` or
        `strict`. Without a handler, violations are logged as warnings.

        Args:
            handler: Called with each Violation.

        Returns:
            The handler.
        """
        self._reports.handlers.append(handler)
        return handler

    # --- notifications beside the protocol ---

    def notification(
        self, name: str, *, params: type[N], revisions: Sequence[str] = mcp_wire.REVISIONS
    ) -> Callable[[NotificationHandler[N]], NotificationHandler[N]]:
        """Return a decorator that registers the handler of a notification beside the protocol.

            @client.notification("acme/moved", params=Moved)
            async def moved(session: ClientSession, params: Moved) -> None: ...

        Servers of this library send it with `ctx.client.notify("acme/moved", {...})`.

        Args:
            name: Method name.
            params: Type of the params that msgspec can decode from a JSON object: a dataclass, a
                Struct or a TypedDict.
            revisions: Protocol revisions at which the notification is received.

        Raises:
            UsageError: A method name of the protocol, a name that is taken, or a type that cannot
                be decoded.
        """
        return self._custom.notification(name, params, revisions)

    def on_unknown_notification(self, handler: U) -> U:
        """Register a handler of all notifications that nothing else knows; use it as a decorator.

        It is called as `handler(session, method, params)`, sync or async, for each notification
        that neither the negotiated revision nor an extension nor `notification` names. `params` is
        plain JSON, None without any. Without a handler such a notification is ignored.

        Args:
            handler: Called with each notification.

        Returns:
            The handler.
        """
        self._parts.unknown.append(handler)
        return handler

    # --- middleware ---

    def middleware(self, middleware: M) -> M:
        """Add a middleware around every message from servers; usable as a decorator.

            @client.middleware
            async def logged(session, method, params, call_next):
                return await call_next(params)

        It wraps the requests that servers send (sampling, elicitation, roots, pings), also those
        that arrive inside results (from 2026-07-28), and all notifications, hooks included. It
        returns the result of `call_next` or another one. It may pass other params, skip
        `call_next`, or raise McpError. The middleware that was added first is outermost. A
        notification has no result.

        Args:
            middleware: Async function of `session`, the ClientSession; `method`, the method name;
                `params`, a wire type of the negotiated revision; and `call_next`.

        Returns:
            The function itself.

        Raises:
            UsageError: The function is not async, or takes other arguments.
        """
        return self._middleware.add(middleware)

    def add_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around every message from servers; see `middleware`.

        Raises:
            UsageError: The function is not async, or takes other arguments.
        """
        self.middleware(middleware)

    def sending_middleware(self, middleware: M) -> M:
        """Add a middleware around every message to servers; usable as a decorator.

        It wraps requests and notifications, hooks included: also those of the handshake, pages of
        lists, each round trip of a multi round-trip request, and requests that the cache answers.
        It does not wrap the cancellation of a request that was sent.

        Args:
            middleware: Async function like that of `middleware`. `session` is the ClientSession,
                or None for requests of the handshake. The result is of the newest revision, or of
                the pinned one.

        Returns:
            The function itself.

        Raises:
            UsageError: The function is not async, or takes other arguments.
        """
        return self._middleware.add_sending(middleware)

    def add_sending_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around every message to servers; see `sending_middleware`.

        Raises:
            UsageError: The function is not async, or takes other arguments.
        """
        self.sending_middleware(middleware)

    def _hooks_changed(self) -> None:
        for connection in self._links:
            connection.changed()


def _results_at(results: str | ModuleType | None) -> str:
    if results is None:
        return mcp_wire.LATEST
    profile = getattr(results, "PROFILE", None)
    name: str = profile.revision if profile is not None else str(results)
    return select([name])[0]


def _check_name(name: object) -> None:
    """Check that the first argument of a client is its name, not what it connects to."""
    if not isinstance(name, str) or is_url(name):
        raise UsageError(
            f"Client({name!r}): expected the name of the client first, such as "
            '`async with Client("app") as client`; then `await client.connect(target)`'
        )
