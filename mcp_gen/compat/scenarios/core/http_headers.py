"""Scenarios of the HTTP headers with which a client repeats parts of its messages."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import exchanges
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.scenarios.header_relay import relayed
from mcp_gen.compat.scenarios.judgements import calls_of, goes_on_alike, last_events
from mcp_gen.compat.scenarios.scenario import scenario, stimulus
from mcp_gen.compat.scenarios.staged import StagedServer
from mcp_gen.core.transport.header_params import MARK

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.reference.call import ReferenceCall

FOREIGN = "ß"
"""Letter that no header may have as it is."""
MISMARKED = "mismarked"


def _tool(name: str, properties: Json) -> Json:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": "Return at once.", "inputSchema": schema}


@stimulus("http:client:names-encoded")
class ForeignNames(StagedServer):
    """Gives its prompts names that no header can hold."""

    def prompts(self) -> list[Json]:
        """Return the prompts under such names."""
        return [{**one, "name": f"{one['name']}{FOREIGN}"} for one in super().prompts()]

    async def messages(self, name: str, arguments: Json) -> list[Json]:
        """Return the messages of a prompt."""
        return await super().messages(name.rstrip(FOREIGN), arguments)


@stimulus("http:client:param-headers")
class MarksArguments(StagedServer):
    """Has a tool whose arguments are repeated in headers: a text, a number, a truth value."""

    def tools(self) -> list[Json]:
        """Return the tools, and that one."""
        properties = {
            "region": {"type": "string", MARK: "Region"},
            "note": {"type": "string", MARK: "Note"},
            "size": {"type": "integer", MARK: "Size"},
            "dry": {"type": "boolean", MARK: "Dry"},
        }
        return [*super().tools(), _tool("route", properties)]

    async def run_route(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return a text."""
        return {"content": [{"type": "text", "text": "routed"}]}


def a_wrong_tool_is_left_out(run: ClientRun, found: Found) -> None:
    if calls_of(run, MISMARKED):
        expected = f"the tool `{MISMARKED}`, whose marks are wrong, is left out of the list"
        found.broken(expected, "the client called it", *last_events(run))
        return
    others = [str(tool["name"]) for tool in MismarksATool(run.revision).tools()]
    if not all(calls_of(run, name) for name in others if name != MISMARKED):
        raise NotTested("the client does not call each tool that it is shown")
    found.saw()


@scenario("http:client:param-headers:rejected", a_wrong_tool_is_left_out)
class MismarksATool(StagedServer):
    """Has a tool whose argument is marked with what is no end of a header's name."""

    def tools(self) -> list[Json]:
        """Return the tools, and that one."""
        wrong = {"text": {"type": "string", MARK: "two words"}}
        return [_tool(MISMARKED, wrong), *super().tools()]

    async def run_mismarked(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return a text."""
        return {"content": [{"type": "text", "text": "called"}]}


def a_refused_call_is_made_again(run: ClientRun, found: Found) -> None:
    code = run.profile.errors.header_mismatch
    call_tool, lists = run.profile.call_tool, method_of(run.profile, "list_tools")
    assert call_tool is not None
    every = [one for transcript in run.transcripts for one in exchanges(transcript)]
    asked = [(one, str(frame["method"])) for one in every for frame in one.requests]
    refused = [
        number
        for number, (one, method) in enumerate(asked)
        if method == call_tool.name and one.code == code
    ]
    if not refused:
        raise NotTested("the client made no call that was refused for its headers")
    found.saw()
    later = [method for _, method in asked[refused[0] + 1 :]]
    expected = "a call that is refused for its headers is made again, after a look at the tools"
    evidence = asked[refused[0]][0].evidence
    if lists.name not in later:
        found.broken(expected, "the tools were not listed again", *evidence)
    elif not _is_called_again(every, asked[refused[0]][0].requests[0], code):
        found.broken(expected, "the call was not made again", *evidence)


def _is_called_again(every: list[PeerExchange], first: Json, code: int | None) -> bool:
    about = (first["method"], member(first, "params", "name"))
    return any(
        (frame["method"], member(frame, "params", "name")) == about and one.code != code
        for one in every
        for frame in one.requests
    )


@scenario("http:client:param-headers:again", a_refused_call_is_made_again)
class MarksArgumentsLater(StagedServer):
    """Marks an argument of a tool once its tools were listed."""

    is_marked = False

    def tools(self) -> list[Json]:
        """Return the tools."""
        return [self._marked(tool) if tool["name"] == "echo" else tool for tool in super().tools()]

    def _marked(self, tool: Json) -> Json:
        if not self.is_marked:
            return tool
        properties = {"text": {"type": "string", MARK: "Text"}}
        return {**tool, "inputSchema": {**tool["inputSchema"], "properties": properties}}

    async def list_tools(self, call: ReferenceCall) -> Json:
        """Return a page of tools; with the last one the marks begin."""
        result = await super().list_tools(call)
        self.is_marked = self.is_marked or "nextCursor" not in result
        return result


@scenario(
    "http:client:headers:case",
    goes_on_alike("names of headers are the same in any case"),
)
class SpellsHeadersOddly(ReferenceEndpoint):
    """Sends the names of its headers with small letters first, and capitals after them."""

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncGenerator[str, None]:
        """Serve behind a relay: the server itself sends all names in small letters."""
        async with (
            super().serving(port) as url,
            relayed(url, lambda name: name.title().swapcase()) as shown,
        ):
            yield shown
