"""Scenarios of servers that take tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.scenarios.scenario import stimulus

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json


@stimulus("tasks:client:forbidden")
class TakesTasks(ReferenceServer):
    """Has tools that take tasks, and none that must be one."""

    def tools(self) -> list[Json]:
        """Return the tools that can be called plainly."""
        return [tool for tool in super().tools() if self.task_support(tool) != "required"]
