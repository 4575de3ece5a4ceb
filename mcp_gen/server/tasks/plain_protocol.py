"""Calls at revisions without tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.server.input_requests.run import run_with_rounds

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_wire.profile import Profile

__all__ = ["PlainCalls"]


class PlainCalls:
    """Task protocol of revisions without tasks: every call is answered with its result."""

    def __init__(self, manager: TaskManager, profile: Profile) -> None:
        pass

    async def call(self, ctx: Context, params: Any, tool: ServerTool, tools: ToolRegistry) -> Any:
        """Run the tool and return its result."""
        return await run_with_rounds(ctx, params, tools.call)
