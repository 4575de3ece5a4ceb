"""The server a program writes: what it offers, served over any transport at every revision."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import select
from mcp_gen.server.completions import Completions, OffersCompletions
from mcp_gen.server.context import Context
from mcp_gen.server.handlers import Handlers
from mcp_gen.server.hints import CacheHints
from mcp_gen.server.logs import Logs
from mcp_gen.server.news import News
from mcp_gen.server.prompts import OffersPrompts, PromptBox
from mcp_gen.server.resources import OffersResources, ResourceBox
from mcp_gen.server.tools import OffersTools, ToolBox
from mcp_gen.session.kernel import Kernel
from mcp_gen.session.server import ServerSession
from mcp_wire import latest
from mcp_wire.hooks import ServerHooks

if TYPE_CHECKING:
    from mcp_gen.core.event_store import EventStore
    from mcp_gen.core.transport import Duplex
    from mcp_gen.session.peer import Session
    from mcp_gen.transports.http import AsgiApp, Scope

__all__ = ["Feature", "Server"]

Feature: TypeAlias = Literal["completions", "logging", "prompts", "resources", "tools"]


_LOGGING: tuple[Feature] = ("logging",)


class Server(OffersTools, OffersResources, OffersPrompts, OffersCompletions):
    """An MCP server.

    `instructions` tell a model how to use it. `revisions` limits the protocol revisions it offers;
    the default is every one there is. `offers` names features that are declared though there is
    nothing of them yet; what has something is declared anyway.

    `page_size` is how many items a page of a list has at most; without it there is one page.
    `cache` tells clients how long they may keep what they got.
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
        self.page_size = page_size
        self.lifespan_value: Any = None
        self._declared: set[str] = set(offers)
        self.kernel: Kernel[Context] = Kernel(
            handlers=Handlers(self),
            hooks=ServerHooks(self._hooked),
            revisions=select(revisions),
            context=partial(Context, self),
            offered=self._offered,
            server_info=self.info,
        )
        self.notify = News(self.kernel)
        self.logs = Logs(self)
        self.tools = ToolBox(self._changes("tools", self.notify.tool_list_changed), cache)
        self.resources = ResourceBox(
            self._changes("resources", self.notify.resource_list_changed), cache
        )
        self.prompts = PromptBox(self._changes("prompts", self.notify.prompt_list_changed), cache)
        self.completions = Completions(self._changes("completions", None))

    def _changes(self, feature: Feature, tell: Callable[[], None] | None) -> Callable[[], None]:
        """What is called when something of a feature has been added or removed."""

        def changed() -> None:
            if feature not in self._declared:
                self._declared.add(feature)
                self.kernel.changed()
            if tell:
                tell()

        return changed

    def _hooked(self) -> None:
        """A hook has been added."""
        self.tools.for_hooks = bool(self.hooks.call_tool)
        self.kernel.changed()

    @property
    def hooks(self) -> ServerHooks:
        """Decorators that add hooks: `@server.hooks.before_call_tool`, and so on."""
        return self.kernel.hooks

    def sessions(self) -> list[Session]:
        """The sessions that are open."""
        return list(self.kernel.sessions)

    def capabilities(self) -> latest.ServerCapabilities:
        """What the server declares."""
        on = self._declared
        return latest.ServerCapabilities(
            completions={} if "completions" in on else None,
            logging={} if "logging" in on else None,
            prompts=latest.PromptsCapability(list_changed=True) if "prompts" in on else None,
            resources=latest.ResourcesCapability(subscribe=True, list_changed=True)
            if "resources" in on
            else None,
            tools=latest.ToolsCapability(list_changed=True) if "tools" in on else None,
        )

    def _offered(self) -> frozenset[str]:
        more = {"resources.subscribe"} if "resources" in self._declared else set[str]()
        return frozenset(self._declared | more)

    # --- serving ---

    def run(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        **options: Any,
    ) -> None:
        """Serve until the client hangs up, or the process is told to stop.

        For HTTP, `options` are those of `asgi`: `path` and so on. A process that is told to stop by
        SIGTERM ends its streams, and what is being answered gets a moment.
        """
        if transport == "stdio":
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(self._run_stdio())
        elif transport == "http":
            from mcp_gen.server.web import run_http

            run_http(self.asgi(**options), host, port)
        else:
            raise UsageError(f"transport {transport!r}: expected 'stdio' or 'http'")

    async def _run_stdio(self) -> None:
        from mcp_gen.transports.stdio import StdioTransport

        # What is there now stays: the collector need not look at it again.
        gc.freeze()
        await self.serve(StdioTransport())

    async def serve(self, transport: Duplex) -> None:
        """Serve one client over a transport, until it hangs up."""
        await ServerSession(self.kernel, transport).serve()

    def asgi(
        self,
        path: str = "/mcp",
        *,
        stateless: bool = False,
        json_only: bool = False,
        sse_path: str | None = None,
        event_store: EventStore | None = None,
        session_idle_s: float = 1800.0,
        session_lifetime_s: float = 86_400.0,
        max_sessions: int = 10_000,
        max_body_bytes: int = 16 * 1024 * 1024,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] | None = None,
        cross_origin: bool = False,
        sse_after_s: float = 10.0,
        keep_alive_s: float = 15.0,
        principal: Callable[[Scope], str | None] | None = None,
    ) -> AsgiApp:
        """An ASGI app that serves every revision at `path`. Mount it anywhere; it starts itself.

        A request is answered with JSON, unless something is sent before its answer, or it takes
        longer than `sse_after_s`: then with a stream of events, which `keep_alive_s` of silence
        makes send a sign of life. With `json_only` it is JSON always: notifications of a request
        are left out, and clients can only be asked on the stream that they open themselves.

        Revisions with a handshake have sessions. One ends after `session_idle_s` without a word
        from its client or anything open, and after `session_lifetime_s` in any case; if there are
        `max_sessions`, one that has been silent for a minute makes room, or else the next is told
        to come back later (503). `event_store` keeps what clients that lost their connection come
        back for; by default some megabytes of memory do. With `stateless` these revisions are
        served without sessions, so that any process can answer any request: clients can then be
        asked nothing, and told nothing but what belongs to a request.

        At `sse_path`, if it is given, clients of 2024-11-05 open their stream of events.

        What comes over loopback must name a loopback host, and an origin on one, or one of
        `allowed_hosts` and `allowed_origins` (both without wildcards; behind a proxy on the same
        machine, list the proxy's name). What comes otherwise must name an allowed host if any are
        listed, and no origin but an allowed one. With `cross_origin` browsers are told that pages
        of these origins may ask.

        `principal` says who the client of an HTTP request is, from its scope; by default
        `scope["mcp_gen.principal"]` does, which an authenticating ASGI middleware can set. A
        session belongs to the one who began it.

        Raises:
            UsageError: a limit that is not above 0, a wildcard, a path without a slash.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
        """
        from mcp_gen.server.web import asgi_app
        from mcp_gen.session.http_sessions import SessionLimits

        return asgi_app(
            self,
            path,
            sse_path,
            stateless=stateless,
            event_store=event_store,
            limits=SessionLimits(max_sessions, session_idle_s, session_lifetime_s),
            json_only=json_only,
            max_body_bytes=max_body_bytes,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            cross_origin=cross_origin,
            sse_after_s=sse_after_s,
            keep_alive_s=keep_alive_s,
            principal=principal,
        )
