"""Registry of the tools of a server: add, find and call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core.error_groups import describe, primary_error
from mcp_gen.core.errors import (
    InvalidParams,
    McpError,
    ProtocolError,
    RequestTimeout,
    SchemaNotChecked,
    ToolError,
    UsageError,
)
from mcp_gen.core.mistakes.checks import check_options, name_of
from mcp_gen.server.content.results import error_result
from mcp_gen.server.context.context import masks_errors, origin_of
from mcp_gen.server.context.options import ToolCallOptions, ToolOptions
from mcp_gen.server.functions.pending_checks import PendingCheck
from mcp_gen.server.functions.suggestions import describe_unknown, suggest
from mcp_gen.server.listing.listing import Listing
from mcp_gen.server.listing.scopes import check_scopes, require_scopes
from mcp_gen.server.listing.tags import check_tags
from mcp_gen.server.tools.function_tool import FunctionTool
from mcp_gen.server.tools.tool import InvalidArguments, ServerTool, validate_ui
from mcp_gen.session.kernel.errors import is_for_peer, is_store_down, masked_text
from mcp_gen.session.messages.channel import is_disconnect
from mcp_wire import Wire

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.options import UnknownArguments
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.listing.tags import Visibility
    from mcp_wire import common, latest
    from mcp_wire.extension import Extension
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = ["ToolRegistry", "build_tool"]

F = TypeVar("F", bound=Callable[..., Any])
CallParams: TypeAlias = "common.CallToolRequestParams | common.RawCallToolRequestParams"

_log = logging.getLogger("mcp_gen.server")
_NULL = Raw(b"null")


class ToolRegistry:
    """Registry of a server's tools, in insertion order. Supports `len`, `in` and iteration.

    Args:
        changed: Called after each change of the list.
        hints: Cache hints of the server.
        visibility: Tags whose items clients see; None: all.
    """

    def __init__(
        self, changed: Callable[[], None], hints: Hints, visibility: Visibility | None = None
    ) -> None:
        self.listing: Listing[ServerTool] = Listing(
            "tool",
            result="ListToolsResult",
            field="tools",
            describe=lambda tool: tool.tool,
            changed=changed,
            hints=hints,
            visibility=visibility,
        )
        self.for_hooks = False
        """True if hooks see the results: these have the newest wire types at every revision."""
        self.arms: Mapping[type[Any], Extension] = {}
        """Alternative result types of calls, and the extension that a client must declare."""
        self.enable_tasks: Callable[[], None] | None = None
        """Called before each tool that can run as a task is added."""
        self.enable_apps: Callable[[ServerTool], None] | None = None
        """Called with each tool that has UI metadata, before it is added."""
        self.run_in_threads = True
        """Default for tools that are not async: True if they run in threads."""
        self.unknown_arguments: UnknownArguments = "refuse"
        """Default for functions: what is done with arguments that they do not have."""

    def __len__(self) -> int:
        return len(self.listing.items)

    def __iter__(self) -> Iterator[ServerTool]:
        return iter(self.listing.items)

    def __contains__(self, name: object) -> bool:
        return name in self.listing.items

    @property
    def names(self) -> list[str]:
        """Names of the tools, in order."""
        return [tool.name for tool in self]

    def get(self, name: str) -> ServerTool | None:
        """Return the tool of that name, or None."""
        return self.listing.items.get(name)

    def __getitem__(self, name: str) -> ServerTool:
        """Return the tool of that name, as `transformed` and `Server.add_tool` accept it.

        Raises:
            UsageError: No tool has that name.
        """
        tool = self.get(name)
        if tool is None:
            raise UsageError(f"there is no tool {name!r}{suggest(name, self.names)}")
        return tool

    def add(self, tool: ServerTool) -> None:
        """Add a tool.

        Raises:
            UsageError: The name is taken, or `x-mcp-header` is used as no client accepts it.
        """
        self._prepare(tool)
        self.listing.items.add(tool.name, tool)

    def replace(self, name: str, tool: ServerTool) -> None:
        """Replace a tool by another, which may have another name.

        Args:
            name: Name of the tool to replace.
            tool: The new tool.

        Raises:
            UsageError: No tool has that name, the new tool's name is taken, or it uses
                `x-mcp-header` as no client accepts it.
        """
        self._prepare(tool)
        self.listing.items.replace(name, tool.name, tool)

    def _prepare(self, tool: ServerTool) -> None:
        tool.use_defaults(unknown_arguments=self.unknown_arguments)
        if tool.task is not None and self.enable_tasks is not None:
            self.enable_tasks()
        if tool.ui is not None and self.enable_apps is not None:
            self.enable_apps(tool)
        tool.check_marks()

    async def call(
        self, ctx: Context, params: CallParams
    ) -> common.CallToolResult | common.InputRequiredResult:
        """Call the tool that a `tools/call` request names.

        Args:
            ctx: Context of the request.
            params: Name of the tool, and its arguments.

        Returns:
            The result. Errors of the tool are results with `is_error`.

        Raises:
            InvalidParams: The tool is unknown, or the arguments do not fit and the revision reports
                that as a protocol error.
            InsufficientScope: The token of the request lacks scopes of the tool.
            McpError: Raised by the tool.
        """
        listing = self.listing
        if listing.filters or listing.has_session_items:
            tool = listing.find(ctx, params.name)
        else:
            # Every client may call every tool.
            entry = listing.items.entries.get(params.name)
            tool = entry.item if entry is not None else None
        if tool is None:
            raise InvalidParams(f"unknown tool: {params.name}")
        if tool.scopes:
            require_scopes(ctx, tool.scopes)
        given: Any = params.arguments
        sent = None if given is UNSET or given == _NULL else given
        try:
            try:
                arguments = tool.decode(sent)
            except PendingCheck as check:
                arguments = await check.settle(ctx, partial(tool.decode, sent))
        except SchemaNotChecked as error:
            return error_result(str(error))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _invalid_arguments(ctx, tool, given, error)
        try:
            made = await tool.call(ctx, arguments)
            if self.arms:
                ctx.allow(made)
            for_hooks = self.for_hooks
            revision = mcp_wire.LATEST if for_hooks else origin_of(ctx).profile.revision
            encode = tool.output.encoders[revision, for_hooks]
            try:
                result: common.CallToolResult = encode(made)
            except PendingCheck as check:
                result = await check.settle(ctx, partial(encode, made))
            return result
        except McpError:
            raise
        except InvalidArguments as error:
            return _invalid_arguments(ctx, tool, given, error)
        except ToolError as error:
            return error_result(str(error))
        except SystemExit as error:
            # Raised by libraries made for the command line; the server keeps running.
            if masks_errors(ctx):
                return error_result(masked_text(error, f"tool {tool.name}"))
            _log.exception("tool %s failed", tool.name)
            return error_result(f"SystemExit: {error}")
        except Exception as error:
            if isinstance(primary := primary_error(error), McpError) or is_store_down(primary):
                raise primary from None  # unwrapped from a group
            masks = masks_errors(ctx)
            if masks and not is_for_peer(error):
                return error_result(masked_text(error, f"tool {tool.name}"))
            if is_disconnect(error):
                _log.debug("tool %s: %s", tool.name, primary)
            elif isinstance(primary, ProtocolError | RequestTimeout):
                # The client has answered wrongly or not: it must not fill the log with tracebacks.
                _log.warning("tool %s: %s", tool.name, primary)
            else:
                _log.exception("tool %s failed", tool.name)
            return error_result(describe(primary if masks else error))


def build_tool(
    tool: Any,
    handler: Any = None,
    /,
    *,
    ui: McpUiToolMeta | str | None = None,
    tags: Collection[str] | None = None,
    scopes: Collection[str] | None = None,
    **described: Any,
) -> ServerTool:
    """Build a tool from the arguments of `Server.add_tool`.

    Args:
        tool: A function, a tool description or a tool.
        handler: Handler of a tool description; None for anything else.
        ui: URI of the app that shows the results, or UI metadata.
        tags: Tags of the tool.
        scopes: Scopes that the token of a call needs.
        **described: Options of `FunctionTool` or `SchemaTool`.

    Raises:
        UsageError: The arguments are not valid; see `Server.tool`.
    """
    if isinstance(tool, ServerTool):
        options = (ui, tags, scopes)
        if handler is not None or described or any(one is not None for one in options):
            raise UsageError(
                f"tool {tool.name}: it is one already; to offer it in another way: "
                "`add_tool(transformed(tool, name=..., description=...))`"
            )
        return tool
    if described:
        known = ToolCallOptions if isinstance(tool, Wire) else ToolOptions
        name = name_of(tool) if callable(tool) else getattr(tool, "name", tool)
        check_options(f"tool {name}", "tool", described, known.__annotations__.keys())
    if isinstance(tool, Wire):
        # Loaded with the first tool that has a schema of its own.
        from mcp_gen.server.tools.schema_tool import SchemaTool

        made: ServerTool = SchemaTool(cast("latest.Tool", tool), handler, **described)
    elif handler is not None:
        raise UsageError("a function is its own handler: `add_tool(function)`")
    else:
        made = FunctionTool(tool, **described)
    if ui is not None:
        made.ui = validate_ui(made.name, ui)
    if tags is not None:
        made.tags = check_tags(tags, f"tool {made.name}: tags")
    if scopes is not None:
        made.scopes = check_scopes(scopes, f"tool {made.name}: scopes")
    return made


def _invalid_arguments(
    ctx: Context, tool: ServerTool, given: Any, error: Exception
) -> common.CallToolResult:
    unknown = _unknown_arguments(tool, given)
    if unknown is not None:
        message = f"{tool.name}: {unknown}"
    else:
        detail = str(error) if "`$" in str(error) else f"{error} - at `$`"
        message = f"{tool.name}: {detail.replace('`$', '`$.arguments')}"
    # Arguments that are not an object or not UTF-8 are a protocol error at every revision.
    is_not_object = isinstance(given, Raw) and not bytes(given).startswith(b"{")
    is_protocol_error = is_not_object or not isinstance(error, msgspec.ValidationError)
    if is_protocol_error or ctx.profile.bad_arguments == "protocol_error":
        raise InvalidParams(message)
    return error_result(message)


def _unknown_arguments(tool: ServerTool, given: Any) -> str | None:
    """Return the error text for arguments that the tool does not have; None if it has all."""
    schema: Any = tool.tool.input_schema
    if given is UNSET or given is None:
        return None
    if schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return None
    names: dict[str, Any] = given
    if not isinstance(given, dict):
        try:
            names = msgspec.json.decode(given, type=dict[str, Raw])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
    return describe_unknown(names, schema.get("properties", {}))
