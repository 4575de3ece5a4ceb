"""Tools from a `Tool` description and a handler, with arguments as plain JSON."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Raw

import mcp_wire
from mcp_gen.core.checks.finite import check_plain
from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import restate
from mcp_gen.server.context.blocking import call_in_thread
from mcp_gen.server.functions.schema_validation import CompiledSchema
from mcp_gen.server.listing.icons import check_icons
from mcp_gen.server.tools.output import Output, output_for_schema
from mcp_gen.server.tools.tool import ServerTool, TaskSupport, plain_arguments
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_wire.profile import Profile

__all__ = ["SchemaTool", "SchemaToolHandler", "input_schema_of"]

SchemaToolHandler: TypeAlias = "Callable[[Context, dict[str, Any]], Any]"
"""`handler(ctx, arguments)`, async or not; it returns what a tool function may return."""


class SchemaTool(ServerTool):
    """Tool with a user-written description and a handler. Clients receive its schemas unchanged.

    Args:
        tool: Description with input schema, of any revision.
        handler: Receives the context and the validated arguments as plain JSON.
        timeout_s: Seconds after which a call fails; None: no limit.
        run_in_thread: Run a handler that is not async in a thread. None: the server's default.
        task: Task support; None: what the description declares.
        immediate_message: First status message of a task.
        retry: True if a task whose worker was lost may be run again.

    Raises:
        UsageError: The name, a schema, an icon, the handler or a combination of options is not
            valid.
    """

    def __init__(
        self,
        tool: latest.Tool,
        handler: SchemaToolHandler,
        *,
        timeout_s: float | None = None,
        run_in_thread: bool | None = None,
        task: TaskSupport | None = None,
        immediate_message: str | None = None,
        retry: bool = False,
    ) -> None:
        task = task or _declared_task_support(tool)
        _check_root(tool)
        tool = restate(tool, mcp_wire.LATEST).value
        super().__init__(
            tool.name,
            timeout_s=timeout_s,
            run_in_thread=run_in_thread,
            task=task,
            immediate_message=immediate_message,
            retry=retry,
        )
        check_icons(f"tool {tool.name}", tool.icons)
        check_plain(tool.meta, f"tool {tool.name}", "$._meta")
        self._tool = tool
        self._handler = handler
        self._is_async = _check_handler(tool.name, handler)
        if run_in_thread and self._is_async:
            raise UsageError(
                f"tool {tool.name}: an async handler runs on the loop, not in a thread"
            )
        self._input_schema = input_schema_of(tool.name, tool.input_schema)
        self.output = Output()
        if tool.output_schema is not None:
            self.output = output_for_schema(tool.name, tool.output_schema)

    def _describe(self) -> latest.Tool:
        return self._tool

    def decode(self, arguments: Raw | dict[str, Any] | None) -> dict[str, Any]:
        """Return the validated arguments as plain JSON; see `ServerTool.decode`."""
        plain = plain_arguments(arguments)
        self._input_schema.check(plain)
        return plain

    def call(self, ctx: Context, arguments: dict[str, Any]) -> Awaitable[Any]:
        """Call the handler. One that is not async runs in a thread, where it may block."""
        return self._within_timeout(self._run(ctx, arguments))

    async def _run(self, ctx: Context, arguments: dict[str, Any]) -> Any:
        if self._is_async or not self._in_thread(ctx):
            made = self._handler(ctx, arguments)
        else:
            made = await call_in_thread(ctx, partial(self._handler, ctx, arguments), {})
        return await made if inspect.iscoroutine(made) else made


def input_schema_of(name: str, schema: Any) -> CompiledSchema:
    """Compile the input schema of a tool.

    Raises:
        UsageError: The schema is not valid, not of type `object`, or not supported.
    """
    made = CompiledSchema(schema, f"tool {name}: input schema")
    made.check_schema()
    if made.schema.get("type") != "object":
        raise UsageError(f'tool {name}: input schema: expected `"type": "object"` at its root')
    return made


def _check_root(tool: Any) -> None:
    """Check the type of an output schema at the revision that the description is written for.

    Raises:
        UsageError: The revision has objects alone. Of the newest revision's types, other schemas
            are wrapped there.
    """
    schema = getattr(tool, "output_schema", None)
    profile: Profile = import_module(type(tool).__module__.rpartition(".")[0]).PROFILE
    if profile.structured_content != "object" or not isinstance(schema, dict):
        return
    if cast("dict[str, Any]", schema).get("type") != "object":
        raise UsageError(
            f'tool {tool.name}: output schema: {profile.revision} has `"type": "object"` at its '
            "root alone; a Tool of the newest revision may have any, and is wrapped there"
        )


def _declared_task_support(tool: Any) -> TaskSupport | None:
    """Return the task support that a description declares, at the revision that has this field."""
    execution: Any = getattr(tool, "execution", None)
    support: Any = getattr(execution, "task_support", None)
    return None if support == "forbidden" else support


def _check_handler(name: str, handler: Any) -> bool:
    """Return True if the handler is async."""
    if not callable(handler):
        raise UsageError(f"tool {name}: give it a handler: `add_tool(tool, handler)`")
    try:
        inspect.signature(handler).bind(None, {})
    except TypeError:
        raise UsageError(
            f"tool {name}: its handler takes a context and the arguments: `handler(ctx, arguments)`"
        ) from None
    except ValueError:
        pass  # a builtin without signature
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - the method of a callable object
    )
