"""Tools made from a description and a handler: arguments are plain JSON, held to a JSON Schema."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import project
from mcp_gen.server.context.blocking import call_in_thread
from mcp_gen.server.functions.schema_validation import CompiledSchema
from mcp_gen.server.tools.output import Output, output_of_schema
from mcp_gen.server.tools.tool import ServerTool, TaskSupport, check_icons, plain_arguments
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context

__all__ = ["RawHandler", "SchemaTool", "input_schema_of"]

RawHandler: TypeAlias = "Callable[[Context, dict[str, Any]], Any]"
"""`handler(ctx, arguments)`, async or not; it may return what a tool function may return."""


class SchemaTool(ServerTool):
    """One tool as it was described, and its handler. Its schemas reach clients as they are."""

    def __init__(
        self,
        tool: latest.Tool,
        handler: RawHandler,
        *,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        task: TaskSupport | None = None,
        immediate_message: str | None = None,
    ) -> None:
        task = task or _said_support(tool)
        tool = project(tool, mcp_wire.LATEST).value
        super().__init__(
            tool.name,
            timeout_s=timeout_s,
            run_in_thread=run_in_thread,
            task=task,
            immediate_message=immediate_message,
        )
        check_icons(f"tool {tool.name}", tool.icons)
        self._tool = tool
        self._handler = handler
        self._is_async = _checked(tool.name, handler)
        if run_in_thread and self._is_async:
            raise UsageError(
                f"tool {tool.name}: an async handler runs on the loop, not in a thread"
            )
        self._input = input_schema_of(tool.name, tool.input_schema)
        self.output = Output()
        if tool.output_schema is not None:
            self.output = output_of_schema(tool.name, tool.output_schema)

    def _describe(self) -> latest.Tool:
        return self._tool

    def decode(self, arguments: Raw | dict[str, Any] | None) -> dict[str, Any]:
        """The arguments as plain JSON; see `OfferedTool.decode`."""
        plain = plain_arguments(arguments)
        self._input.check(plain)
        return plain

    def call(self, ctx: Context, arguments: dict[str, Any]) -> Awaitable[Any]:
        """Call the handler; one that is not async runs in a thread, so that it may block."""
        return self._within_timeout(self._run(ctx, arguments))

    async def _run(self, ctx: Context, arguments: dict[str, Any]) -> Any:
        if self._is_async or not self._in_thread(ctx):
            made = self._handler(ctx, arguments)
        else:
            made = await call_in_thread(ctx, partial(self._handler, ctx, arguments), {})
        return await made if inspect.iscoroutine(made) else made


def input_schema_of(name: str, schema: Any) -> CompiledSchema:
    """The schema of a tool's arguments, which are an object.

    Raises:
        UsageError: it is for something else, or no schema that is understood here.
    """
    made = CompiledSchema(schema, f"tool {name}: input schema")
    if made.schema.get("type") != "object":
        raise UsageError(f'tool {name}: input schema: expected `"type": "object"` at its root')
    return made


def _said_support(tool: Any) -> TaskSupport | None:
    """What a description says of tasks, at the revision that has a place for it."""
    execution: Any = getattr(tool, "execution", None)
    support: Any = getattr(execution, "task_support", None)
    return None if support == "forbidden" else support


def _checked(name: str, handler: Any) -> bool:
    """Whether the handler is async."""
    if not callable(handler):
        raise UsageError(f"tool {name}: give it a handler: `add_tool(tool, handler)`")
    try:
        inspect.signature(handler).bind(None, {})
    except TypeError:
        raise UsageError(
            f"tool {name}: its handler takes a context and the arguments: `handler(ctx, arguments)`"
        ) from None
    except ValueError:
        pass  # a builtin that does not say what it takes
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - the method of a callable object
    )
