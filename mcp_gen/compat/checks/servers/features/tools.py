"""Checks of tools: their names, schemas, and list."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.features.offers import answers_its_list, undeclared
from mcp_gen.compat.json_values import is_object
from mcp_gen.compat.views.exchanges import exchanges, items, listings

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript

NO_TOOLS = "the server listed no tools"
MAX_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9_.-]*")


@probe("tools:declared")
async def tools_are_declared(trial: ServerTrial) -> None:
    await undeclared(trial, "tools", "list_tools")


@probe("tools:list")
async def the_server_lists_its_tools(trial: ServerTrial) -> None:
    await answers_its_list(trial, "tools", "list_tools")
    names = [tool.get("name") for tool in trial.listed("list_tools")]
    client = await trial.main()
    for call in exchanges(client.transcript, "call_tool"):
        name = call.params.get("name")
        if call.complete is not None and not call.complete.get("isError") and name not in names:
            trial.broken(
                "every tool that the client may call is listed",
                f"{name!r} can be called, and is not listed",
                *call.events,
            )


@rule("tools:names:length", unseen=NO_TOOLS)
def names_have_1_to_128_characters(transcript: Transcript, found: Found) -> None:
    for tool in items(transcript, "list_tools"):
        name = tool.value.get("name")
        if isinstance(name, str):
            found.saw()
            if not 1 <= len(name) <= MAX_NAME:
                found.broken(
                    f"a tool's name has 1 to {MAX_NAME} characters",
                    f"a name of {len(name)}",
                    *tool.exchange.events,
                    where=f"{tool.where}.name",
                )


@rule("tools:names:characters", unseen=NO_TOOLS)
def names_are_made_of_plain_characters(transcript: Transcript, found: Found) -> None:
    for tool in items(transcript, "list_tools"):
        name = tool.value.get("name")
        if isinstance(name, str):
            found.saw()
            if not _NAME.fullmatch(name):
                found.broken(
                    "a tool's name is made of ASCII letters, digits, `_`, `-` and `.`",
                    f"the name {name!r}",
                    *tool.exchange.events,
                    where=f"{tool.where}.name",
                )


@rule("tools:names:unique", unseen=NO_TOOLS)
def names_are_unique(transcript: Transcript, found: Found) -> None:
    for listing in listings(transcript, "list_tools"):
        times = Counter(listing.ids())
        for tool in listing.items():
            found.saw()
            name = tool.id
            if times[name] > 1:
                found.broken(
                    "each name is that of one tool",
                    f"{times[name]} tools are called {name!r}",
                    *tool.exchange.events,
                )
                times[name] = 1


@probe("tools:names:case")
async def names_that_differ_in_case_are_two_tools(trial: ServerTrial) -> None:
    client = await trial.having("tools")
    names = [tool.get("name") for tool in trial.listed("list_tools")]
    # Where case does not count, the tool that the user has named is run, with its arguments.
    for call in trial.calls:
        other = call.name.swapcase()
        if call.name not in names or other in names or other == call.name:
            continue
        params: dict[str, Any] = {"name": other, "arguments": call.arguments}
        reply = trial.answered(await client.ask("call_tool", params))
        if reply.result is not None and reply.result.get("isError") is not True:
            trial.broken(
                f"{other!r} is another tool than {call.name!r}, which is not there",
                "the call was answered with a result",
                *reply.events,
                where="$.result",
            )
        return
    raise NotTested("no call of a listed tool was named")


@rule("tools:input-schema", unseen=NO_TOOLS)
def every_tool_has_an_input_schema(transcript: Transcript, found: Found) -> None:
    for tool in items(transcript, "list_tools"):
        found.saw()
        # Whether an object is a schema of its dialect is another rule.
        schema = tool.value.get("inputSchema")
        if not is_object(schema):
            found.broken(
                "every tool has an input schema, which is an object",
                f"{tool.id!r} has {'none' if schema is None else 'one that is no object'}",
                *tool.exchange.events,
                where=f"{tool.where}.inputSchema",
            )


@rule("tools:list:ordered", unseen="the tools were not listed twice")
def tools_are_listed_in_one_order(transcript: Transcript, found: Found) -> None:
    whole = [one for one in listings(transcript, "list_tools") if one.is_whole]
    for earlier, later in pairwise(whole):
        before, after = earlier.ids(), later.ids()
        if not before or Counter(before) != Counter(after):
            continue
        found.saw()
        if before != after:
            moved = next(one for one, other in zip(after, before, strict=True) if one != other)
            found.broken(
                "while nothing changes, tools are listed in the same order",
                f"{moved!r} is at another place than before",
                *earlier.pages[0].events,
                *later.pages[0].events,
            )
