"""Handlers of tools/list and tools/call."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from mcp_gen.server.context.context import tool_tasks_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.services import ToolTasks
    from mcp_gen.server.tools.registry import CallParams, ToolRegistry
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import common

__all__ = ["ToolHandlers"]


class ToolHandlers(ServerHandlers["Context"]):
    """Handlers of tools/list and tools/call."""

    kernel: Kernel[Context]
    tools: ToolRegistry
    tool_tasks: ToolTasks[Context] | None = None
    """Handles calls as soon as a tool can run as a task; None until then."""

    async def list_tools(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListToolsResult:
        """Return a page of tools (`tools/list`)."""
        kernel = self.kernel
        as_bytes = not (kernel.hooks.list_tools or kernel.middleware)
        page: common.ListToolsResult = self.tools.listing.page(
            ctx, params.cursor, as_bytes=as_bytes
        )
        return page

    def call_tool(
        self, ctx: Context, params: CallParams
    ) -> Awaitable[common.CallToolResult | common.InputRequiredResult]:
        """Call a tool (`tools/call`)."""
        # Not async: saves one coroutine per call.
        if self.tool_tasks is not None:
            return (tool_tasks_of(ctx) or self.tool_tasks).call(ctx, params, self.tools)
        return run_with_rounds(ctx, params, self.tools.call)
