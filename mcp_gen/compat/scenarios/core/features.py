"""Scenarios of tools and prompts."""

from __future__ import annotations

from string import digits
from typing import TYPE_CHECKING

from mcp_gen.compat.scenarios.core.controls import (
    REFUSES_CALLS,
    REFUSES_PROMPTS,
    RefusesCalls,
)
from mcp_gen.compat.scenarios.core.utilities import walks
from mcp_gen.compat.scenarios.judgements import asks_as_in, rejects
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

PROMPTS = 9


@scenario(
    "tools:client:results-validated",
    rejects("a result of the wrong shape is an error", REFUSES_CALLS, tool="echo"),
)
class ShapelessResults(StagedServer):
    """Answers calls with content that is no list."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer with such content."""
        if "content" in result:
            result = {**result, "content": "text"}
        return super().result_frame(call, result)


@scenario(
    "tools:client:annotations",
    asks_as_in("what a tool says of itself does not make the client call it again", REFUSES_CALLS),
)
class ClaimsToBeIdempotent(RefusesCalls):
    """Says of each tool that it may be called again, and refuses calls."""

    def tools(self) -> list[Json]:
        """Return the tools with such annotations."""
        claims = {"readOnlyHint": True, "idempotentHint": True, "destructiveHint": False}
        return [{**tool, "annotations": claims} for tool in super().tools()]


@scenario(
    "prompts:client:validated",
    rejects("messages of the wrong shape are an error", REFUSES_PROMPTS),
)
class ShapelessPrompts(StagedServer):
    """Answers requests for prompts with messages that are no list."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer with such messages."""
        if "messages" in result:
            result = {**result, "messages": "text"}
        return super().result_frame(call, result)


@scenario(
    "prompts:client:pages",
    walks("a long list of prompts is walked to its end", "list_prompts"),
)
class ManyPrompts(StagedServer):
    """Has more prompts than go on a page."""

    def prompts(self) -> list[Json]:
        """Return the prompts: one, under many names."""
        return [
            {**one, "name": f"{one['name']}{n or ''}"}
            for one in super().prompts()
            for n in range(PROMPTS)
        ]

    async def messages(self, name: str, arguments: Json) -> list[Json]:
        """Return the messages of the prompt that a name is one of."""
        return await super().messages(name.rstrip(digits), arguments)
