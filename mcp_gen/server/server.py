"""Public `Server` class: registers features and serves them at every protocol revision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import mcp_wire
from mcp_gen.core.extensions.extensions import ExtensionArg
from mcp_gen.core.mistakes.checks import explains_calls
from mcp_gen.core.peer_limits import PeerLimits
from mcp_gen.core.revisions import select
from mcp_gen.server.api.lists import ListsApi
from mcp_gen.server.api.prompts import CompletionsApi
from mcp_gen.server.api.resources import ResourcesApi
from mcp_gen.server.api.tools import ToolsApi
from mcp_gen.server.context.context import Context
from mcp_gen.server.context.options import check_unknown_arguments
from mcp_gen.server.dispatch.custom_methods import CustomMethods
from mcp_gen.server.dispatch.declarations import Declarations
from mcp_gen.server.dispatch.extensions import ExtensionRegistry
from mcp_gen.server.dispatch.handlers import HandlerParts, Handlers
from mcp_gen.server.dispatch.on_demand import AppsOnDemand, TasksOnDemand
from mcp_gen.server.listing.cache_hints import CacheHints, Hints
from mcp_gen.server.listing.scopes import check_scopes
from mcp_gen.server.listing.tags import Visibility
from mcp_gen.server.mounting.mounts import Mounts
from mcp_gen.server.notifications.log_messages import ClientLogs
from mcp_gen.server.notifications.notifier import Notifier
from mcp_gen.server.prompts.completion import Completions
from mcp_gen.server.prompts.registry import PromptRegistry
from mcp_gen.server.resources.registry import ResourceRegistry
from mcp_gen.server.serving.api import ServingApi
from mcp_gen.server.serving.option_checks import check_prefix, checks_server, scoped_items
from mcp_gen.server.serving.parts import ServerParts
from mcp_gen.server.serving.runner import ServerRunner
from mcp_gen.server.tools.registry import ToolRegistry
from mcp_gen.session.kernel.kernel import Kernel
from mcp_gen.session.kernel.limits import Limits
from mcp_gen.session.messages.middleware import Middleware, MiddlewareChain
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers
from mcp_wire.hooks import ServerHooks
from mcp_wire.profile import Profile

if TYPE_CHECKING:
    from typing import Unpack

    import typing_extensions

    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.apps.apps import Apps
    from mcp_gen.server.apps.resource import AppOptions, AppSource
    from mcp_gen.server.context.options import UnknownArguments
    from mcp_gen.server.dispatch.custom_methods import NotificationHandler, RequestHandler
    from mcp_gen.server.dispatch.extensions import OfferedHandlers
    from mcp_gen.server.serving.lifespan import Lifespan
    from mcp_gen.server.serving.per_connection import PerConnection
    from mcp_gen.server.session_state import SessionState
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_wire.extension import Extension

__all__ = ["Feature", "Server"]

if TYPE_CHECKING:
    App = typing_extensions.TypeVar("App", default=Any)
else:  # defaults of type variables are for type checkers only: before 3.13 `typing` has none
    App = TypeVar("App")
F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Middleware)
P = TypeVar("P")
R = TypeVar("R")
Feature: TypeAlias = Literal["completions", "logging", "prompts", "resources", "tasks", "tools"]
"""Name of a feature that `Server(declare=...)` declares."""


_LOGGING: tuple[Feature] = ("logging",)


class Server(ToolsApi, ResourcesApi, CompletionsApi, ListsApi, ServingApi, Generic[App]):
    """MCP server: register tools, resources and prompts, then serve them over any transport.

        server = Server("demo")

        @server.tool
        def add(a: int, b: int) -> int:
            return a + b

        server.run("stdio")

    One server answers clients of every protocol revision. Everything can be added and removed
    while clients are connected; they receive `list_changed` notifications.

    Args:
        name: Name for programs, sent as `serverInfo.name`.
        version: Version of the server, sent as `serverInfo.version`.
        title: Name for people; None shows `name`.
        description: Description of the server, for clients.
        website_url: Website of the server.
        icons: Icons of the server.
        instructions: Text that tells a model how to use the server.
        revisions: Protocol revisions that the server offers; the default is all of them.
        declare: Features to declare before they have an item. Every feature with an item is
            declared anyway. The default declares `logging`.
        page_size: Most items per page of a list; None sends each list as one page. A client
            that does not ask for further pages sees the first one alone.
        include_tags: Tags of which a tool, resource or prompt needs one to be seen by clients; None
            if it needs none.
        exclude_tags: Tags whose tools, resources and prompts clients do not see. `enable_tags` and
            `disable_tags` change that while clients are connected.
        tags_in_meta: True sends tags in the `_meta` of list entries, under `mcp-gen/tags`.
        cache_hints: Cache hints of all cacheable results; `cache_hints()` sets them per method.
            The default says that results are stale at once and private.
        experimental: Experimental capabilities by name, declared as given.
        extensions: Extensions without requests, or with requests that are answered elsewhere:
            the `EXTENSION` of a generated package, or a pair of it and its settings. Use
            `add_extension` for an extension with handlers.
        lifespan: Function `lifespan(server)` that returns an async context manager. It is entered
            once before the first client is served and left after the last one. Its value is
            `ctx.lifespan`, and its type that of the server: `Server[Database]`, so that handlers
            can take a `Context[Database]`.
        request_timeout_s: Seconds until a request times out; None for no limit. Requests that
            listen for notifications have no timeout.
        max_concurrent_requests: Most open requests of one session, or of one principal over HTTP
            without sessions; None for no limit.
        max_message_bytes: Longest message that a transport accepts; None for the default of the
            transport: 64 MiB, and 16 MiB over HTTP.
        keep_alive_s: Seconds between pings to each client, at revisions that have `ping`; None
            sends none.
        keep_alive_timeout_s: Seconds that a client has to answer a ping before its session ends.
        max_progress_per_s: Most progress notifications per second of one request; the one that
            reaches `total` is always sent. None for no limit.
        max_log_per_s: Most log messages of `ctx.log` per second and client; further ones are left
            out. None or 0 for no limit.
        max_log_bytes: Most bytes of the data of one log message; longer data is cut. None or 0 for
            no limit.
        peer_limits: Limits on what one client can cause: the size of requests in values, the number
            of subscriptions. See `PeerLimits` for the defaults.
        mask_errors: True sends nothing of a failure to clients but an id, which the log has too.
            A failure is any exception but the errors that are raised for clients: `McpError`,
            `ProtocolError`, `ToolError`, `ResourceNotFound` and `RequestTimeout`. False sends the
            text of a tool's exception in its result; see docs/failures.md.
        schema_timeout_s: Seconds that checking one value against a user-written JSON Schema may
            take, where the schema or the value is too large or complex to be checked at once; see
            `docs/schemas.md`. Then the call fails, and other calls are not affected.
        request_state_keys: Secrets of at least 16 bytes that protect the `requestState` of multi
            round-trip requests. The first key seals, every key opens. Processes that serve the
            same clients need the same keys. Without keys, this process makes a random one.
        request_state_ttl_s: Seconds until a `requestState` expires.
        max_rounds: Most rounds of one multi round-trip request; the next one fails.
        tasks: Limits and store of tasks; None for the defaults.
        session_state: Key, store and limits of `ctx.state`; None for the defaults.
        unknown_arguments: `"refuse"` calls of functions with arguments that they do not have, and
            name the nearest argument; or `"ignore"` such arguments. Tools and prompts may have it
            in their own way. A tool with an input schema of its own does as that says.
        hide_unauthorized: True leaves items with `scopes=` that the token of a request lacks out of
            lists, which are then private to their client. False shows them: a call is refused with
            the scopes that are missing, and the client can ask its user for them.

    Raises:
        UsageError: an unknown revision, a key that is too short, or a limit that is not above 0.
    """

    @checks_server
    def __init__(
        self,
        name: str,
        version: str = "0.0.0",
        *,
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: list[latest.Icon] | None = None,
        instructions: str | None = None,
        revisions: Sequence[str] = mcp_wire.REVISIONS,
        declare: Collection[Feature] = _LOGGING,
        page_size: int | None = 1_000,
        include_tags: Collection[str] | None = None,
        exclude_tags: Collection[str] = (),
        tags_in_meta: bool = False,
        cache_hints: CacheHints = CacheHints(),
        experimental: Mapping[str, dict[str, Any]] | None = None,
        extensions: Iterable[ExtensionArg] = (),
        lifespan: Callable[[Server[Any]], AbstractAsyncContextManager[App]] | None = None,
        request_timeout_s: float | None = None,
        max_concurrent_requests: int | None = None,
        max_message_bytes: int | None = None,
        keep_alive_s: float | None = None,
        keep_alive_timeout_s: float = 20.0,
        max_progress_per_s: float | None = 100.0,
        max_log_per_s: float | None = 1_000.0,
        max_log_bytes: int | None = 64 * 1024,
        peer_limits: PeerLimits = PeerLimits(),
        mask_errors: bool = False,
        schema_timeout_s: float = 1.0,
        request_state_keys: Sequence[str | bytes] = (),
        request_state_ttl_s: float = 600.0,
        max_rounds: int = 32,
        tasks: Tasks | None = None,
        session_state: SessionState | None = None,
        unknown_arguments: UnknownArguments = "refuse",
        hide_unauthorized: bool = False,
    ) -> None:
        check_unknown_arguments("Server", unknown_arguments)
        self.name = name
        self.info = latest.Implementation(
            name=name,
            version=version,
            title=title,
            description=description,
            website_url=website_url,
            icons=icons,
        )
        self.instructions = instructions
        self.experimental = experimental
        self.max_message_bytes = max_message_bytes
        kernel: Kernel[Context] = Kernel(
            handlers=ServerHandlers[Context](),
            hooks=ServerHooks(self._hooks_changed),
            revisions=select(revisions),
            context=partial(Context, self),
            offered=self._declared_capabilities,
            server_info=self.info,
            limits=Limits(
                request_timeout_s=request_timeout_s,
                max_concurrent_requests=max_concurrent_requests,
                keep_alive_s=keep_alive_s,
                keep_alive_timeout_s=keep_alive_timeout_s,
                max_progress_per_s=max_progress_per_s,
                max_log_per_s=max_log_per_s or None,
                max_log_bytes=max_log_bytes or None,
                schema_timeout_s=schema_timeout_s,
                peer=peer_limits,
            ),
            mask_errors=mask_errors,
        )
        self.notify = Notifier(kernel)
        """Notifications to clients: `list_changed` and resource updates."""
        self.logs = ClientLogs(kernel)
        """Log messages to clients, also as a handler for `logging`."""
        hints = Hints(cache_hints)
        declarations = Declarations(
            kernel,
            self.notify,
            info=self.info,
            instructions=instructions,
            experimental=experimental,
            hints=hints,
            features=declare,
            mounted=lambda: (mount.features() for mount in self.mounts),
        )
        changed = declarations.on_change
        self.visibility = visibility = Visibility.of(include_tags, exclude_tags)
        """Tags whose items clients see; `enable_tags` and `disable_tags` change it."""
        self.tools = ToolRegistry(
            changed("tools", self.notify.tool_list_changed), hints, visibility
        )
        """Registry of the tools."""
        self.tools.unknown_arguments = unknown_arguments
        self.resources = ResourceRegistry(
            changed("resources", self.notify.resource_list_changed), hints, visibility
        )
        """Registry of the resources and templates."""
        self.prompts = PromptRegistry(
            changed("prompts", self.notify.prompt_list_changed), hints, visibility
        )
        """Registry of the prompts."""
        self.prompts.unknown_arguments = unknown_arguments
        self.completions = Completions(changed("completions", None))
        """Registry of the completion functions."""
        self.resources.completable = self.prompts.completable = self.completions.add_choices
        features = (self.tools, self.resources, self.prompts, self.completions)
        parts = HandlerParts(kernel, declarations, self.notify, *features)
        kernel.handlers = Handlers(parts)
        self.mounts: Mounts = Mounts(self, parts)
        """Mounted servers, in order."""
        self._custom_methods = CustomMethods(kernel)
        self._extensions = ExtensionRegistry(kernel, self.notify)
        self._middleware = MiddlewareChain(
            kernel.middleware, kernel.outbound_middleware, self._hooks_changed
        )
        on_demand = AppsOnDemand(self._extensions, self.resources, self.filter_tools)
        task_manager = TasksOnDemand(parts, self._extensions, tasks, self._served)
        self.runtime = ServerParts(
            kernel,
            declarations=declarations,
            tasks=task_manager,
            apps=on_demand,
            runner=ServerRunner(
                kernel,
                tools=self.tools,
                mounts=self.mounts,
                lifespan=_lifespan_of(self, lifespan) if lifespan else None,
                max_message_bytes=max_message_bytes,
                has_state_keys=bool(request_state_keys),
                check=on_demand.check,
                end_tasks=task_manager.aclose,
                scoped_items=partial(scoped_items, self),
                notify=self.notify,
                join=lambda cluster: self.runtime.use_cluster(cluster),
            ),
            request_state_keys=request_state_keys,
            request_state_ttl_s=request_state_ttl_s,
            max_rounds=max_rounds,
            session_state=session_state,
        )
        """Internal parts that other rooms of this package use; not part of the public API."""
        self.runtime.hide_unauthorized = hide_unauthorized
        self.tools.enable_tasks = task_manager.enable
        self.tools.enable_apps = on_demand.add_tool
        self.tools.arms = kernel.extensions.arms
        if "tasks" in declare:
            task_manager.enable()
        self._set_page_size(page_size)
        if tags_in_meta:
            self._send_tags()
        for given in extensions:
            one, settings = given if isinstance(given, tuple) else (given, None)
            self.add_extension(one, settings=settings)

    @staticmethod
    def per_connection(factory: Callable[[], Server]) -> PerConnection[Server]:
        """Return an object that serves each connection with a server of its own.

        It has `run`, `serve`, `connect`, `serve_unix`, `serve_tcp` and `asgi` like a server. Over
        HTTP a connection is a session. Requests of revisions without sessions share one server,
        because their lists must not depend on the connection.

        Args:
            factory: Makes the server of a new connection.
        """
        # Imported here: most servers serve all clients.
        from mcp_gen.server.serving.per_connection import PerConnection

        return PerConnection(factory, Server, lambda server: server.runtime.runner)

    # --- composition ---

    @explains_calls("server.mount", 'server.mount("prefix", other)')
    def mount(
        self,
        prefix: str | None,
        other: Server | RemoteSession,
        *,
        separator: str = "_",
        include_tags: Collection[str] | None = None,
        exclude_tags: Collection[str] = (),
        scopes: Collection[str] = (),
    ) -> None:
        """Offer the features of another server: one of this process, or a client session.

            server.mount("weather", weather)                     # weather_forecast, ...
            server.mount("remote", await client.connect(URL))

        Names of tools and prompts get the prefix and the separator in front. URIs of resources and
        templates stay as they are. A name that is taken is refused here; of two items that get the
        same name or URI later, the server's own is used, else the one that was mounted first.

        A server of this process stays live: changes to its features are visible here at once. It
        keeps its own hooks, middleware, filters and lifespan, and in its handlers `ctx.server` is
        the mounted server. Its own session hooks and `revisions` are not used: those of the outer
        server are.

        Elicitation, sampling and roots requests of a remote server go to the client that made the
        call, if the mounted session belongs to `Client(..., forward_requests=True)`. The lists of a
        remote server are requested when a client first requests a list here.

        Args:
            prefix: Prefix of names; None for no prefix.
            other: The server to mount, or a session from `Client.connect` with a remote one.
            separator: Text between the prefix and each name.
            include_tags: Tags of which an item of the mounted server needs one; None if it needs
                none. Tags of a session's server are not known here: use `filter_tools`.
            exclude_tags: Tags whose items are left out.
            scopes: Scopes that the access token of every request to the mount needs, beside those
                of its items; see `tool`.

        Raises:
            UsageError: an invalid prefix, a name or URI that is taken, a server that would be
                mounted in itself, an object that cannot be mounted, or tags for a session.
        """
        check_prefix(prefix)
        visibility = Visibility.of(include_tags, exclude_tags)
        needed = check_scopes(scopes, f"mount {prefix!r}: scopes")
        if isinstance(other, Server):
            self.mounts.mount_server(prefix, other, separator, visibility, needed)
        else:
            self.mounts.mount_session(prefix, other, separator, visibility, needed)

    def unmount(self, mounted: str | Server | RemoteSession) -> None:
        """Remove a mount. Calls in progress go on.

        Args:
            mounted: Prefix of the mount, or the server or session that was mounted.

        Raises:
            UsageError: there is no such mount.
        """
        self.mounts.unmount(mounted)

    def _mounted_tool(self, name: str) -> ServerTool | None:
        return self.mounts.known_tool(name)

    async def _find_mounted(self, name: str) -> ServerTool | None:
        return await self.mounts.find_tool(name)

    # --- capabilities and hooks ---

    @property
    def hooks(self) -> ServerHooks:
        """Decorators that add hooks: `@server.hooks.before_call_tool`, and so on."""
        return self.runtime.kernel.hooks

    def _hooks_changed(self) -> None:
        self.tools.for_hooks = bool(self.hooks.call_tool or self.runtime.kernel.middleware)
        self.runtime.kernel.changed()

    def capabilities(self, profile: Profile | None = None) -> latest.ServerCapabilities:
        """Return the declared capabilities.

        Args:
            profile: Revision whose extensions are included; None leaves extensions out.
        """
        return self.runtime.declarations.capabilities(profile)

    def _declared_capabilities(self) -> frozenset[str]:
        return self.runtime.declarations.offered()

    def features(self) -> frozenset[str]:
        """Return the names of the declared features, those of mounts included."""
        return self.runtime.declarations.features()

    @property
    def tasks(self) -> TaskManager | None:
        """Task manager; None until a tool that runs as a task is registered."""
        return self.runtime.tasks.manager

    @property
    def apps(self) -> Apps | None:
        """MCP Apps of the server; None until there is a UI resource, or a tool with one."""
        return self.runtime.apps.apps

    # --- middleware ---

    @explains_calls("server.middleware", "@server.middleware")
    def middleware(self, middleware: M) -> M:
        """Add a middleware around every message from clients; usable as a decorator.

            @server.middleware
            async def timed(ctx, method, params, call_next):
                return await call_next(params)

        It wraps all requests and notifications of known methods, hooks included. It returns the
        result of `call_next` or another one. It may pass other params, skip `call_next`, or raise
        McpError. The middleware that was added first is outermost. A notification has no result.

        Args:
            middleware: Async function of `ctx`, the Context of the request; `method`, the method
                name; `params`, a wire type of the revision of the request; and `call_next`.

        Returns:
            The function itself.

        Raises:
            UsageError: the function is not async, or takes other arguments.
        """
        return self._middleware.add(middleware)

    def add_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around every message from clients; see `middleware`.

        Raises:
            UsageError: the function is not async, or takes other arguments.
        """
        self.middleware(middleware)

    def sending_middleware(self, middleware: M) -> M:
        """Add a middleware around every message to clients; usable as a decorator.

        It wraps requests and notifications, also those of `ctx.elicit`, `ctx.sample` and
        `ctx.list_roots` until 2025-11-25; later these are parts of results, which `middleware`
        wraps. It also wraps what servers of this process send that are mounted here, after their
        own. It does not wrap the cancellation of a request that was sent, so that a cancelled
        handler need not wait.

        Args:
            middleware: Async function like that of `middleware`. `ctx` is the Context of the
                request that the message belongs to, or the Session.

        Returns:
            The function itself.

        Raises:
            UsageError: the function is not async, or takes other arguments.
        """
        return self._middleware.add_sending(middleware)

    def add_sending_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around every message to clients; see `sending_middleware`.

        Raises:
            UsageError: the function is not async, or takes other arguments.
        """
        self.sending_middleware(middleware)

    # --- extensions and methods beside the protocol ---

    def add_extension(
        self,
        extension: Extension,
        handlers: OfferedHandlers | None = None,
        *,
        settings: Any = None,
    ) -> None:
        """Declare a protocol extension and answer its requests.

            from mcp_wire.extensions import tasks

            class Tasks(tasks.Handlers[Context]):
                async def get_task(self, ctx, params): ...

            server.add_extension(tasks.EXTENSION, Tasks())

        The extension is declared at the revisions that carry it: under `extensions` of the
        capabilities, or under `experimental` where the revision has no `extensions`. A request of
        the extension from a client that has not declared it is refused (see `Context.require`).
        Requests that `handlers` do not implement, and requests at other revisions, are unknown
        methods.

        Args:
            extension: The `EXTENSION` of a generated package.
            handlers: Instance of a subclass of the `Handlers` of that package; None for an
                extension without requests, or with requests that are answered elsewhere.
            settings: Settings to declare; None for none.

        Raises:
            UsageError: the extension or one of its methods is registered already, the settings do
                not fit it, or the handlers belong to another package.

        Source:
        https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation
        """
        self._extensions.add(extension, handlers, settings)

    def method(
        self,
        name: str,
        *,
        params: type[P],
        result: type[R],
        revisions: Sequence[str] = mcp_wire.REVISIONS,
    ) -> Callable[[RequestHandler[P, R]], RequestHandler[P, R]]:
        """Return a decorator that registers the handler of a request beside the protocol.

            @server.method("acme/search", params=Query, result=Found)
            async def search(ctx: Context, params: Query) -> Found: ...

        The request is answered after the handshake, where there is one. Hooks for any method, such
        as `before_any`, run around it. Declare it to clients with `Server(experimental=...)`.

        Args:
            name: Method name.
            params: Type of the params that msgspec can decode from a JSON object: a dataclass, a
                Struct or a TypedDict.
            result: Type of the result, serializable as a JSON object.
            revisions: Protocol revisions at which the request is answered.

        Raises:
            UsageError: a method name of the protocol, a name that is taken, a type that is not
                serializable, or a handler that is not async.
        """
        return self._custom_methods.request(name, params, result, revisions)

    def notification(
        self, name: str, *, params: type[P], revisions: Sequence[str] = mcp_wire.REVISIONS
    ) -> Callable[[NotificationHandler[P]], NotificationHandler[P]]:
        """Return a decorator that registers the handler of a notification beside the protocol.

        Args:
            name: Method name.
            params: Type of the params; see `method`.
            revisions: Protocol revisions at which the notification is received.

        Raises:
            UsageError: a method name of the protocol, a name that is taken, a type that is not
                serializable, or a handler that is not async.
        """
        return self._custom_methods.notification(name, params, revisions)

    # --- apps ---

    def ui_resource(self, uri: str, /, **described: Unpack[AppOptions]) -> Callable[[F], F]:
        """Return a decorator that registers a function as a UI resource (MCP Apps).

            @server.ui_resource("ui://clock/face", prefers_border=True)
            def face() -> str:
                return HTML

            @server.tool(ui="ui://clock/face")
            def time() -> Time: ...

        The function returns a whole HTML document, as text or as bytes. Clients without MCP Apps
        call the tool like any other: its result is for the model.

        `csp`, `permissions`, `domain` and `prefers_border` are sent with the list and with the
        content. A function that returns `Contents` with a `meta` replaces them for that content.

        Args:
            uri: URI with the scheme `ui`.
            described: `name`, `title`, `description`, `annotations`, `icons` and `meta` of the
                list entry; `csp`, the origins that the app may reach; `permissions`, what it
                requests of the browser; `domain`, the origin that it runs under; `prefers_border`;
                and the cache hints `ttl_ms` and `cache_scope`.

        Raises:
            UsageError: a URI of another scheme or one that is taken, an invalid origin, or an
                unknown permission.

        Source:
        https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx#ui-resource-format
        """

        def add(function: F) -> F:
            self.add_ui_resource(uri, function, **described)
            return function

        return add

    def add_ui_resource(
        self, uri: str, source: AppSource, /, **described: Unpack[AppOptions]
    ) -> None:
        """Register a function, text, bytes or a file as a UI resource (MCP Apps).

        Args:
            uri: URI with the scheme `ui`.
            source: Function that returns HTML, or the HTML itself. A `Path` is a file in UTF-8
                that is read for each request.
            described: See `ui_resource`.

        Raises:
            UsageError: see `ui_resource`.
        """
        self.runtime.apps.enable().add(uri, source, **described)


def _lifespan_of(
    server: Server[Any], make: Callable[[Server[Any]], AbstractAsyncContextManager[Any]]
) -> Lifespan[Any]:
    # Imported here: many servers have none.
    from mcp_gen.server.serving.lifespan import Lifespan

    return Lifespan(server, make)
