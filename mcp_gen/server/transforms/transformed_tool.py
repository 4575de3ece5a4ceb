"""Tools offered in another way than they were made: other names, other words, fewer arguments."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw

from mcp_gen.server.content.results import is_alternative_result, is_result, newest
from mcp_gen.server.context.options import AnyTool
from mcp_gen.server.tools.tool import InvalidArguments, ServerTool, check_icons, validate_ui
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
) -> TransformedTool:
    """A tool as it is to be offered, for `Server.add_tool`; the one it is made of stays as it is.

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

    `tool` is one of any server, however it was made, or a function. What is not given stays as it
    is; an empty text, list or dict takes away what the tool has. `arguments` are by the names that
    the tool has for them.

    `result(value)`, async or not, gets what the tool returned and gives what is returned instead;
    that is held to the tool's output schema, which stays. `ui` is its app, as for `Server.tool`.

    What clients give goes to the tool under its own names, and is checked there, once. They are
    told of mistakes in the names they know.

    Raises:
        UsageError: an argument that the tool does not have, two of one name, one hidden that the
            tool requires, a value that does not fit, a schema that is none.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools
    """
    if not isinstance(tool, ServerTool):
        from mcp_gen.server.tools.function_tool import FunctionTool

        # Every tool there is is an OfferedTool: what is none is a function.
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
    made.ui = tool.ui
    if ui is not None:
        made.ui = validate_ui(made.name, ui)
    return made


class TransformedTool(ServerTool):
    """One tool, offered in another way; made by `transformed`."""

    def __init__(
        self,
        tool: ServerTool,
        name: str,
        described: Mapping[str, Any],
        arguments: Mapping[str, Argument] | None,
        result: Callable[[Any], Any] | None,
    ) -> None:
        super().__init__(
            name, timeout_s=tool.timeout_s, run_in_thread=tool.run_in_thread, task=tool.task
        )
        check_icons(f"tool {name}", described.get("icons"))
        self.origin = tool
        """The tool that is called."""
        self.is_remote = tool.is_remote
        self.output = tool.output
        self._described = {what: value or None for what, value in described.items()}
        self._result = result
        self._translation = ArgumentMapping(tool, name, arguments) if arguments else None
        self._read: ArgumentDecoder | None = (
            direct_decoder(tool, arguments) if arguments else tool.decode
        )
        self._makes = {n: one.make for n, one in (arguments or {}).items() if one.make is not None}
        nested = isinstance(tool, TransformedTool) and not tool.calls_directly
        self.calls_directly: bool = not (self._makes or result is not None or nested)
        """Whether a call is the tool's own."""

    def _describe(self) -> latest.Tool:
        tool = msgspec.structs.replace(self.origin.tool, name=self.name, **self._described)
        if self._translation is not None:
            tool = msgspec.structs.replace(tool, input_schema=self._translation.schema)
        return tool

    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """What the tool takes, from the arguments of a call; see `OfferedTool.decode`."""
        if self._read is not None:
            return self._read(arguments)
        assert self._translation is not None
        own = self._translation.to_tool(arguments)
        # What is made for each call is not there yet: the rest waits for it.
        return own if self._makes else self._translation.decoded(own)

    def call(self, ctx: Context, arguments: Any) -> Awaitable[Any]:
        """Call the tool; see `OfferedTool.call`."""
        if self.calls_directly:
            return self.origin.call(ctx, arguments)
        return self._called(ctx, arguments)

    async def _called(self, ctx: Context, arguments: Any) -> Any:
        translation = self._translation
        if self._makes and translation is not None:
            for name, make in self._makes.items():
                value = make(ctx)
                translation.put(
                    arguments, name, await value if inspect.isawaitable(value) else value
                )
            arguments = translation.decoded(arguments)
        try:
            made: Any = await self.origin.call(ctx, arguments)
        except InvalidArguments as error:
            if translation is None:
                raise
            translation.raise_for_client(error)
        if self._result is None or is_alternative_result(made.__class__):
            return made
        if self.is_remote and isinstance(made, EncodedResult | RelayedResult | Wire):
            if isinstance(made, Wire) and not is_result(made):
                return made  # a task, at a revision whose clients ask for one
            made = newest(made)
        if is_alternative_result(made.__class__):
            return made
        changed = self._result(made)
        return await changed if inspect.isawaitable(changed) else changed
