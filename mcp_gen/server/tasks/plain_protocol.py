"""Calls at revisions without tasks: each is answered with its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.server.input_requests.run import in_rounds

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.manager import TaskBox
    from mcp_gen.server.tools.registry import ToolBox
    from mcp_gen.server.tools.tool import OfferedTool
    from mcp_wire.profile import Profile

__all__ = ["PlainCalls"]


class PlainCalls:
    """Answers every call with its result."""

    def __init__(self, box: TaskBox, profile: Profile) -> None:
        pass

    async def call(self, ctx: Context, params: Any, tool: OfferedTool, tools: ToolBox) -> Any:
        """Run the tool and return its result."""
        return await in_rounds(ctx, params, tools.call)
