"""Scenarios of structured content and of the schemas that describe it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.scenarios.core.controls import REFUSES_CALLS
from mcp_gen.compat.scenarios.fetching import FetchListener
from mcp_gen.compat.scenarios.judgements import rejects
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

MISFIT = "tools:client:structured"
TOOL = "structured"


class DescribesStructure(StagedServer):
    """Has a tool with an output schema of its own, and structured content for it."""

    schema: ClassVar[Json] = {}
    content: ClassVar[Any] = {}

    def output_schema(self) -> Json:
        """Return the output schema of the tool."""
        return self.schema

    def tools(self) -> list[Json]:
        """Return the tools, one with the schema."""
        return [
            {**tool, "outputSchema": self.output_schema()} if tool["name"] == TOOL else tool
            for tool in super().tools()
        ]

    async def run_structured(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return the structured content."""
        return {**await super().run_structured(call, arguments), "structuredContent": self.content}


@scenario(
    MISFIT, rejects("content that does not fit its schema is an error", REFUSES_CALLS, tool=TOOL)
)
class MisfitContent(DescribesStructure):
    """Returns a text where the schema has an integer."""

    schema: ClassVar[Json] = {
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
    }
    content: ClassVar[Any] = {"number": "one"}


@scenario(
    "base:client:schemas:2020-12",
    rejects(
        "`prefixItems` holds in a schema that names no dialect",
        REFUSES_CALLS,
        detects=MISFIT,
        tool=TOOL,
    ),
)
class PrefixItems(DescribesStructure):
    """Returns an array that does not fit a keyword of 2020-12."""

    schema: ClassVar[Json] = {
        "type": "object",
        "properties": {"pair": {"type": "array", "prefixItems": [{"type": "integer"}]}},
    }
    content: ClassVar[Any] = {"pair": ["one"]}


@scenario(
    "base:client:schemas:dialect",
    rejects(
        "`dependencies` holds in a schema of draft-07",
        REFUSES_CALLS,
        detects=MISFIT,
        tool=TOOL,
    ),
)
class Draft07(DescribesStructure):
    """Returns an object that does not fit a keyword of draft-07 which 2020-12 does not have."""

    schema: ClassVar[Json] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "dependencies": {"number": ["unit"]},
    }
    content: ClassVar[Any] = {"number": 1}


@scenario(
    "base:client:schemas:unknown-dialect",
    rejects(
        "a schema of an unknown dialect is an error",
        REFUSES_CALLS,
        detects=MISFIT,
        tool=TOOL,
    ),
)
class UnknownDialect(DescribesStructure):
    """Describes its content in a dialect that nobody knows."""

    schema: ClassVar[Json] = {"$schema": "https://example.com/unknown-dialect", "type": "object"}
    content: ClassVar[Any] = {"number": 1}


@scenario(
    "base:client:schemas:unresolved",
    rejects(
        "a reference that leads nowhere is an error",
        REFUSES_CALLS,
        detects=MISFIT,
        tool=TOOL,
    ),
)
class UnresolvedReference(DescribesStructure):
    """Refers to a part of the schema that is not there."""

    schema: ClassVar[Json] = {
        "type": "object",
        "properties": {"number": {"$ref": "#/$defs/nowhere"}},
    }
    content: ClassVar[Any] = {"number": 1}


def nothing_is_fetched(run: ClientRun, found: Found) -> None:
    call_tool = run.profile.call_tool
    assert call_tool is not None
    if not run.requests(call_tool.name):
        raise NotTested("the client called no tool")
    found.saw()
    for transcript in run.transcripts:
        for event in transcript.events:
            if event.kind == "request" and not event.exchange:
                expected = "a reference to a network address is not fetched"
                found.broken(expected, f"{event.about} was fetched", event)


@scenario("base:client:schemas:no-network", nothing_is_fetched)
class NetworkReference(DescribesStructure):
    """Refers to a schema at an address of this machine, and notes who fetches it."""

    content: ClassVar[Any] = {"number": 1}

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._listener = FetchListener(self._fetched)

    def output_schema(self) -> Json:
        """Return the schema with the reference."""
        address = f"{self._listener.url}/number.json"
        return {"type": "object", "properties": {"number": {"$ref": address}}}

    async def list_tools(self, call: ReferenceCall) -> Json:
        """Begin to listen before the schema is told."""
        await self._listener.start()
        return await super().list_tools(call)

    async def aclose(self) -> None:
        """Stop listening."""
        await super().aclose()
        await self._listener.aclose()

    def _fetched(self, line: str) -> None:
        self.note(line)
