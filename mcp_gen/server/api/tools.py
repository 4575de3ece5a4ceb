"""Methods that register, remove and transform tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mcp_gen.core.mistakes.checks import with_name
from mcp_gen.server.api.transforms import ToolTransformsApi
from mcp_gen.server.tools.registry import build_tool

if TYPE_CHECKING:
    from typing import Unpack

    from mcp_gen.server.context.options import AnyTool, ToolCallOptions, ToolOptions
    from mcp_gen.server.tools.schema_tool import SchemaToolHandler
    from mcp_wire import latest

__all__ = ["ToolsApi"]

F = TypeVar("F", bound=Callable[..., Any])


class ToolsApi(ToolTransformsApi):
    """Methods that register and remove tools."""

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        /,
        **options: Unpack[ToolOptions],
    ) -> Callable[[F], F]: ...

    @overload
    def tool(
        self,
        name: str,
        /,
        **options: Unpack[ToolOptions],
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Register a function as a tool; returns the function unchanged.

            @server.tool
            def add(a: int, b: int) -> int:
                "Add two numbers."
                return a + b

            @server.tool(title="Search", timeout_s=10)
            async def search(query: str, ctx: Context) -> list[Hit]: ...

        The input schema is derived from the annotations of the parameters, the description from the
        docstring. Descriptions of parameters are read from docstrings in the styles of Google,
        NumPy and reStructuredText; a text in `Annotated` takes precedence. A call with an argument
        that the function does not have is an error that names the nearest one. A parameter
        `**others: T` takes such arguments.

        A return annotation that is data makes structured content, sent also as text. Texts, content
        blocks (see `mcp_gen.content`) and lists of them are sent as content.

        A parameter annotated `Context` receives the context of the request. One annotated
        `Annotated[T, Depends(factory)]` receives the value of the factory. Clients see neither.

        Args:
            function: The function; left out where the decorator has options.
            name: Name of the tool, 1 to 128 letters, digits, `_`, `-` and `.`; the default is the
                name of the function. It may stand first: `@server.tool("add", title="Add")`.
            title: Name for people.
            description: Description for the model; the default is from the docstring.
            annotations: Hints on the behaviour of the tool, such as `readOnlyHint`.
            icons: Icons of the tool.
            meta: `_meta` of the list entry.
            input_schema: JSON Schema instead of the derived one; arguments are validated against
                it.
            output_schema: JSON Schema of the structured content; results are validated against it.
            timeout_s: Seconds until a call fails. A function in a thread runs on, and its result is
                dropped.
            run_in_thread: True if a sync function runs in a worker thread, which is the default.
                With False it must not block.
            immediate_message: First status message of a task, and the text that a model may receive
                while the task runs.
            unknown_arguments: `"refuse"` arguments without a parameter, which the input schema
                says, or `"ignore"` them; None does as the server. `input_schema` decides alone.
            task: `"optional"` if a call may become a task, whose result is fetched later;
                `"required"` if it always does. The revision says who decides. At revisions without
                tasks a call is answered with its result. In a task, `ctx.task` is set.
            retry: True if a task of the tool may be run again after its worker was lost, though no
                annotation says that it is idempotent; see `Tasks(engine=...)`.
            tags: Tags, to enable, disable and mount tools by: `disable_tags`,
                `Server(exclude_tags=)`, `mount(include_tags=)`.
            scopes: Scopes that the access token of a call needs, all of them. Over HTTP a call
                without one is refused with status 403, which names those that are missing;
                `asgi(auth=)` verifies tokens. Over stdio, sockets and in the process there are no
                tokens, and scopes are not asked for: the client has the rights of the process,
                whose credentials come from the environment.
            ui: URI of the UI resource that shows the results (see `ui_resource`), or a
                `McpUiToolMeta` that also says whether the model or apps may call the tool.

        Raises:
            UsageError: a name that is taken or invalid, a parameter without a type or with one that
                is not serializable, or an invalid schema.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools
        """

        if isinstance(function, str):
            function, options = None, with_name("tool", function, options)

        def add(function: F) -> F:
            self.add_tool(function, **options)
            return function

        return add if function is None else add(function)

    @overload
    def add_tool(
        self,
        tool: latest.Tool,
        handler: SchemaToolHandler,
        /,
        **options: Unpack[ToolCallOptions],
    ) -> None: ...

    @overload
    def add_tool(
        self,
        function: Callable[..., Any],
        /,
        **options: Unpack[ToolOptions],
    ) -> None: ...

    @overload
    def add_tool(self, tool: AnyTool, /) -> None: ...

    def add_tool(self, tool: Any, handler: Any = None, /, **options: Any) -> None:
        """Register a function as a tool, a `Tool` with its handler, or a tool of another server.

            server.add_tool(add, title="Add")
            server.add_tool(Tool(name="raw", input_schema={...}), handler)
            server.add_tool(other.tools["search"])

        Args:
            function: Function to register; see `tool`.
            tool: A `Tool` that describes the tool, together with `handler`. Its schemas are JSON
                Schema 2020-12 unless they say otherwise. They are sent to clients as they are, and
                must not refer to other documents. Without `handler`: a registered tool, such as
                `other.tools["search"]`, or the result of `transformed`.
            handler: Function `handler(ctx, arguments)`, async or sync. It receives the arguments as
                plain JSON that is valid by the input schema. It returns what a tool function may
                return; with an output schema, data that is valid by it, or a whole result.
            options: Keywords of `tool`. A function takes them all; a `Tool` takes `timeout_s`,
                `run_in_thread`, `immediate_message`, `task`, `retry`, `ui`, `tags` and `scopes`.

        Raises:
            UsageError: see `tool`.
        """
        self.tools.add(build_tool(tool, handler, **options))

    def remove_tool(self, name: str) -> None:
        """Remove a tool. Calls in progress go on.

        Raises:
            UsageError: there is no tool of that name.
        """
        self.tools.listing.items.remove(name)

    def disable_tool(self, name: str) -> None:
        """Hide a tool from clients, until `enable_tool`: it is neither listed nor called.

        Clients receive `list_changed`. Calls in progress go on. The tool keeps its name, and its
        place in the list.

        Raises:
            UsageError: there is no tool of that name.
        """
        self.tools.listing.items.disable(name)

    def enable_tool(self, name: str) -> None:
        """Show a tool that was disabled. Tags that are disabled still hide it.

        Raises:
            UsageError: there is no tool of that name.
        """
        self.tools.listing.items.enable(name)
