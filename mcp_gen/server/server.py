"""The server a program writes: what it offers, served over any transport at every revision."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import mcp_wire
from mcp_gen.core.extensions.extensions import Given
from mcp_gen.core.revisions import select
from mcp_gen.server.api.lists import ListsApi
from mcp_gen.server.api.prompts import CompletionsApi, PromptsApi
from mcp_gen.server.api.resources import ResourcesApi
from mcp_gen.server.api.tools import ToolsApi
from mcp_gen.server.context.context import Context
from mcp_gen.server.dispatch.custom_methods import OffersMethods
from mcp_gen.server.dispatch.declarations import Declarations
from mcp_gen.server.dispatch.extensions import OffersExtensions
from mcp_gen.server.dispatch.handlers import HandlerParts, Handlers
from mcp_gen.server.dispatch.middleware import Middleware, MiddlewareChain
from mcp_gen.server.listing.cache_hints import CacheHints, Hints
from mcp_gen.server.mounting.mounts import Mounts
from mcp_gen.server.notifications.log_messages import ClientLogs
from mcp_gen.server.notifications.notifier import Notifier
from mcp_gen.server.prompts.completion import Completions
from mcp_gen.server.prompts.registry import PromptRegistry
from mcp_gen.server.request_services import Runtime
from mcp_gen.server.resources.registry import ResourceRegistry
from mcp_gen.server.serving.lifespan import Lifespan, MakeLifespan
from mcp_gen.server.serving.per_connection import PerConnection
from mcp_gen.server.serving.runner import Serves
from mcp_gen.server.tools.registry import ToolRegistry
from mcp_gen.session.duplex.server import ServerConnection
from mcp_gen.session.kernel.kernel import Kernel
from mcp_gen.session.kernel.limits import Limits
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers
from mcp_wire.hooks import ServerHooks
from mcp_wire.profile import Profile

if TYPE_CHECKING:
    from typing import Unpack

    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.apps.apps import Apps
    from mcp_gen.server.apps.resource import AppOptions, AppSource
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.tools.tool import ServerTool

__all__ = ["Feature", "Server"]

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=Middleware)
Feature: TypeAlias = Literal["completions", "logging", "prompts", "resources", "tasks", "tools"]


_LOGGING: tuple[Feature] = ("logging",)


class Server(
    ToolsApi,
    ResourcesApi,
    PromptsApi,
    CompletionsApi,
    ListsApi,
    OffersMethods,
    OffersExtensions,
    Serves,
):
    """An MCP server.

    `instructions` tell a model how to use it. `revisions` limits the protocol revisions it offers;
    the default is every one there is. `declare` names features that are declared though there is
    nothing of them yet; what has something is declared anyway.

    `page_size` is how many items a page of a list has at most; without it there is one page.
    `cache_hints` tells clients how long they may keep what they got.

    `experimental` is declared as it is, by name: what a program offers beside the protocol.
    `extensions` are those that have no requests to be answered, or whose requests are answered
    elsewhere: each is the EXTENSION of a generated package, or that and its settings. For others
    see `add_extension`.

    `lifespan(server)` is an async context manager, entered once before the first client is served
    and left after the last; what it gives is `ctx.lifespan`.

    `request_timeout_s` is for how long a request may be answered, `max_concurrent_requests` how
    many may be open in one session (over HTTP without sessions: of one principal),
    `max_message_bytes` how long a message may be that a transport takes in. Where the revision has
    pings, clients are asked every `keep_alive_s` whether they are still there; a session is ended
    when that is not answered in `keep_alive_timeout_s`. A request sends `max_progress_per_s`
    reports of progress at most, beside the one that it is done.

    Raises:
        UsageError: no such revision, or a limit that is not above zero.
    A request that is answered in rounds takes its state to the client and back, for
    `request_state_ttl_s` at most. The first of `request_state_keys` protects it, each of them
    recognises it: several processes that serve one client need the same. Without them there is a
    random key for this process. `max_rounds` is how often a request may come with answers before it
    fails.

    `tasks` says for how long tasks are kept, how many, and where.
    """

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
        page_size: int | None = None,
        cache_hints: CacheHints = CacheHints(),  # noqa: B008
        experimental: Mapping[str, dict[str, Any]] | None = None,
        extensions: Iterable[Given] = (),
        lifespan: MakeLifespan[Server] | None = None,
        request_timeout_s: float | None = None,
        max_concurrent_requests: int | None = None,
        max_message_bytes: int | None = None,
        keep_alive_s: float | None = None,
        keep_alive_timeout_s: float = 20.0,
        max_progress_per_s: float | None = 100.0,
        request_state_keys: Sequence[str | bytes] = (),
        request_state_ttl_s: float = 600.0,
        max_rounds: int = 32,
        tasks: Tasks | None = None,
    ) -> None:
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
        self.hints = Hints(cache_hints)
        self.experimental = experimental
        self.max_message_bytes = max_message_bytes
        self.lifespan = Lifespan(self, lifespan) if lifespan else None
        self._served: dict[ServerConnection[Context], asyncio.Event] = {}
        self._apps = []
        self._needs = 0
        self._is_kept = False
        self.kernel: Kernel[Context] = Kernel(
            handlers=ServerHandlers[Context](),
            hooks=ServerHooks(self._rewrapped),
            revisions=select(revisions),
            context=partial(Context, self),
            offered=self._offered,
            server_info=self.info,
            limits=Limits(
                request_timeout_s=request_timeout_s,
                max_concurrent_requests=max_concurrent_requests,
                keep_alive_s=keep_alive_s,
                keep_alive_timeout_s=keep_alive_timeout_s,
                max_progress_per_s=max_progress_per_s,
            ),
        )
        self.runtime = Runtime(
            self.kernel,
            request_state_keys=request_state_keys,
            request_state_ttl_s=request_state_ttl_s,
            max_rounds=max_rounds,
        )
        self._middleware = MiddlewareChain(self.kernel, self._rewrapped)
        self.notify = Notifier(self.kernel)
        self.logs = ClientLogs(self.kernel)
        self.declarations = Declarations(
            self.kernel,
            self.notify,
            info=self.info,
            instructions=instructions,
            experimental=experimental,
            hints=self.hints,
            features=declare,
            mounted=lambda: (mount.features() for mount in self.mounts),
        )
        self.mounts = Mounts(self, self._mount_handlers, self.declarations.keep)
        hints = self.hints
        self.tools = ToolRegistry(self._changes("tools", self.notify.tool_list_changed), hints)
        self.resources = ResourceRegistry(
            self._changes("resources", self.notify.resource_list_changed), hints
        )
        self.prompts = PromptRegistry(
            self._changes("prompts", self.notify.prompt_list_changed), hints
        )
        self.tools.enable_tasks = self.take_tasks
        self.apps: Apps | None = None
        """The apps, once there is one, or a tool that has one."""
        self.tools.enable_apps = lambda tool: self.use_apps().add_tool(tool)
        self.completions = Completions(self._changes("completions", None))
        self.resources.completable = self.prompts.completable = self.completions.offer
        features = (self.tools, self.resources, self.prompts, self.completions)
        parts = HandlerParts(self.kernel, self.declarations, self.notify, *features)
        self.use_handlers(Handlers(parts))
        self.tasks: TaskManager | None = None
        """The tasks, once there is a tool that runs as one."""
        self._task_options = tasks
        if "tasks" in declare:
            self.take_tasks()
        self._set_page_size(page_size)
        self.tools.arms = self.kernel.extensions.arms
        for given in extensions:
            one, settings = given if isinstance(given, tuple) else (given, None)
            self.add_extension(one, settings=settings)

    def use_handlers(self, handlers: Handlers) -> None:
        """Answer requests with these handlers."""
        self.handlers = handlers
        self.kernel.handlers = handlers

    def _changes(self, feature: Feature, tell: Callable[[], None] | None) -> Callable[[], None]:
        """Return the callback for when items of a feature have been added or removed."""

        def changed() -> None:
            self.declarations.add(feature)
            if tell:
                tell()

        return changed

    def take_tasks(self) -> None:
        """Keep tasks from now on; the first tool that runs as one does this by itself."""
        if self.tasks is not None:
            return
        # Imported here: most servers have none.
        from mcp_gen.server.tasks.core_protocol import CAPABILITIES
        from mcp_gen.server.tasks.extension_protocol import ExtensionHandlers
        from mcp_gen.server.tasks.options import Tasks
        from mcp_gen.server.tasks.setup import create_task_manager
        from mcp_wire.extensions.tasks import EXTENSION

        self.tasks = create_task_manager(
            self.kernel,
            self.tools,
            self.notify.listeners,
            self._listening,
            self._task_options or Tasks(),
        )
        self.handlers.take_tasks(self.tasks)
        self.declarations.keep(CAPABILITIES)
        self.declarations.has_tasks = True
        self.add_extension(EXTENSION, ExtensionHandlers(self.tasks))
        self.declarations.changed()

    def use_apps(self) -> Apps:
        """What the server keeps of its apps; with it, the extension is declared."""
        if self.apps is None:
            # Imported here: most servers have none.
            from mcp_gen.server.apps.apps import Apps

            self.apps = Apps(
                self.kernel.extensions, self.add_extension, self.resources, self.filter_tools
            )
        return self.apps

    def _rewrapped(self) -> None:
        """A hook or a middleware has been added."""
        self.tools.for_hooks = bool(self.hooks.call_tool or self.kernel.middleware)
        self.kernel.changed()

    @staticmethod
    def per_connection(factory: Callable[[], Server]) -> PerConnection[Server]:
        """What serves each connection with a server of its own, made by `factory`.

        It has `run`, `serve`, `connect` and `asgi` like a server. Over HTTP a connection is a
        session; requests of revisions without sessions share one server, because there what a
        client is shown may not depend on the connection.
        """
        return PerConnection(factory, Server)

    # --- composition ---

    def mount(
        self, prefix: str | None, other: Server | RemoteSession, *, separator: str = "_"
    ) -> None:
        """Offer what another server has: one of this process, or a client's session.

            server.mount("weather", weather)                     # weather_forecast, ...
            server.mount("remote", await client.connect(URL))

        Its tools and prompts get the prefix and the separator in front of their names; without a
        prefix they keep them. URIs of resources and templates stay as they are. Of two under one
        name or URI the server's own is used, or else the one that was mounted first.

        A server of this process stays as it is: what is added to it or removed is seen here, its
        hooks, middleware, filters and lifespan are its own, and `ctx.server` is it. Session hooks
        and `revisions` are of the outer one, whose clients these are. What a session's server asks
        goes to whoever made the call, if its client was made with `Client(...,
        forward_requests=True)`; what it has is listed when a client first asks for a list.

        Raises:
            UsageError: a prefix that no name may begin with, a name or URI that is there already,
                a server that would be mounted in itself, or something that cannot be mounted.
        """
        if isinstance(other, Server):
            self.mounts.mount_server(prefix, other, separator)
        else:
            self.mounts.mount_session(prefix, other, separator)

    def unmount(self, mounted: str | Server | RemoteSession) -> None:
        """Offer it no longer: by its prefix, or what was mounted. Calls under way go on.

        Raises:
            UsageError: nothing of that kind is mounted.
        """
        self.mounts.unmount(mounted)

    def _mounted_tool(self, name: str) -> ServerTool | None:
        return self.mounts.known_tool(name)

    async def _find_mounted(self, name: str) -> ServerTool | None:
        return await self.mounts.find_tool(name)

    def _mount_handlers(self) -> Handlers:
        # Imported here: most servers mount nothing.
        from mcp_gen.server.mounting.handlers import MountHandlers

        self.handlers = MountHandlers(self.handlers.parts, self)
        return self.handlers

    @property
    def hooks(self) -> ServerHooks:
        """Decorators that add hooks: `@server.hooks.before_call_tool`, and so on."""
        return self.kernel.hooks

    def capabilities(self, profile: Profile | None = None) -> latest.ServerCapabilities:
        """Return the declared capabilities; with a `profile` those of extensions too."""
        return self.declarations.capabilities(profile)

    def _offered(self) -> frozenset[str]:
        return self.declarations.offered()

    def features(self) -> frozenset[str]:
        """Return the declared features, those of mounts included."""
        return self.declarations.features()

    def declares_more(self) -> None:
        """More is declared than before, or less: what answers is routed anew."""
        self.declarations.changed()

    # --- apps ---

    def ui_resource(self, uri: str, /, **described: Unpack[AppOptions]) -> Callable[[F], F]:
        """Offer the HTML that a function returns as an app, for tools to show their results with.

            @server.ui_resource("ui://clock/face", prefers_border=True)
            def face() -> str:
                return HTML

            @server.tool(ui="ui://clock/face")
            def time() -> Time: ...

        It is a whole document, as text or as bytes. Where clients do not show apps, the tool is
        one like any other: what it returns is for the model to read.

        What the app may reach, and what it asks the browser for, stands on the list and beside what
        is read; a function that returns `Contents` with a `meta` of its own says it anew.

        Raises:
            UsageError: a URI of another scheme or one that is there already, an origin or a
                permission that is none.

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
        """Offer a function's HTML, a text, bytes or a file as an app; see `ui_resource`.

        A file, given as a `Path`, is in UTF-8, and is read anew each time.
        """
        self.use_apps().add(uri, source, **described)

    # --- middleware ---

    def middleware(self, middleware: M) -> M:
        """Add a middleware around what comes from clients; usable as a decorator.

        `ctx` is the Context of the request, `params` the wire type of the revision it is made at.

        Raises:
            UsageError: it is not async, or takes something else.
        """
        return self._middleware.add(middleware)

    def add_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around what comes from clients; see `middleware`."""
        self.middleware(middleware)

    def sending_middleware(self, middleware: M) -> M:
        """Add a middleware around what goes to clients; usable as a decorator.

        It runs around requests and notifications alike. `ctx` is the Context of the request that
        they belong to, or the Session. Cancelling a request that was sent is not wrapped: whoever
        cancels it is not made to wait.

        Raises:
            UsageError: it is not async, or takes something else.
        """
        return self._middleware.add_sending(middleware)

    def add_sending_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around what goes to clients; see `sending_middleware`."""
        self.sending_middleware(middleware)
