"""Servers that break the rules of tools, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_wire.method import Method

SCHEMA: Json = {"type": "object"}


class UndeclaredTools(ReferenceServer):
    """Does not declare tools."""

    def capabilities(self) -> Json:
        declared = super().capabilities()
        del declared["tools"]
        return declared


@breaks("tools:declared")
class ToolsThatAreNotDeclared(UndeclaredTools):
    """Has tools and does not say so."""


@keeps("tools:declared")
class NoToolsAndNoneDeclared(UndeclaredTools):
    """Has no tools, and answers with an empty list."""

    def tools(self) -> list[Json]:
        return []


@breaks("tools:list")
class UnlistedTools(ReferenceServer):
    """Leaves out a tool that can be called."""

    async def list_tools(self, call: ReferenceCall) -> Json:
        return self.page(call, "tools", [one for one in self.tools() if one["name"] != "content"])


@keeps("tools:list")
class ToolsOnManyPages(ReferenceServer):
    """Lists each tool on a page of its own."""

    async def list_tools(self, call: ReferenceCall) -> Json:
        cursor = call.params.get("cursor", "0")
        if cursor not in map(str, range(len(self.tools()))):
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        at = int(cursor)
        more = {"nextCursor": f"{at + 1}"} if at + 1 < len(self.tools()) else {}
        return {"tools": [self.tools()[at]], **more}


# --- names ---


class OneMoreTool(ReferenceServer):
    """Has a tool with a name of its own."""

    NAME = "more"

    def tools(self) -> list[Json]:
        return [*super().tools(), {"name": self.NAME, "inputSchema": SCHEMA}]


@breaks("tools:names:length")
class OneCharacterTooMany(OneMoreTool):
    """Has a tool with a name of 129 characters."""

    NAME = "n" * 129


@keeps("tools:names:length")
class NamesOf128Characters(OneMoreTool):
    """Has a tool with a name of 128 characters."""

    NAME = "n" * 128


@breaks("tools:names:characters")
class NamesWithSpaces(OneMoreTool):
    """Has a tool with a space in its name."""

    NAME = "one more"


@keeps("tools:names:characters")
class NamesOfDots(OneMoreTool):
    """Has a tool with all kinds of characters that a name may have."""

    NAME = "-One.More_2."


@breaks("tools:names:unique")
class TwoToolsOfOneName(OneMoreTool):
    """Lists a tool twice."""

    NAME = "echo"


@keeps("tools:names:unique")
class TwoToolsOfNearlyOneName(OneMoreTool):
    """Lists two tools whose names differ in the case of a letter."""

    NAME = "Echo"


@breaks("tools:names:case")
class NamesInAnyCase(ReferenceServer):
    """Takes the name of a tool in any case."""

    async def call_tool(self, call: ReferenceCall) -> Json:
        call.params["name"] = call.params["name"].lower()
        return await super().call_tool(call)


@keeps("tools:names:case")
class OtherCasesInResults(ReferenceServer):
    """Answers a call of a tool in another case with a result that is an error."""

    async def call_tool(self, call: ReferenceCall) -> Json:
        name = call.params["name"]
        if name.lower() in {one["name"] for one in self.tools()} and name != name.lower():
            return {"content": [{"type": "text", "text": "Do you mean it?"}], "isError": True}
        return await super().call_tool(call)


# --- schemas ---


class OneMoreSchema(ReferenceServer):
    """Has a tool with an input schema of its own, whatever its shape."""

    SCHEMA: Any = None

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        made = super().exact(method, result)
        if "tools" in made and "nextCursor" not in made:
            more = {"name": "more", "inputSchema": self.SCHEMA}
            made["tools"] = [*made["tools"], more]
        return made


@breaks("tools:input-schema")
class ToolsWithNoSchema(OneMoreSchema):
    """Has a tool whose input schema is null."""


@keeps("tools:input-schema")
class ToolsWithTheLeastSchema(OneMoreSchema):
    """Has a tool whose input schema says nothing but that it is an object."""

    SCHEMA = SCHEMA


# --- order ---


@breaks("tools:list:ordered")
class ToolsInTurns(ReferenceServer):
    """Lists its tools the other way round at every second time."""

    turn = 0

    async def list_tools(self, call: ReferenceCall) -> Json:
        if "cursor" not in call.params:
            self.turn += 1
        tools = self.tools()
        return self.page(call, "tools", tools[::-1] if self.turn % 2 else tools)


@keeps("tools:list:ordered")
class ToolsBackwards(ReferenceServer):
    """Lists its tools backwards, at all times."""

    def tools(self) -> list[Json]:
        return super().tools()[::-1]
