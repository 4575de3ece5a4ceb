"""Decorators and methods that add, remove and transform tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mcp_gen.server.api.transforms import ToolTransformsApi
from mcp_gen.server.tools.registry import build_tool

if TYPE_CHECKING:
    from mcp_gen.server.context.options import AnyTool
    from mcp_gen.server.tools.schema_tool import RawHandler
    from mcp_gen.server.tools.tool import TaskSupport
    from mcp_wire import latest
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = ["ToolsApi"]

F = TypeVar("F", bound=Callable[..., Any])


class ToolsApi(ToolTransformsApi):
    """Methods that add and remove tools."""

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
        immediate_message: str | None = None,
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
        tasks a call is answered with its result. In a task `ctx.task` tells of it.
        `immediate_message` is what the task says at first, and what a model may be told while it
        runs.

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
        immediate_message: str | None = None,
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
        immediate_message: str | None = None,
        task: TaskSupport | None = None,
        ui: McpUiToolMeta | str | None = None,
    ) -> None: ...

    @overload
    def add_tool(self, tool: AnyTool, /) -> None: ...

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
        self.tools.add(build_tool(tool, handler, **described))

    def remove_tool(self, name: str) -> None:
        """Offer a tool no longer; calls of it that are under way go on.

        Raises:
            UsageError: there is none of that name.
        """
        self.tools.listing.items.remove(name)
