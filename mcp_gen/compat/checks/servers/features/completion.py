"""Checks of completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.features.offers import fails_with_known_codes, is_refused
from mcp_gen.compat.json_values import Json, is_array, is_object, member, objects
from mcp_gen.compat.views.exchanges import exchanges, items
from mcp_gen.compat.views.uris import variables

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import Transcript

NOTHING = "mcp-gen-doctor-made-this-up"
MAX_VALUES = 100


# --- offered or not ---


@probe("completion:declared")
async def completions_are_declared(trial: ServerTrial) -> None:
    reply = await _completed_undeclared(trial)
    if reply is not None and _values(reply):
        trial.broken(
            "a server that has completions declares `completions`",
            "it completes, and does not declare it",
            *reply.events,
            where="$.result",
        )


@probe("completion:errors:not-offered")
async def without_completions_the_method_is_not_found(trial: ServerTrial) -> None:
    reply = await _completed_undeclared(trial)
    if reply is None:
        raise NotTested("the server declares `completions`")
    if _values(reply):
        raise NotTested("the server has completions")
    expected = "without completions the request is a method that is not found"
    is_refused(trial, reply, expected, trial.profile.errors.method_not_found)


async def _completed_undeclared(trial: ServerTrial) -> ServerReply | None:
    """Ask a server for completions that does not declare them; None if it does."""
    client = await trial.main()
    if "completions" in client.server_capabilities:
        return None
    known = _known(trial) or {"ref": _prompt(NOTHING), "argument": _argument(NOTHING)}
    return trial.answered(await client.ask("complete", known))


# --- errors ---


@probe("completion:errors:unknown-prompt")
async def an_unknown_prompt_is_refused(trial: ServerTrial) -> None:
    client = await trial.having("completions")
    params = {"ref": _prompt(NOTHING), "argument": _argument(NOTHING)}
    reply = await client.ask("complete", params)
    expected = "completing for a prompt that there is none of is refused as invalid params"
    is_refused(trial, reply, expected, trial.profile.errors.invalid_params)


@probe("completion:errors:missing-argument")
async def a_missing_argument_is_refused(trial: ServerTrial) -> None:
    client = await trial.having("completions")
    known = _known(trial)
    ref = known["ref"] if known else _prompt(NOTHING)
    reply = await client.ask("complete", {"ref": ref})
    expected = "a completion that does not say of what is refused as invalid params"
    is_refused(trial, reply, expected, trial.profile.errors.invalid_params)


@rule("completion:errors:internal", unseen="no completion failed")
def a_completion_that_fails_is_an_internal_error(transcript: Transcript, found: Found) -> None:
    arguments = {
        (prompt.id, str(argument.get("name")))
        for prompt in items(transcript, "list_prompts")
        for argument in objects(prompt.value.get("arguments"))
    }
    arguments |= {
        (template.id, name)
        for template in items(transcript, "list_resource_templates")
        for name in variables(template.id)
    }
    for exchange in exchanges(transcript, "complete"):
        ref, argument = exchange.params.get("ref"), exchange.params.get("argument")
        of = member(ref, "name") or member(ref, "uri")
        if (str(of), str(member(argument, "name"))) in arguments:
            expected = "a completion that fails is answered with the code for internal errors"
            fails_with_known_codes(transcript, found, exchange, expected)


@probe("completion:validated")
async def only_what_is_there_is_completed(trial: ServerTrial) -> None:
    client = await trial.main()
    known = _known(trial)
    if known is None:
        raise NotTested("the server has nothing to complete")
    offered = trial.answered(await client.ask("complete", known))
    if offered.code == trial.profile.errors.method_not_found:
        raise NotTested("the server has no completions")
    await _gets_nothing(trial, client, known["ref"], "an argument")
    await _gets_nothing(trial, client, {"type": "ref/resource", "uri": f"{NOTHING}:"}, "a template")


async def _gets_nothing(trial: ServerTrial, client: ReferenceClient, ref: Json, what: str) -> None:
    params = {"ref": ref, "argument": _argument(NOTHING)}
    reply = trial.answered(await client.ask("complete", params))
    if _values(reply):
        trial.broken(
            f"{what} that is not there gets no suggestions",
            "some",
            *reply.events,
            where="$.result.completion.values",
        )


@rule("completion:limit", unseen="no completion came")
def at_most_100_values_are_sent(transcript: Transcript, found: Found) -> None:
    for exchange in exchanges(transcript, "complete"):
        completion = member(exchange.result, "completion")
        values = member(completion, "values")
        if not is_object(completion) or not is_array(values):
            continue
        found.saw()
        where = f"{exchange.path}.result.completion"
        total = completion.get("total")
        if len(values) > MAX_VALUES:
            found.broken(
                f"at most {MAX_VALUES} values are sent",
                f"{len(values)} values",
                *exchange.events,
                where=f"{where}.values",
            )
        elif isinstance(total, int) and total > len(values) and completion.get("hasMore") is False:
            found.broken(
                "the client is told that there are more values",
                f"{len(values)} of {total} values, and `hasMore` is false",
                *exchange.events,
                where=f"{where}.hasMore",
            )


def _known(trial: ServerTrial) -> dict[str, Any] | None:
    """Return the params of a completion for something that is there; None if nothing is."""
    for prompt in trial.items("list_prompts"):
        for argument in objects(prompt.get("arguments")):
            return {
                "ref": _prompt(prompt.get("name")),
                "argument": _argument(argument.get("name")),
            }
    for template in trial.items("list_resource_templates"):
        uri = str(template.get("uriTemplate"))
        for name in variables(uri):
            return {"ref": {"type": "ref/resource", "uri": uri}, "argument": _argument(name)}
    return None


def _prompt(name: Any) -> Json:
    return {"type": "ref/prompt", "name": name}


def _argument(name: Any) -> Json:
    return {"name": name, "value": ""}


def _values(reply: ServerReply) -> list[Any]:
    found = member(reply.result, "completion", "values")
    return found if is_array(found) else []
