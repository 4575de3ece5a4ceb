"""Transformed tools: other names and descriptions, fewer arguments, changed results."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw

from mcp_gen.core.checks.finite import check_plain
from mcp_gen.core.errors import UsageError
from mcp_gen.server.content.results import at_newest, is_alternative_result, is_result
from mcp_gen.server.context.options import AnyTool, UnknownArguments
from mcp_gen.server.functions.pending_checks import settled
from mcp_gen.server.listing.icons import check_icons
from mcp_gen.server.listing.scopes import check_scopes
from mcp_gen.server.tools.tool import InvalidArguments, ServerTool, validate_ui
from mcp_gen.server.transforms.argument import Argument
from mcp_gen.server.transforms.arguments import ArgumentMapping
from mcp_gen.server.transforms.decoder import ArgumentDecoder, direct_decoder
from mcp_gen.session.kernel.results import EncodedResult, RelayedResult
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = ["TransformedTool", "transformed"]


def transformed(
    tool: AnyTool | Callable[..., Any],
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    annotations: latest.ToolAnnotations | None = None,
    icons: list[latest.Icon] | None = None,
    meta: dict[str, Any] | None = None,
    arguments: Mapping[str, Argument] | None = None,
    result: Callable[[Any], Any] | None = None,
    ui: McpUiToolMeta | str | None = None,
    scopes: Collection[str] = (),
) -> TransformedTool:
    """Return a transformed tool for `Server.add_tool`; the original tool is not changed.

        server.add_tool(
            transformed(
                other.tools["search"],
                name="find",
                arguments={
                    "q": Argument(name="query", description="what to look for"),
                    "limit": Argument(fixed=10),
                },
            )
        )

    Options that are left out keep what the tool has. An empty string, list or dict removes it.
    Client arguments are mapped to the tool's names and validated once, by the tool. Error messages
    have the names that clients know.

    Args:
        tool: A tool of any server, or a function.
        name: Name of the tool.
        title: Display name.
        description: Description for the model.
        annotations: Behaviour hints for clients.
        icons: Icons with `https:` or `data:` URIs.
        meta: `_meta` of the tool.
        arguments: Changes by the tool's argument names.
        result: `result(value)`, async or not, receives the return value of the tool and returns
            its replacement, which must match the tool's unchanged output schema.
        ui: URI of the app that shows the results, or UI metadata; see `Server.tool`.
        scopes: Scopes that the token of a call needs, beside those that the tool needs anyway.

    Returns:
        The tool, to be added to a server.

    Raises:
        UsageError: The tool lacks a named argument, two arguments have one name, a hidden argument
            is required by the tool, a value does not fit, or a schema is not valid.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools
    """
    if not isinstance(tool, ServerTool):
        # Loaded when used: a transformed tool mostly comes from another tool.
        from mcp_gen.server.tools.function_tool import FunctionTool

        if isinstance(tool, str):
            raise UsageError(
                f"transformed({tool!r}): expected a tool or a function: write "
                f"`server.tools[{tool!r}]`, or `server.transform_tool({tool!r}, ...)`"
            )
        # Every tool is a ServerTool; anything else is a function.
        tool = FunctionTool(cast("Callable[..., Any]", tool))
    given = {
        "title": title,
        "description": description,
        "annotations": annotations,
        "icons": icons,
        "meta": meta,
    }
    described = {what: value for what, value in given.items() if value is not None}
    made = TransformedTool(tool, tool.name if name is None else name, described, arguments, result)
    made.ui, made.tags = tool.ui, tool.tags
    made.scopes = tool.scopes | check_scopes(scopes, f"tool {made.name}: scopes")
    if ui is not None:
        made.ui = validate_ui(made.name, ui)
    return made


class TransformedTool(ServerTool):
    """Transformed tool; created by `transformed`.

    Args:
        tool: The tool to call.
        name: Name of the tool.
        described: Changed fields of the description.
        arguments: Changes by the tool's argument names.
        result: Function that replaces the return value.

    Raises:
        UsageError: The changes do not fit the tool; see `transformed`.
    """

    def __init__(
        self,
        tool: ServerTool,
        name: str,
        described: Mapping[str, Any],
        arguments: Mapping[str, Argument] | None,
        result: Callable[[Any], Any] | None,
    ) -> None:
        super().__init__(
            name,
            timeout_s=tool.timeout_s,
            run_in_thread=tool.run_in_thread,
            task=tool.task,
            retry=tool.retry,
        )
        check_icons(f"tool {name}", described.get("icons"))
        check_plain(described.get("meta"), f"tool {name}", "$._meta")
        self.origin = tool
        """The tool that is called."""
        self.is_remote = tool.is_remote
        self.output = tool.output
        self._described = {what: value or None for what, value in described.items()}
        self._result = result
        self._mapping = ArgumentMapping(tool, name, arguments) if arguments else None
        self._decode: ArgumentDecoder | None = (
            direct_decoder(tool, arguments) if arguments else tool.decode
        )
        self._factories = {
            n: one.make for n, one in (arguments or {}).items() if one.make is not None
        }
        nested = isinstance(tool, TransformedTool) and not tool.calls_directly
        self.calls_directly: bool = not (self._factories or result is not None or nested)
        """True if a call is passed to the tool without further steps."""

    def marked_schema(self) -> Mapping[str, Any] | None:
        """Return the input schema if `x-mcp-header` may be in it; None if not."""
        return self.origin.marked_schema() if self._mapping is None else self._mapping.schema

    def use_defaults(self, *, unknown_arguments: UnknownArguments) -> None:
        """Take the defaults of a server; see `ServerTool.use_defaults`."""
        if self._mapping is None:
            self.origin.use_defaults(unknown_arguments=unknown_arguments)

    def _describe(self) -> latest.Tool:
        tool = msgspec.structs.replace(self.origin.tool, name=self.name, **self._described)
        if self._mapping is not None:
            tool = msgspec.structs.replace(tool, input_schema=self._mapping.schema)
        return tool

    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """Decode the arguments of a call for the tool; see `ServerTool.decode`."""
        if self._decode is not None:
            return self._decode(arguments)
        assert self._mapping is not None
        own = self._mapping.to_tool(arguments)
        # Values from `make` need the context: `call` decodes the arguments then.
        return own if self._factories else self._mapping.decoded(own)

    def call(self, ctx: Context, arguments: Any) -> Awaitable[Any]:
        """Call the tool; see `ServerTool.call`."""
        if self.calls_directly:
            return self.origin.call(ctx, arguments)
        return self._call_mapped(ctx, arguments)

    async def _call_mapped(self, ctx: Context, arguments: Any) -> Any:
        mapping = self._mapping
        if self._factories and mapping is not None:
            for name, make in self._factories.items():
                value = make(ctx)
                mapping.put(arguments, name, await value if inspect.isawaitable(value) else value)
            arguments = await settled(ctx, partial(mapping.decoded, arguments))
        try:
            made: Any = await self.origin.call(ctx, arguments)
        except InvalidArguments as error:
            if mapping is None:
                raise
            mapping.raise_for_client(error)
        if self._result is None or is_alternative_result(made.__class__):
            return made
        if self.is_remote and isinstance(made, EncodedResult | RelayedResult | Wire):
            if isinstance(made, Wire) and not is_result(made):
                return made  # a task, at a revision whose clients request tasks
            made = at_newest(made)
        if is_alternative_result(made.__class__):
            return made
        changed = self._result(made)
        return await changed if inspect.isawaitable(changed) else changed
