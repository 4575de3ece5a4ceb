"""Controls: servers that answer one kind of request with an error, for comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.scenarios.scenario import control
from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

__all__ = ["REFUSES_CALLS", "REFUSES_PROMPTS", "RefusesCalls", "RefusesPrompts", "RefusingServer"]


class RefusingServer(StagedServer):
    """Answers one kind of request with an error."""

    refused = ""
    """Python name of the request."""

    async def answer(self, call: ReferenceCall) -> Json:
        """Refuse the request."""
        if python_name(call.method) == self.refused:
            raise self.failure()
        return await super().answer(call)

    def failure(self) -> Failure:
        """Return the error."""
        return Failure(self.profile.errors.internal_error, "Internal error")


class RefusesCalls(RefusingServer):
    """Answers each call of a tool with an error; its tools have no annotations."""

    refused = "call_tool"

    def tools(self) -> list[Json]:
        """Return the tools without annotations."""
        return [
            {key: value for key, value in tool.items() if key != "annotations"}
            for tool in super().tools()
        ]


class RefusesPrompts(RefusingServer):
    """Answers each request for a prompt with an error."""

    refused = "get_prompt"


REFUSES_CALLS = "refuses:call_tool"
REFUSES_PROMPTS = "refuses:get_prompt"

control(REFUSES_CALLS, RefusesCalls)
control(REFUSES_PROMPTS, RefusesPrompts)
