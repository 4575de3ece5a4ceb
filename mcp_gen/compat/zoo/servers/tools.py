"""Servers that break the rules of tools, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("tools:names:unique")
class TwoToolsOfOneName(ReferenceServer):
    """Lists a tool twice."""

    def tools(self) -> list[Json]:
        tools = super().tools()
        return [*tools, tools[0]]


@keeps("tools:names:unique")
class TwoToolsOfNearlyOneName(ReferenceServer):
    """Lists two tools whose names differ in one letter."""

    def tools(self) -> list[Json]:
        tools = super().tools()
        return [*tools, {**tools[0], "name": f"{tools[0]['name']}2"}]
