"""The tools of a server: added, listed, found and called."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

import msgspec
from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core.error_groups import sentence, speaking
from mcp_gen.core.errors import InvalidParams, McpError, ToolError, UsageError
from mcp_gen.server.api.transforms import TransformsTools
from mcp_gen.server.content.results import failed
from mcp_gen.server.functions.suggestions import one_of
from mcp_gen.server.input_requests.run import in_rounds
from mcp_gen.server.listing.listing import Listing
from mcp_gen.server.tools.function_tool import FunctionTool
from mcp_gen.server.tools.tool import BadArguments, OfferedTool, TaskSupport
from mcp_gen.session.messages.channel import is_left
from mcp_wire import Wire
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.server import Server
    from mcp_gen.server.tools.schema_tool import RawHandler
    from mcp_wire import common, latest
    from mcp_wire.extension import Extension
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = ["OffersTools", "ToolBox", "ToolHandlers", "made_tool"]

F = TypeVar("F", bound=Callable[..., Any])
CallParams: TypeAlias = "common.CallToolRequestParams | common.RawCallToolRequestParams"

_log = logging.getLogger("mcp_gen.server")
_NULL = Raw(b"null")


class ToolBox:
    """The tools of a server, in the order in which they were added: `len`, `in`, iteration."""

    def __init__(self, changed: Callable[[], None], hints: Hints) -> None:
        self.listing: Listing[OfferedTool] = Listing(
            "tool",
            result="ListToolsResult",
            field="tools",
            describe=lambda tool: tool.tool,
            finish=_with_support,
            changed=changed,
            hints=hints,
        )
        self.for_hooks = False
        """Whether hooks see the results: then these are of the newest types, at every revision."""
        self.arms: Mapping[type[Any], Extension] = {}
        """What calls may also be answered with, by extensions that clients must have declared."""
        self.takes_tasks: Callable[[], None] | None = None
        """Called with the first tool that runs as a task, before it is added."""
        self.takes_apps: Callable[[OfferedTool], None] | None = None
        """Called with each tool that has to do with an app, before it is added."""
        self.run_in_threads = True
        """Whether tools that are not async run in threads, where they do not say it themselves."""

    def __len__(self) -> int:
        return len(self.listing.items)

    def __iter__(self) -> Iterator[OfferedTool]:
        return iter(self.listing.items)

    def __contains__(self, name: object) -> bool:
        return name in self.listing.items

    @property
    def names(self) -> list[str]:
        """The names of the tools."""
        return [tool.name for tool in self]

    def get(self, name: str) -> OfferedTool | None:
        """The tool of that name."""
        return self.listing.items.get(name)

    def __getitem__(self, name: str) -> OfferedTool:
        """The tool of that name, as `transformed` and `Server.add_tool` take it.

        Raises:
            UsageError: there is none.
        """
        tool = self.get(name)
        if tool is None:
            raise UsageError(f"there is no tool {name!r}{one_of(name, self.names)}")
        return tool

    def add(self, tool: OfferedTool) -> None:
        """Add a tool.

        Raises:
            UsageError: there is one of that name.
        """
        self._prepare(tool)
        self.listing.items.add(tool.name, tool)

    def replace(self, name: str, tool: OfferedTool) -> None:
        """Put a tool in the place of another.

        Raises:
            UsageError: there is none of that name, or one that has the new tool's name.
        """
        self._prepare(tool)
        self.listing.items.replace(name, tool.name, tool)

    def _prepare(self, tool: OfferedTool) -> None:
        if tool.task is not None and self.takes_tasks is not None:
            self.takes_tasks()
        if tool.ui is not None and self.takes_apps is not None:
            self.takes_apps(tool)

    async def call(
        self, ctx: Context, params: CallParams
    ) -> common.CallToolResult | common.InputRequiredResult:
        """Call the tool that is named.

        Raises:
            InvalidParams: no such tool, or arguments that it does not take where the revision
                answers them with a protocol error.
            McpError: raised by the tool.
        """
        tool = self.listing.find(ctx, params.name)
        if tool is None:
            raise InvalidParams(f"unknown tool: {params.name}")
        given: Any = params.arguments
        try:
            arguments = tool.decode(None if given is UNSET or given == _NULL else given)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _bad_arguments(ctx, tool, given, error)
        try:
            made = await tool.call(ctx, arguments)
            if self.arms:
                ctx.allow(made)
            for_hooks = self.for_hooks
            return tool.output.result(
                made,
                mcp_wire.LATEST if for_hooks else ctx.caller.profile.revision,
                for_hooks or bool(ctx.server.kernel.middleware),
            )
        except McpError:
            raise
        except BadArguments as error:
            return _bad_arguments(ctx, tool, given, error)
        except ToolError as error:
            return failed(str(error))
        except SystemExit as error:
            # A library that was made for the command line; the server has more to do.
            _log.exception("tool %s failed", tool.name)
            return failed(f"SystemExit: {error}")
        except Exception as error:
            if isinstance(told := speaking(error), McpError):
                raise told from None  # out of a group
            if is_left(error):
                _log.debug("tool %s: %s", tool.name, told)
            else:
                _log.exception("tool %s failed", tool.name)
            return failed(sentence(error))


class ToolHandlers(ServerHandlers["Context"]):
    """What a server answers where tools are meant."""

    server: Server

    async def list_tools(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListToolsResult:
        """tools/list"""
        kernel = self.server.kernel
        as_bytes = not (kernel.hooks.list_tools or kernel.middleware)
        page: common.ListToolsResult = self.server.tools.listing.page(
            ctx, params.cursor, as_bytes=as_bytes
        )
        return page

    def call_tool(
        self, ctx: Context, params: CallParams
    ) -> Awaitable[common.CallToolResult | common.InputRequiredResult]:
        """tools/call"""
        # Not async itself: one coroutine less for every call to go through.
        server = self.server
        if server.tasks is not None:
            return (ctx.task_box or server.tasks).call(ctx, params, server.tools)
        return in_rounds(ctx, params, server.tools.call)


class OffersTools(TransformsTools):
    """The part of a server that takes tools."""

    tools: ToolBox

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
        input_schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        meanwhile: str | None = None,
        task: TaskSupport | None = None,
        ui: McpUiToolMeta | str | None = None,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **described: Any) -> Any:
        """Offer a function as a tool, which stays the function it is.

        Its parameters' annotations become the schema of its arguments, the docstring its
        description, and what the docstring says of parameters theirs (styles of Google, NumPy and
        reStructuredText; a text in `Annotated` goes before it). Members of arguments that the
        function has no parameter for are ignored; one without parameters takes none.

        A result whose annotation says that it is data is sent as structured content and as text;
        texts, blocks (see `mcp_gen.content`) and lists of them are sent as content.

        A parameter annotated `Context` gets the request's context, one annotated
        `Annotated[T, Depends(factory)]` what the factory makes; callers see neither.

        `name` is 1 to 128 of letters, digits, `_`, `-` and `.`, and by default the function's.
        `input_schema` and `output_schema` are JSON Schemas instead of those of the annotations;
        arguments and results are held to them. A call that takes longer than `timeout_s` seconds
        has failed; what runs in a thread goes on unheard. A function that is not async runs in a
        thread, unless `run_in_thread` is false: then it must not block.

        With `task="optional"` a call may become a task, whose result is fetched later; with
        `task="required"` it always does. Who decides is a fact of the revision; where it has no
        tasks a call is answered with its result. In a task `ctx.task` tells of it. `meanwhile` is
        what the task says at first, and what a model may be told while it runs.

        `ui` is the URI of the app that shows the results, offered with `ui_resource`; or a
        `McpUiToolMeta` that also says whether the model or apps may call the tool.

        Raises:
            UsageError: a name that is taken or not allowed, a parameter without a type or with one
                that JSON cannot carry, a schema that is none.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools
        """

        def add(function: F) -> F:
            self.add_tool(function, **described)
            return function

        return add if function is None else add(function)

    @overload
    def add_tool(
        self,
        tool: latest.Tool,
        handler: RawHandler,
        /,
        *,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        meanwhile: str | None = None,
        task: TaskSupport | None = None,
        ui: McpUiToolMeta | str | None = None,
    ) -> None: ...

    @overload
    def add_tool(
        self,
        function: Callable[..., Any],
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: latest.ToolAnnotations | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        input_schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        meanwhile: str | None = None,
        task: TaskSupport | None = None,
        ui: McpUiToolMeta | str | None = None,
    ) -> None: ...

    @overload
    def add_tool(self, tool: OfferedTool, /) -> None: ...

    def add_tool(self, tool: Any, handler: Any = None, /, **described: Any) -> None:
        """Offer a function as a tool, as `tool` does; or a tool as described, with its handler.

        Or a tool that is one already: `other.tools["search"]` of another server, or what
        `transformed` makes.

        `handler(ctx, arguments)` is async or not. It gets the arguments as plain JSON that fits the
        tool's input schema, and returns what a function may return; with an output schema that is
        data which fits it, or a result of its own. Both schemas are 2020-12 unless they say
        otherwise, reach clients as they are, and may not refer to other documents.

        Raises:
            UsageError: see `tool`.
        """
        self.tools.add(made_tool(tool, handler, **described))

    def remove_tool(self, name: str) -> None:
        """Offer a tool no longer; calls of it that are under way go on.

        Raises:
            UsageError: there is none of that name.
        """
        self.tools.listing.items.remove(name)


def _with_support(tool: OfferedTool, described: Any, revision: str) -> Any:
    """How clients see a tool of which they are to know that it runs as a task."""
    profile = mcp_wire.profile(revision)
    if tool.task is None or profile.tasks != "core":
        return described
    from mcp_gen.server.tasks.core_protocol import with_support

    return with_support(described, tool.task, profile)


def made_tool(
    tool: Any, handler: Any = None, /, *, ui: McpUiToolMeta | str | None = None, **described: Any
) -> OfferedTool:
    """A tool from what `OffersTools.add_tool` takes, before it is offered to anybody.

    Raises:
        UsageError: see `OffersTools.tool`.
    """
    if isinstance(tool, OfferedTool):
        if handler is not None or described or ui is not None:
            raise UsageError(
                f"tool {tool.name}: it is one already; to offer it in another way: "
                "`add_tool(transformed(tool, name=..., description=...))`"
            )
        return tool
    if isinstance(tool, Wire):
        from mcp_gen.server.tools.schema_tool import RawTool

        made: OfferedTool = RawTool(cast("latest.Tool", tool), handler, **described)
    elif handler is not None:
        raise UsageError("a function is its own handler: `add_tool(function)`")
    else:
        made = FunctionTool(tool, **described)
    if ui is not None:
        from mcp_gen.server.apps.apps import checked_ui

        made.ui = checked_ui(made.name, ui)
    return made


def _bad_arguments(
    ctx: Context, tool: OfferedTool, given: Any, error: Exception
) -> common.CallToolResult:
    where = str(error) if "`$" in str(error) else f"{error} - at `$`"
    message = f"{tool.name}: {where.replace('`$', '`$.arguments')}"
    # What is no object, or no text, breaks the protocol at every revision.
    no_object = isinstance(given, Raw) and not bytes(given).startswith(b"{")
    broken = no_object or not isinstance(error, msgspec.ValidationError)
    if broken or ctx.profile.bad_arguments == "protocol_error":
        raise InvalidParams(message)
    return failed(message)
