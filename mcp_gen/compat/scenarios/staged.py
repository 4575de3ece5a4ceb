"""Server that examined clients meet: strict, and all of it can be used by every client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.reference.server import ReferenceServer

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json

__all__ = ["StagedServer"]


class StagedServer(ReferenceServer):
    """Reference server without tasks, so that a program may call each tool that it lists.

    Some tools of the reference server can be called as tasks alone, which few clients do.
    """

    def tools(self) -> list[Json]:
        """Return the tools that have nothing to do with tasks."""
        return [tool for tool in super().tools() if self.task_support(tool) == "forbidden"]

    def task_capabilities(self) -> Json:
        """Return nothing: there are no tasks."""
        return {}

    def check(self, message: bytes) -> None:
        """Do nothing: the rules judge what clients send, by the transcript."""
