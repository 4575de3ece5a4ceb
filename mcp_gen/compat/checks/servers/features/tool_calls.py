"""Checks of tool calls: results, and what goes wrong.

No tool is called but with the arguments that the user has named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.features.offers import is_refused
from mcp_gen.compat.json_values import Json, is_array, is_object, member, objects
from mcp_gen.compat.views.exchanges import RequestExchange, exchanges, items
from mcp_gen.core.errors import SchemaNotChecked
from mcp_gen.schemas.schema import BadSchema, JsonSchema, Misfit, NeedsWorker
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript

NO_TOOL = "mcp-gen-doctor-made-this-up"


@rule("tools:output-schema", unseen="no tool with an output schema returned a result")
def structured_results_fit_the_output_schema(transcript: Transcript, found: Found) -> None:
    for exchange, tool in _calls(transcript):
        result, schema = _succeeded(exchange), tool.get("outputSchema")
        if result is None or not is_object(schema):
            continue
        wrong = "there is none"
        if "structuredContent" in result:
            misfit = _misfit(schema, result["structuredContent"])
            if misfit is None:
                continue
            wrong = misfit
        found.saw()
        if wrong:
            found.broken(
                f"the structured result of {tool.get('name')!r} fits its output schema",
                wrong,
                *exchange.events,
                where=f"{exchange.path}.result.structuredContent",
            )


@rule("tools:structured-as-text", unseen="no tool returned a structured result")
def structured_results_are_there_as_text(transcript: Transcript, found: Found) -> None:
    for exchange in exchanges(transcript, "call_tool"):
        result = _succeeded(exchange)
        if result is None or "structuredContent" not in result:
            continue
        found.saw()
        if not _is_in_texts(result["structuredContent"], result):
            found.broken(
                "a structured result is there as text too",
                "no text is the JSON of it",
                *exchange.events,
                where=f"{exchange.path}.result.content",
            )


# --- what goes wrong ---


@rule("tools:errors:in-result", unseen="no tool failed")
def what_goes_wrong_in_a_tool_is_a_result(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    for exchange, tool in _calls(transcript):
        error = exchange.error
        if member(exchange.result, "isError") is True:
            found.saw()
        if error is None:
            continue
        arguments = exchange.params.get("arguments", {})
        # Other codes may tell of something else than the tool: a limit, a right, a capability.
        fitting = _misfit(tool.get("inputSchema"), arguments) == ""
        if fitting and error.get("code") == profile.errors.internal_error:
            came = f"error {error.get('code')}: {error.get('message')}"
        elif (
            profile.bad_arguments == "tool_error"
            and error.get("code") == profile.errors.invalid_params
            and is_object(arguments)
            and _misfit(tool.get("inputSchema"), arguments)
        ):
            came = f"error {error.get('code')} for arguments that do not fit the input schema"
        else:
            continue
        found.broken(
            "what goes wrong in a tool is a result with `isError`",
            came,
            *exchange.events,
            where=f"{exchange.path}.error",
        )


@probe("tools:errors:unknown")
async def an_unknown_tool_is_refused(trial: ServerTrial) -> None:
    client = await trial.having("tools")
    # Nothing is run: there is no such tool.
    reply = await client.ask("call_tool", {"name": NO_TOOL, "arguments": {}})
    expected = "a call of a tool that there is none of is refused as invalid params"
    is_refused(trial, reply, expected, trial.profile.errors.invalid_params)


@probe("tools:inputs-validated")
async def arguments_that_do_not_fit_are_refused(trial: ServerTrial) -> None:
    client = await trial.having("tools")
    tools = {str(tool.get("name")): tool for tool in trial.listed("list_tools")}
    tried = 0
    # The user has named these calls. Each is sent without an argument that its tool needs: the tool
    # must never get it, and no argument is made up.
    for call in {one.name: one for one in trial.calls}.values():
        schema = tools.get(call.name, {}).get("inputSchema")
        required = member(schema, "required")
        names = [name for name in call.arguments if is_array(required) and name in required]
        if not names:
            continue
        tried += 1
        arguments = {key: value for key, value in call.arguments.items() if key != names[0]}
        reply = await client.ask("call_tool", {"name": call.name, "arguments": arguments})
        is_run = "content" in (reply.result or {}) and member(reply.result, "isError") is not True
        if is_run:
            trial.broken(
                f"{call.name!r} is not run without its argument {names[0]!r}",
                "a result",
                *reply.events,
                where="$.result",
            )
    if not tried:
        raise NotTested("no call of a tool that needs an argument was named")


# --- reading ---


def _calls(transcript: Transcript) -> Iterator[tuple[RequestExchange, Json]]:
    """Yield the calls of listed tools, and the tools as they were listed last before."""
    listed = list(items(transcript, "list_tools"))
    for exchange in exchanges(transcript, "call_tool"):
        named = [one for one in listed if one.id == exchange.params.get("name")]
        before = [one for one in named if one.exchange.events[-1].number < exchange.asked.number]
        if named:
            yield exchange, (before[-1] if before else named[0]).value


def _succeeded(exchange: RequestExchange) -> Json | None:
    """Return the result of a call that has ended well; None if there is none."""
    result = exchange.complete
    if result is None or "content" not in result or result.get("isError") is True:
        return None
    return result


def _is_in_texts(structured: Any, result: Json) -> bool:
    """Return True if the texts of a result say what is structured.

    Where structured content must be an object, a value of another kind is often wrapped in one
    with a single member. Its texts may hold the value itself: a string as it is, an array entry by
    entry.
    """
    texts = [one["text"] for one in objects(result.get("content")) if _has_text(one)]
    said = [_decoded(text) for text in texts]
    if structured in said:
        return True
    wrapped = list(structured.values()) if is_object(structured) else []
    return len(wrapped) == 1 and (wrapped[0] in (*said, *texts) or wrapped[0] in (said, texts))


def _has_text(block: Json) -> bool:
    return isinstance(block.get("text"), str)


def _decoded(text: str) -> Any:
    """Return the JSON value of a text; UNSET if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return msgspec.UNSET


def _misfit(schema: Any, value: Any) -> str | None:
    """Return why a value does not fit a schema, empty if it does; None if it cannot be known."""
    if not is_object(schema):
        return None
    try:
        JsonSchema(schema).check(value)
    except Misfit as misfit:
        return misfit.at()
    except (NeedsWorker, BadSchema, SchemaNotChecked):
        return None
    return ""
