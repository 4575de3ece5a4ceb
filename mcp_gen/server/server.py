"""The server a program writes: what it offers, served over any transport at every revision."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.extensions import SERVER, Given
from mcp_gen.core.projection.project import project
from mcp_gen.core.revisions import select
from mcp_gen.server.api.lists import OffersLists
from mcp_gen.server.api.resources import OffersResources, ResourceBox
from mcp_gen.server.apps.offers_apps import OffersApps
from mcp_gen.server.context.context import Context
from mcp_gen.server.dispatch.custom_methods import OffersMethods
from mcp_gen.server.dispatch.extensions import OffersExtensions
from mcp_gen.server.dispatch.handlers import Handlers
from mcp_gen.server.dispatch.middleware import OffersMiddleware
from mcp_gen.server.input_requests.request_state import Kept, States
from mcp_gen.server.listing.cache_hints import CacheHints, Hints
from mcp_gen.server.mounting.mounts import Mounts
from mcp_gen.server.notifications.log_messages import Logs
from mcp_gen.server.notifications.notifier import News
from mcp_gen.server.prompts.completion import Completions, OffersCompletions
from mcp_gen.server.prompts.registry import OffersPrompts, PromptBox
from mcp_gen.server.serving.lifespan import Lifespan, MakeLifespan
from mcp_gen.server.serving.per_connection import PerConnection
from mcp_gen.server.serving.runner import Serves
from mcp_gen.server.tools.registry import OffersTools, ToolBox
from mcp_gen.session.duplex.server import ServerSession
from mcp_gen.session.kernel.kernel import Kernel
from mcp_gen.session.kernel.limits import Limits
from mcp_wire import latest
from mcp_wire.hooks import ServerHooks
from mcp_wire.profile import Profile

if TYPE_CHECKING:
    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.apps.apps import Apps
    from mcp_gen.server.tasks.manager import TaskBox
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.tools.tool import OfferedTool

__all__ = ["Feature", "Server"]

Feature: TypeAlias = Literal["completions", "logging", "prompts", "resources", "tasks", "tools"]


_LOGGING: tuple[Feature] = ("logging",)


class Server(
    OffersTools,
    OffersResources,
    OffersPrompts,
    OffersCompletions,
    OffersLists,
    OffersMethods,
    OffersApps,
    OffersExtensions,
    OffersMiddleware,
    Serves,
):
    """An MCP server.

    `instructions` tell a model how to use it. `revisions` limits the protocol revisions it offers;
    the default is every one there is. `offers` names features that are declared though there is
    nothing of them yet; what has something is declared anyway.

    `page_size` is how many items a page of a list has at most; without it there is one page.
    `cache` tells clients how long they may keep what they got.

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
    when that is not answered in `keep_alive_timeout_s`. A request sends `max_reports_per_s` reports
    of progress at most, beside the one that it is done.

    Raises:
        UsageError: no such revision, or a limit that is not above zero.
    A request that is answered in rounds takes its state to the client and back, for `state_ttl_s`
    at most. The first of `state_keys` protects it, each of them recognises it: several processes
    that serve one client need the same. Without them there is a random key for this process.
    `max_rounds` is how often a request may come with answers before it fails.

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
        offers: Collection[Feature] = _LOGGING,
        page_size: int | None = None,
        cache: CacheHints = CacheHints(),  # noqa: B008
        experimental: Mapping[str, dict[str, Any]] | None = None,
        extensions: Iterable[Given] = (),
        lifespan: MakeLifespan | None = None,
        request_timeout_s: float | None = None,
        max_concurrent_requests: int | None = None,
        max_message_bytes: int | None = None,
        keep_alive_s: float | None = None,
        keep_alive_timeout_s: float = 20.0,
        max_reports_per_s: float | None = 100.0,
        state_keys: Sequence[str | bytes] = (),
        state_ttl_s: float = 600.0,
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
        self.cache = cache
        self.hints = Hints(cache)
        self.experimental = experimental
        self.max_message_bytes = max_message_bytes
        self.lifespan_value: Any = None
        self.lifespan = Lifespan(self, lifespan) if lifespan else None
        self._served: dict[ServerSession[Context], asyncio.Event] = {}
        self._apps = []
        self._needs = 0
        self._is_kept = False
        self.mounts = Mounts(self, self._mount_handlers, self.goes_on_to_declare)
        self.states = States(state_keys, state_ttl_s)
        self.kept = Kept(state_ttl_s)
        if max_rounds < 1:
            raise UsageError(f"max_rounds={max_rounds}: a request has at least 1 round")
        self.max_rounds = max_rounds
        self._declared: set[str] = set(offers)
        self.kernel: Kernel[Context] = Kernel(
            handlers=Handlers(self),
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
                max_reports_per_s=max_reports_per_s,
            ),
        )
        self.notify = News(self.kernel)
        self.logs = Logs(self.kernel)
        hints = self.hints
        self.tools = ToolBox(self._changes("tools", self.notify.tool_list_changed), hints)
        self.resources = ResourceBox(
            self._changes("resources", self.notify.resource_list_changed), hints
        )
        self.prompts = PromptBox(self._changes("prompts", self.notify.prompt_list_changed), hints)
        self.tasks: TaskBox | None = None
        """The tasks, once there is a tool that runs as one."""
        self._task_options = tasks
        self.tools.takes_tasks = self.take_tasks
        self.apps: Apps | None = None
        """The apps, once there is one, or a tool that has one."""
        self.tools.takes_apps = lambda tool: self.use_apps().take(tool)
        if "tasks" in offers:
            self.take_tasks()
        self.completions = Completions(self._changes("completions", None))
        self.resources.completable = self.prompts.completable = self.completions.offer
        self._set_page_size(page_size)
        self.tools.arms = self.kernel.extensions.arms
        for given in extensions:
            one, settings = given if isinstance(given, tuple) else (given, None)
            self.add_extension(one, settings=settings)

    def _changes(self, feature: Feature, tell: Callable[[], None] | None) -> Callable[[], None]:
        """What is called when something of a feature has been added or removed."""

        def changed() -> None:
            if feature not in self._declared:
                self._declared.add(feature)
                self.declares_more()
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
        self._declared |= CAPABILITIES
        self.add_extension(EXTENSION, ExtensionHandlers(self.tasks))
        self.declares_more()

    def use_apps(self) -> Apps:
        """What the server keeps of its apps; with it, the extension is declared."""
        if self.apps is None:
            # Imported here: most servers have none.
            from mcp_gen.server.apps.apps import Apps

            self.apps = Apps(self)
        return self.apps

    def _rewrapped(self) -> None:
        """A hook or a middleware has been added."""
        self.tools.for_hooks = bool(self.hooks.call_tool or self.kernel.middleware)
        self.kernel.changed()

    @staticmethod
    def per_connection(factory: Callable[[], Server]) -> PerConnection:
        """What serves each connection with a server of its own, made by `factory`.

        It has `run`, `serve`, `connect` and `asgi` like a server. Over HTTP a connection is a
        session; requests of revisions without sessions share one server, because there what a
        client is shown may not depend on the connection.
        """
        return PerConnection(factory)

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
        goes to whoever made the call, if its client was made with `Client(..., relays=True)`; what
        it has is listed when a client first asks for a list.

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

    def _mounted_tool(self, name: str) -> OfferedTool | None:
        return self.mounts.known_tool(name)

    async def _find_mounted(self, name: str) -> OfferedTool | None:
        return await self.mounts.find_tool(name)

    def _mount_handlers(self) -> Handlers:
        # Imported here: most servers mount nothing.
        from mcp_gen.server.mounting.handlers import MountHandlers

        return MountHandlers(self)

    @property
    def hooks(self) -> ServerHooks:
        """Decorators that add hooks: `@server.hooks.before_call_tool`, and so on."""
        return self.kernel.hooks

    def capabilities(self, profile: Profile | None = None) -> latest.ServerCapabilities:
        """What the server declares; with a `profile` also of extensions, as its revision has it."""
        on = self.features()
        extensions, experimental = dict[str, Any](), dict(self.experimental or {})
        if profile is not None and self.kernel.extensions:
            extensions, more = self.kernel.extensions.capabilities(SERVER, profile)
            experimental |= more
        return latest.ServerCapabilities(
            experimental=experimental or None,
            extensions=extensions or None,
            completions={} if "completions" in on else None,
            logging={} if "logging" in on else None,
            prompts=latest.PromptsCapability(list_changed=True) if "prompts" in on else None,
            resources=latest.ResourcesCapability(subscribe=True, list_changed=True)
            if "resources" in on
            else None,
            tools=latest.ToolsCapability(list_changed=True) if "tools" in on else None,
        )

    def capabilities_at(self, profile: Profile, *, known: bool = True) -> Any:
        """What the server declares at a revision, in its types; `known` are clients it can tell."""
        declared = project(self.capabilities(profile), profile.revision).value
        if self.tasks is None or profile.tasks != "core":
            return declared
        from mcp_gen.server.tasks.core_protocol import with_capability

        return with_capability(declared, profile, lists=known)

    def _offered(self) -> frozenset[str]:
        on = self.features()
        return on | {"resources.subscribe"} if "resources" in on else on

    def features(self) -> frozenset[str]:
        """The features that are declared: its own, and those of what is mounted."""
        return frozenset(self._declared).union(*(mount.features() for mount in self.mounts))

    def goes_on_to_declare(self, features: frozenset[str]) -> None:
        """What clients were told stays true when what is mounted goes: its lists are empty."""
        self._declared |= features

    def declares_more(self) -> None:
        """More is declared than before, or less: what answers is routed anew."""
        self.kernel.changed()
        for mount in list(self.notify.above):
            mount.declared()
