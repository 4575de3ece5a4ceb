"""Tools made from functions: schema from hints, arguments decoded once into types of their own."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import cache, cached_property
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    TypeAlias,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    overload,
)

import msgspec
from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core.errors import InvalidParams, McpError, ToolError, UsageError
from mcp_gen.server.blocking import in_thread
from mcp_gen.server.listing import Listing
from mcp_gen.server.rounds import in_rounds
from mcp_gen.server.signature import Signature, json_schema
from mcp_wire import UnknownContent, Wire, encode, latest
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context import Context
    from mcp_gen.server.hints import CacheHints
    from mcp_gen.server.server import Server
    from mcp_wire import common

__all__ = ["FunctionTool", "OffersTools", "ToolBox", "ToolHandlers"]

F = TypeVar("F", bound=Callable[..., Any])
CallParams: TypeAlias = "common.CallToolRequestParams | common.RawCallToolRequestParams"

_log = logging.getLogger("mcp_gen.server")
_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_NULL = Raw(b"null")
_PLAIN = frozenset({bool, dict, float, int, list, str, type(None)})
"""What most tools return, and what is no wire type for certain."""
_BLOCKS = frozenset(kind.__name__ for kind in get_args(latest.ContentBlock))


class FunctionTool:
    """One tool and the function behind it."""

    def __init__(self, function: Callable[..., Any], name: str | None, **described: Any) -> None:
        self.signature = Signature(function)
        self.name = self.signature.name if name is None else name
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"tool {self.name!r}: a name has 1 to 128 of letters, digits, `_`, `-` and `.`"
            )
        self._described = described
        self._function = function
        self._structured = _is_data(self.signature.returns)

    @cached_property
    def tool(self) -> latest.Tool:
        """What clients see."""
        output = json_schema(self.signature.returns) if self._structured else UNSET
        return latest.Tool(
            name=self.name,
            input_schema=self.signature.input_schema,
            output_schema=None if output is UNSET else output,
            **self._described,
        )

    def decode(self, arguments: Raw | dict[str, Any] | None) -> Any:
        """The function's arguments from the call's.

        Raises:
            msgspec.ValidationError: they are not what the function takes.
        """
        if isinstance(arguments, Raw):
            return self.signature.decode(arguments)
        return msgspec.convert(arguments or {}, self.signature.struct)

    async def call(self, ctx: Context, arguments: Any) -> Any:
        """Call the function; one that is not async runs in a thread, so that it may block."""
        named = self.signature.arguments(arguments, ctx)
        if self.signature.is_async:
            return await self._function(**named)
        return await in_thread(ctx, self._function, named)

    def result(
        self, value: Any, revision: str
    ) -> common.CallToolResult | common.InputRequiredResult:
        """What the function returned, as a result of a revision.

        What the function made of wire types itself stays as it is.
        """
        if value.__class__ not in _PLAIN:
            if _is_result(value) or isinstance(value, latest.InputRequiredResult):
                return value
            if _is_block(value):
                return latest.CallToolResult(content=[value])
        results = _results_at(revision)
        if self._structured:
            return results.of_data(value, is_object=self._gives_object)
        if value is None:
            return results.of_texts(())
        values: list[Any] = value if value.__class__ is list else [value]
        if any(_is_block(item) for item in values):
            return latest.CallToolResult(content=[_block(item) for item in values])
        return results.of_texts(map(_as_text, values))

    @cached_property
    def _gives_object(self) -> bool:
        schema = self.tool.output_schema
        return schema is not None and schema.get("type") == "object"


class _Results:
    """Makes results in the types of one revision, so that there is nothing left to project."""

    def __init__(self, revision: str) -> None:
        home = mcp_wire.types(revision)
        self._result: Any = home.CallToolResult
        self._text: Any = home.TextContent
        self._holds = mcp_wire.profile(revision).structured_content

    def of_texts(self, texts: Iterable[str]) -> common.CallToolResult:
        """A result with one block per text."""
        result: common.CallToolResult = self._result(content=[self._text(text=t) for t in texts])
        return result

    def of_data(self, value: Any, *, is_object: bool) -> common.CallToolResult:
        """A result with data, as its output schema has it at the revision, and as text."""
        content = [self._text(text=_as_text(value))]
        if self._holds == "none":
            made: common.CallToolResult = self._result(content=content)
            return made
        if is_object:
            value = value if value.__class__ is dict else msgspec.to_builtins(value)
        elif self._holds == "object":
            # The output schema is wrapped by the same rule when it is projected.
            value = {"result": value}
        result: common.CallToolResult = self._result(content=content, structured_content=value)
        return result


_results_at = cache(_Results)


class ToolBox:
    """The tools of a server: listed, found and called."""

    def __init__(self, changed: Callable[[], None], hints: CacheHints) -> None:
        self.listing: Listing[FunctionTool] = Listing(
            "tool",
            result="ListToolsResult",
            field="tools",
            describe=lambda tool: tool.tool,
            changed=changed,
            hints=hints,
        )
        self.for_hooks = False
        """Whether hooks see the results: then these are of the newest types, at every revision."""

    def __len__(self) -> int:
        return len(self.listing.items)

    def __iter__(self) -> Iterator[FunctionTool]:
        return iter(self.listing.items)

    def add(self, tool: FunctionTool) -> None:
        """Add a tool.

        Raises:
            UsageError: there is one of that name.
        """
        self.listing.items.add(tool.name, tool)

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
            return tool.result(made, mcp_wire.LATEST if self.for_hooks else ctx.revision)
        except McpError:
            raise
        except ToolError as error:
            return _failed(str(error))
        except SystemExit as error:
            # A library that was made for the command line; the server has more to do.
            _log.exception("tool %s failed", tool.name)
            return _failed(f"SystemExit: {error}")
        except Exception as error:
            _log.exception("tool %s failed", tool.name)
            return _failed(str(error) or type(error).__name__)


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
        return in_rounds(ctx, params, self.server.tools.call)


class OffersTools:
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
                description=description or _first_paragraph(function.__doc__),
                annotations=annotations,
                icons=icons,
                meta=meta,
            )
        )

    def remove_tool(self, name: str) -> None:
        """Offer a tool no longer; calls of it that are under way go on.

        Raises:
            UsageError: there is none of that name.
        """
        self.tools.listing.items.remove(name)


def _first_paragraph(text: str | None) -> str | None:
    if not text:
        return None
    lines = text.strip().partition("\n\n")[0].splitlines()
    return " ".join(line.strip() for line in lines)


def _bad_arguments(
    ctx: Context, tool: FunctionTool, given: Any, error: Exception
) -> common.CallToolResult:
    where = str(error) if "`$" in str(error) else f"{error} - at `$`"
    message = f"{tool.name}: {where.replace('`$', '`$.arguments')}"
    # What is no object, or no text, breaks the protocol at every revision.
    no_object = isinstance(given, Raw) and not bytes(given).startswith(b"{")
    broken = no_object or not isinstance(error, msgspec.ValidationError)
    if broken or ctx.profile.bad_arguments == "protocol_error":
        raise InvalidParams(message)
    return _failed(message)


def _failed(message: str) -> common.CallToolResult:
    return latest.CallToolResult(content=[latest.TextContent(text=message)], is_error=True)


def _is_data(returns: Any) -> bool:
    """Whether what the function returns is data, which clients get as structured content too."""
    origin, inner = get_origin(returns), get_args(returns)
    if origin is list:
        return all(_is_data(item) for item in inner)
    if origin in (Union, UnionType):
        return any(_is_data(arm) for arm in inner) and not any(_is_wire(arm) for arm in inner)
    if returns in (str, None, type(None), Any) or returns is Signature.UNANNOTATED:
        return False
    return not _is_wire(returns)


def _is_wire(returns: Any) -> bool:
    return isinstance(returns, type) and issubclass(returns, (Wire, UnknownContent))


def _block(value: Any) -> latest.ContentBlock:
    return value if _is_block(value) else latest.TextContent(text=_as_text(value))


def _is_block(value: Any) -> TypeGuard[latest.ContentBlock]:
    """A block of any revision: the tool has made its own."""
    if isinstance(value, UnknownContent):
        return True
    return isinstance(value, Wire) and type(value).__name__ in _BLOCKS


def _is_result(value: Any) -> TypeGuard[common.CallToolResult]:
    """A result of any revision: the tool has made its own."""
    return isinstance(value, Wire) and type(value).__name__ == latest.CallToolResult.__name__


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()
