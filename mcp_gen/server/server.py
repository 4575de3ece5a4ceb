"""The server a program writes: tools and hooks, served over any transport at every revision."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.project import project
from mcp_gen.core.revisions import listed, select
from mcp_gen.server.context import Context
from mcp_gen.server.tools import FunctionTool, ToolBox
from mcp_gen.session.kernel import Kernel
from mcp_gen.session.server import ServerSession
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers
from mcp_wire.hooks import ServerHooks

if TYPE_CHECKING:
    from mcp_gen.core.transport import Duplex
    from mcp_gen.server.tools import CallParams
    from mcp_gen.transports.http import AsgiApp
    from mcp_wire import common

__all__ = ["Server"]

F = TypeVar("F", bound=Callable[..., Any])


class Server:
    """An MCP server.

    `instructions` tell a model how to use it. `revisions` limits the protocol revisions it offers;
    the default is every one there is.
    """

    def __init__(
        self,
        name: str,
        version: str = "0.0.0",
        *,
        title: str | None = None,
        instructions: str | None = None,
        revisions: Sequence[str] = mcp_wire.REVISIONS,
    ) -> None:
        self.name = name
        self.info = latest.Implementation(name=name, version=version, title=title)
        self.instructions = instructions
        self.tools = ToolBox()
        self.kernel: Kernel[Context] = Kernel(
            handlers=_Handlers(self),
            hooks=ServerHooks(self._hooked),
            revisions=select(revisions),
            context=Context,
            offered=self._offered,
            server_info=self.info,
        )

    def _hooked(self) -> None:
        """A hook has been added."""
        self.tools.for_hooks = bool(self.hooks.call_tool)
        self.kernel.changed()

    @property
    def hooks(self) -> ServerHooks:
        """Decorators that add hooks: `@server.hooks.before_call_tool`, and so on."""
        return self.kernel.hooks

    # --- features ---

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: latest.ToolAnnotations | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **described: Any) -> Any:
        """Offer a function as a tool: hints become the schema, the docstring the description.

        Raises:
            UsageError: a name that is taken or not allowed, or a parameter without a type.
        """

        def add(function: F) -> F:
            self.add_tool(function, **described)
            return function

        return add if function is None else add(function)

    def add_tool(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: latest.ToolAnnotations | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        """Offer a function as a tool; see `tool`."""
        self.tools.add(
            FunctionTool(
                function,
                name,
                title=title,
                description=description or (_first_paragraph(function.__doc__)),
                annotations=annotations,
                icons=icons,
                meta=meta,
            )
        )
        self.kernel.changed()

    def capabilities(self) -> latest.ServerCapabilities:
        """What the server declares."""
        tools = latest.ToolsCapability() if len(self.tools) else None
        return latest.ServerCapabilities(tools=tools)

    def _offered(self) -> frozenset[str]:
        return frozenset({"tools"} if len(self.tools) else ())

    # --- serving ---

    def run(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
    ) -> None:
        """Serve until the client hangs up, or the process is told to stop."""
        if transport == "stdio":
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(self._run_stdio())
        elif transport == "http":
            import uvicorn

            uvicorn.run(self.asgi(), host=host, port=port, log_level="warning")
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

    def asgi(self, path: str = "/mcp") -> AsgiApp:
        """An ASGI app that answers POSTs at `path`. Mount it anywhere."""
        from mcp_gen.session.exchange import HttpExchange
        from mcp_gen.transports.http import AsgiApp

        return AsgiApp(HttpExchange(self.kernel), path)


class _Handlers(ServerHandlers[Context]):
    """What the server answers to each request."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def initialize(
        self, ctx: Context, params: common.InitializeRequestParams
    ) -> common.InitializeResult:
        offered = self._server.kernel.handshakes
        profile = mcp_wire.profile(listed(params.protocol_version, offered) or offered[-1])
        ctx.caller.capabilities = params.capabilities
        ctx.caller.client_info = params.client_info
        ctx.caller.agreed = profile
        result: common.InitializeResult = mcp_wire.types(profile.revision).InitializeResult(
            protocol_version=profile.revision,
            capabilities=project(self._server.capabilities(), profile.revision).value,
            server_info=project(self._server.info, profile.revision).value,
            instructions=self._server.instructions,
        )
        return result

    async def ping(self, ctx: Context, params: common.RequestParams) -> common.EmptyResult:
        return latest.EmptyResult()

    async def discover(self, ctx: Context, params: common.RequestParams) -> common.DiscoverResult:
        return latest.DiscoverResult(
            supported_versions=list(self._server.kernel.per_request),
            capabilities=self._server.capabilities(),
            instructions=self._server.instructions,
        )

    async def list_tools(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListToolsResult:
        result: common.ListToolsResult = mcp_wire.types(ctx.revision).ListToolsResult(
            tools=self._server.tools.listed(ctx.revision)
        )
        return result

    async def call_tool(self, ctx: Context, params: CallParams) -> common.CallToolResult:
        return await self._server.tools.call(ctx, params)


def _first_paragraph(text: str | None) -> str | None:
    if not text:
        return None
    lines = text.strip().partition("\n\n")[0].splitlines()
    return " ".join(line.strip() for line in lines)
